// Files with a test's expectations, next to its input: NAME.yaml and NAME.expected. With
// WEIR_UPDATE_EXPECTED=1 the test writes its results instead: read the diff.
//
// Thread rule: one thread. Tested with those who use it, src/config/config_test.cc first.

#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void expect_file(const std::filesystem::path& path, const std::string& actual) {
  if (std::getenv("WEIR_UPDATE_EXPECTED") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
  }
  EXPECT_EQ(text_of_file(path), actual) << path;
}

inline std::vector<std::filesystem::path> yaml_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace weir
