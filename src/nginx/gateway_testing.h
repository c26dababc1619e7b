// A gateway made of a text, for tests.
//
// Thread rule: one thread. Tested with its users, gateway_test.cc first.

#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "nginx/gateway.h"

namespace weir::nginx {

struct LoadedText {
  explicit LoadedText(std::string_view text, RuleIds& ids) {
    const std::string file = testing::TempDir() + "/gateway_" +
                             testing::UnitTest::GetInstance()->current_test_info()->name() +
                             ".yaml";
    std::ofstream(file) << text;
    auto loaded = Gateway::load(file, ids);
    std::filesystem::remove(file);
    if (loaded) {
      gateway = *std::move(loaded);
    } else {
      for (const std::string& mistake : loaded.error()) {
        mistakes += mistake.substr(mistake.find(".yaml:") + 6) + "\n";  // without the file
      }
    }
  }

  std::unique_ptr<Gateway> gateway;
  std::string mistakes;
};

}  // namespace weir::nginx
