// Finds the name that a person probably meant who wrote a name that does not exist.
//
//   "unknown key 'limt'; " + name_hint("limt", keys)   ->   ...did you mean 'limit'?
//
// A near name is a slip of the fingers, not a synonym. A third of its letters may be wrong,
// missing, too many or swapped with a neighbour; case does not count. Or the written name is the
// beginning of just one candidate ("algo").
//
// Thread rule: pure functions. Cost: for each candidate of similar length, the product of the
// lengths. A name longer than kNameLengthMax is near nothing.
// Tested by nearest_name_test.cc.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::size_t kNameLengthMax = 64;

// The text that replies show for a name from a request.
constexpr std::string_view shown_name(std::string_view name) {
  return name.size() <= kNameLengthMax ? name : "(a long name)";
}

// How many letters to change, insert, remove, or swap with the next one (each letter
// at most once) to make one of the other. Upper and lower case count as the same.
// REQUIRES: neither is longer than kNameLengthMax.
std::size_t edit_distance(std::string_view from, std::string_view to);

// The first of the nearest candidates; empty if none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

// The nearest candidate, or, if none is near, "one of id, limit, window".
std::string expected_name(std::string_view name, std::span<const std::string_view> candidates);

// "did you mean 'limit'?", or, if none is near, "expected one of id, limit, window".
std::string name_hint(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace weir
