// SharedToken: names a hold that any node of a fleet may commit, or a slot that any may release:
// its token, its end and its keys. As text it is sealed under the fleet's secret, so a forged one
// is refused at once. Holds and slots have different seals. A slot that a node has lent
// (LeasedSlots) has two keys. The second stands for the lender: which core it is, and since when,
// on Redis's clock, it has had slots of the key.
//
// Thread rule: a value. Tested by shared_token_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rules/rule.h"
#include "weir/holding_store.h"
#include "weir/key.h"

namespace weir {

struct SharedToken {
  enum class Kind : std::uint8_t { kHold, kSlot, kLentSlot };

  HoldToken hold;
  Instant end{};          // HoldOrder::end
  std::uint64_t tag = 0;  // of the charges
  std::size_t size = 0;   // number of keys
  std::array<KeyHash, Rule::kLimitsMax> keys{};

  // 128 hexadecimal digits, and 32 more for each key beyond the first.
  std::string to_string(Kind kind, const KeyHasher& hasher) const;
  static std::optional<SharedToken> parse(std::string_view text, Kind kind,
                                          const KeyHasher& hasher);
};

}  // namespace weir
