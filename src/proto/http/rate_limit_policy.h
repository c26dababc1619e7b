// A limit's policy: the part of header fields that is the same for each request.
//
//   "default";q=100;w=60        the item of RateLimit-Policy, whose parts other fields repeat
//
// The text does not change while the rule does not. So PolicyTexts keeps the texts of recent
// policies, and copies them.
//
// Thread rule: PolicyTexts one core; the others values. Tested by rate_limit_headers_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

struct RateLimitPolicy {
  std::string_view name;  // anything; '?' replaces what a structured field cannot hold
  std::int64_t limit = 0;
  Duration window{0};
  // Among limits with one name: the second is written as "name/2".
  std::size_t number = 1;

  friend bool operator==(const RateLimitPolicy& one, const RateLimitPolicy& other) {
    return one.limit == other.limit && one.window == other.window && one.number == other.number &&
           std::ranges::equal(one.name, other.name);
  }
};

// The policy of a quota. If the limit is below the burst, it has the burst instead, and how long it
// takes to earn that. So what is left is never more than the policy's limit.
RateLimitPolicy policy_of(std::string_view name, const Quota& quota, std::size_t number = 1);

class PolicyText {
 public:
  PolicyText() = default;
  PolicyText(const PolicyText&) = delete;
  PolicyText& operator=(const PolicyText&) = delete;

  void write(const RateLimitPolicy& policy);
  bool is_of(const RateLimitPolicy& policy) const { return policy == policy_; }

  std::string_view all() const { return text_; }
  std::string_view quoted_name() const { return all().substr(0, name_end_); }
  std::string_view limit() const { return all().substr(limit_begin_, limit_end_ - limit_begin_); }
  // "100;w=60"
  std::string_view limit_and_window() const { return all().substr(limit_begin_); }

 private:
  std::string name_;
  RateLimitPolicy policy_{.number = 0};  // with that name; number 0: nothing is written
  std::string text_;
  std::size_t name_end_ = 0;
  std::size_t limit_begin_ = 0;
  std::size_t limit_end_ = 0;
};

class PolicyTexts {
 public:
  // Valid until the next call.
  const PolicyText& of(const RateLimitPolicy& policy) {
    PolicyText& text = texts_[place_of(policy)];
    if (!text.is_of(policy)) text.write(policy);
    return text;
  }

 private:
  static constexpr int kPlaceBits = 4;

  // Names belong to rules, and each has its own place in memory.
  static std::size_t place_of(const RateLimitPolicy& policy) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
    const auto name = reinterpret_cast<std::uintptr_t>(policy.name.data());
    return (name + static_cast<std::uint64_t>(policy.limit) + policy.number) * kOdd >>
           (64 - kPlaceBits);
  }

  std::array<PolicyText, std::size_t{1} << kPlaceBits> texts_;
};

}  // namespace weir
