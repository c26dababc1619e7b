// The header fields that tell a client its limit, in the common notations:
//
//   X-RateLimit-Limit: 100                       what most clients know; -Reset in seconds or,
//   X-RateLimit-Remaining: 58                    as GitHub has it, as seconds since 1970
//   X-RateLimit-Reset: 42
//   RateLimit: "default";r=58;t=1                draft-ietf-httpapi-ratelimit-headers-10
//   RateLimit-Policy: "default";q=100;w=60
//   Retry-After: 3                               only if waiting helps
//   X-Weir-Mode: local                           only if a node decided alone
//
// In draft 10 each of several limits has an item; all other fields are about the limit that presses
// most. Drafts 7 and 6 look as follows, where `reset` is when the limit is as new:
//
//   RateLimit: limit=100, remaining=58, reset=42
//   RateLimit-Policy: 100;w=60, 1000;w=86400
//
//   RateLimit-Limit: 100
//   RateLimit-Remaining: 58
//   RateLimit-Reset: 42
//   RateLimit-Policy: 100;w=60, 1000;w=86400
//
// Seconds are rounded up, so that nobody comes back too early. `t` says when there is more to spend
// than `r`: for a bucket of 60 an hour in a minute, however empty it is. There is no `t` if no wait
// helps, or if nothing is spent. There is no `w` if the window is not a whole number of seconds,
// because the drafts cannot say it otherwise.
//
// Thread rule: pure. Tested by rate_limit_headers_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "proto/http/rate_limit_policy.h"
#include "proto/text_writer.h"
#include "weir/decision.h"
#include "weir/time.h"

namespace weir {

// The decision about one of several limits.
struct RateLimitItem {
  RateLimitPolicy policy{};
  Decision decision{};
};

// The fields to send, apart from Retry-After and X-Weir-Mode.
struct RateLimitStyle {
  enum class Fields : std::uint8_t { kNone, kDraft6, kDraft7, kDraft10 };
  enum class Reset : std::uint8_t { kSeconds, kEpoch };

  Fields fields = Fields::kDraft10;
  // The fields that begin with X-RateLimit-.
  bool x_limit = true;
  bool x_remaining = true;
  bool x_reset = true;
  Reset reset = Reset::kSeconds;  // the meaning of X-RateLimit-Reset
};

// When a denied request may come back, in fields and bodies. If a key owes more than its limit, it
// has nothing to spend yet when a look is OK again.
constexpr Duration wait_of(const Decision& decision) {
  const bool can_wait = decision.verdict == Verdict::kDenied;
  return can_wait ? std::max(decision.retry_after, decision.more_after) : Duration{0};
}

// What a reply says about a limit.
struct RateLimit {
  RateLimitPolicy policy{};
  Decision decision{};
  bool is_alone = false;                   // the shared store failed
  std::span<const RateLimitItem> items{};  // all limits, if there are several
  RateLimitStyle style{};
  Instant wall_time{};           // for Reset::kEpoch
  PolicyTexts* texts = nullptr;  // of the fields' writer, for which it is never null
};

// The most bytes that are written.
constexpr std::size_t rate_limit_headers_max(const RateLimit& limit) {
  constexpr std::size_t kFixed = 288;  // names, punctuation and line ends: 221
  constexpr std::size_t kNumbers = 7;
  constexpr std::size_t kItemFixed = 32;  // punctuation: 24
  constexpr std::size_t kItemNumbers = 6;
  const auto item_max = [](const RateLimitPolicy& policy) {
    const std::size_t quoted = 2 + 2 * policy.name.size();
    return kItemFixed + kItemNumbers * kNumberTextMax + 2 * quoted;
  };
  std::size_t size = kFixed + kNumbers * kNumberTextMax;
  if (limit.items.empty()) return size + item_max(limit.policy);
  for (const RateLimitItem& item : limit.items) size += item_max(item.policy);
  return size;
}

// Writes lines of HTTP/1.1. rate_limit_fields.h writes fields.
void write_rate_limit_headers(TextWriter& writer, const RateLimit& limit);

}  // namespace weir
