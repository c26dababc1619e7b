// The header fields that tell a client its limit, in both notations in use:
//
//   X-RateLimit-Limit: 100                       what most clients know; seconds, not
//   X-RateLimit-Remaining: 58                    a date, in -Reset
//   X-RateLimit-Reset: 42
//   RateLimit: "default";r=58;t=1                draft-ietf-httpapi-ratelimit-headers-10
//   RateLimit-Policy: "default";q=100;w=60
//   Retry-After: 3                               only if waiting helps
//   X-Weir-Mode: local                           only if a node decided alone
//
// Seconds are rounded up, so that nobody comes back too early. `t` is when there is more to
// spend than `r`: of a bucket of 60 an hour a minute, however empty it is. It is left out where
// no wait helps, and where nothing is spent. `w` is left out where the window is not a whole
// number of seconds, because the draft has no other way to say it.
//
// Thread rule: pure. Tested by rate_limit_headers_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/name_value.h"
#include "proto/text_writer.h"
#include "weir/decision.h"
#include "weir/time.h"

namespace weir {

struct RateLimitPolicy {
  std::string_view name;  // anything; what a structured field cannot hold becomes '?'
  std::int64_t limit = 0;
  Duration window{0};
};

// What a reply says of a limit.
struct RateLimit {
  RateLimitPolicy policy{};
  Decision decision{};
  bool is_alone = false;  // the shared store failed
};

// No more than this is written.
constexpr std::size_t rate_limit_headers_max(const RateLimit& limit) {
  constexpr std::size_t kFixed = 192;  // names, punctuation and line ends: 147
  constexpr std::size_t kNumbers = 8;
  const std::size_t quoted = 2 + 2 * limit.policy.name.size();
  return kFixed + kNumbers * kNumberTextMax + 2 * quoted;
}

// As lines of HTTP/1.1.
void write_rate_limit_headers(TextWriter& writer, const RateLimit& limit);

// How their names are written: HTTP/2 has them in lower case.
enum class FieldNames : std::uint8_t { kLower, kUsual };

class RateLimitFields {
 public:
  static constexpr std::size_t kFieldsMax = 7;

  // `room` holds rate_limit_headers_max(limit) bytes and outlives this.
  RateLimitFields(const RateLimit& limit, char* room, FieldNames names = FieldNames::kLower);

  std::span<const NameValue> fields() const { return std::span(fields_).first(size_); }

 private:
  std::array<NameValue, kFieldsMax> fields_;
  std::size_t size_ = 0;
};

}  // namespace weir
