// SharedHead: tells apart the versions of what the nodes of a fleet share: rules, tenants.
//
// Thread rule: values. Tested by src/store/redis/fleet/beat_fields_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/decimal.h"

namespace weir {

struct SharedHead {
  std::uint64_t number = 0;  // 0: there is no version
  std::uint64_t digest = 0;  // tells apart two versions with one number

  friend bool operator==(const SharedHead&, const SharedHead&) = default;
};

// "NUMBER DIGEST", as Redis has it.
inline std::string to_text(const SharedHead& head) {
  return std::to_string(head.number) + ' ' + std::to_string(head.digest);
}

// A broken text is of no version.
inline SharedHead shared_head_in(std::string_view text, std::uint64_t number_max) {
  const auto number = read_decimal<std::uint64_t>(take_until(text, ' '));
  const auto digest = read_decimal<std::uint64_t>(text);
  if (!number || !digest || *number > number_max) return {};
  return {.number = *number, .digest = *digest};
}

}  // namespace weir
