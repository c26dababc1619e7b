// KeyChoices: what the key and the tier of a request may be for its origin, where the client has
// repeated a header, parameter or cookie that they are made of.
//
// The rule counts such a request under none of the values (part_text). Its list of the denied, its
// blocks and its limits look at each of them, so that a repeat passes none and gains nothing.
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
  // Far more than an honest client repeats. They bound the work for a hostile one.
  static constexpr std::size_t kChoicesMax = 256;
  static constexpr std::size_t kBytesMax = std::size_t{64} << 10;

  // The key that is counted, and those that each choice of values makes; likewise the tiers.
  // Empty if there are too many: then the rule denies.
  std::vector<std::string> keys{};
  std::vector<std::string> tiers{};

  bool are_too_many() const { return keys.empty() || tiers.empty(); }
};

std::shared_ptr<const KeyChoices> key_choices(const Rule& rule, const Request& request);

// Whether the one list of limits admits fewer units a second, or as few and fewer at once.
bool admits_less(std::span<const Quota> one, std::span<const Quota> other);

// Those limits of these keys and tiers that admit the fewest units a second, and if
// several admit as few, the fewest at once. REQUIRES: they are not too many
std::span<const Quota> least_limits(const Rule& rule, const KeyChoices& choices);

}  // namespace weir
