// KeyChoices: what the key and the tier of a request may be for its origin, where the client has
// repeated a header, parameter or cookie that they are made of.
//
// The rule counts such a request under none of the values (part_text). Its list of the denied, its
// blocks and its limits look at each of them, so that a repeat passes none and gains nothing.
//
// Thread rule: immutable once made. Tested by key_choices_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

enum class Repeats : std::uint8_t { kNothing, kSomething };

// The key as key_of() makes it, and whether a part of it has several values.
Repeats make_key(const Rule& rule, const Request& request, std::string& key);

// Adds a part to a key of all `parts`.
void append_part(std::span<const KeyPart> parts, std::string_view text, std::string& key);

std::shared_ptr<const KeyChoices> key_choices(const Rule& rule, const Request& request);

// Those limits of these keys and tiers that admit the fewest units a second, and if
// several admit as few, the fewest at once. REQUIRES: they are not too many
std::span<const Quota> least_limits(const Rule& rule, const KeyChoices& choices);

}  // namespace weir
