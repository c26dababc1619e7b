// A door with two rules of two requests a minute, for tests of what a node remembers of keys.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {

class HttpKeysTest : public testing::Test {
 protected:
  void open(KeyTexts texts = KeyTexts::kHidden, HttpAccess access = {}) {
    const Quota quota = *Quota::make(
        {.algorithm = Algorithm::kFixedWindow, .limit = 2, .window = std::chrono::seconds(60)});
    door_.emplace(
        TestDoor::Options{.rules = {{.id = "login", .quota = quota}, {.id = "api", .quota = quota}},
                          .access = std::move(access),
                          .key_texts = texts});
  }
  void check(std::string_view key, int times, std::string_view rule = "login") {
    for (int i = 0; i < times; ++i) {
      door_->ask(post("/check", R"({"rule":")" + std::string(rule) + R"(","key":")" +
                                    std::string(key) + "\"}"));
    }
  }
  // The body without what a test cannot know.
  static std::string without_hashes(std::string body) {
    for (auto at = body.find("\"hash\":\""); at != std::string::npos;
         at = body.find("\"hash\":\"", at + 1)) {
      body.replace(at + 8, 16, "#");
    }
    return body;
  }

  std::optional<TestDoor> door_;
};

}  // namespace weir
