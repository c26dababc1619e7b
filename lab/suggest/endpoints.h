// Endpoints: the paths of a log that deserve a limit of their own.
//
// Parts of paths that look like an id become *, so that /users/123 is /users/*: numbers, UUIDs,
// long words, odd characters, and files such as images. Paths that differ in one part of more than
// kSiblingsMax values also become one.
//
// Thread rule: one thread. Tested by endpoints_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text_hash.h"

namespace weir::lab {

struct Endpoint {
  std::string method;
  std::string path;  // a pattern
  std::uint64_t requests = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

std::string folded(std::string_view path);

class Endpoints {
 public:
  static constexpr std::size_t kPathsMax = 100'000;
  static constexpr std::size_t kSiblingsMax = 30;
  static constexpr std::size_t kShown = 50;
  static constexpr std::uint64_t kRequestsMin = 100;

  void count(std::string_view method, std::string_view path);

  // The most frequent, with at least kRequestsMin requests. Narrower paths come before wider ones.
  std::vector<Endpoint> best() const;

 private:
  // By "METHOD /path".
  std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>> counts_;
  std::string scratch_;
};

}  // namespace weir::lab
