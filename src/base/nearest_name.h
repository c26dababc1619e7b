// The name that somebody probably meant who wrote one that does not exist.
//
//   "unknown key 'limt'; " + name_hint("limt", keys)   ->   ...did you mean 'limit'?
//
// Near is a slip of the fingers, not a synonym. A third of the name's letters may be wrong,
// missing, too many or swapped with their neighbour, in either case. Or the name is the beginning
// of just one candidate ("algo").
//
// Thread rule: pure functions. Cost: the product of the lengths for each candidate of
// similar length; a name longer than kNameLengthMax is near nothing.
// Tested by nearest_name_test.cc.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::size_t kNameLengthMax = 64;

// A name that a request brings, as far as a reply repeats it.
constexpr std::string_view shown_name(std::string_view name) {
  return name.size() <= kNameLengthMax ? name : "(a long name)";
}

// How many letters to change, insert, remove, or swap with the next one (each letter
// at most once) to make one of the other. Upper and lower case count as the same.
// REQUIRES: neither is longer than kNameLengthMax.
std::size_t edit_distance(std::string_view from, std::string_view to);

// The first of those that are equally near; empty if none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

// The nearest one, or, when nothing is near, "one of id, limit, window".
std::string expected_name(std::string_view name, std::span<const std::string_view> candidates);

// "did you mean 'limit'?", or, when nothing is near, "expected one of id, limit, window".
std::string name_hint(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace weir
