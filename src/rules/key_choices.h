// KeyChoices: the keys and tiers that a request may have for its origin, if the client repeats a
// header, parameter or cookie that they are made of.
//
// The rule counts such a request under none of the values (part_text). Its deny list, its blocks
// and its limits look at each value, so a client that repeats gains nothing.
//
// Thread rule: immutable once made. Tested by key_choices_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rules/request/request.h"
#include "rules/rule.h"

namespace weir {

struct KeyChoices {
  // Far more than an honest client repeats. Bounds the work that a hostile client causes.
  static constexpr std::size_t kChoicesMax = 256;
  static constexpr std::size_t kBytesMax = std::size_t{64} << 10;

  // The key that is counted, and the key of each choice of values; likewise the tiers. Empty if
  // there are too many: then the rule denies.
  std::vector<std::string> keys{};
  std::vector<std::string> tiers{};

  bool are_too_many() const { return keys.empty() || tiers.empty(); }
};

std::shared_ptr<const KeyChoices> key_choices(const Rule& rule, const Request& request);

// Whether `one` admits fewer units a second than `other`, or as many but fewer at once.
bool admits_less(std::span<const Quota> one, std::span<const Quota> other);

// The limits of these keys and tiers that admit the fewest units a second; among equals, the fewest
// at once. REQUIRES: they are not too many
std::span<const Quota> least_limits(const Rule& rule, const KeyChoices& choices);

}  // namespace weir
