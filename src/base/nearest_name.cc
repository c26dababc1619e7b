#include "base/nearest_name.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/joined.h"

namespace weir {
namespace {

// Too many names begin with the same two letters; three are a hint.
constexpr std::size_t kPrefixMin = 3;

constexpr bool same(char a, char b) { return ascii_lower(a) == ascii_lower(b); }

// The candidate that begins with `name`, if exactly one does.
std::string_view completion(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() < kPrefixMin) return {};
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    if (!equal_ignoring_case(candidate.substr(0, name.size()), name)) continue;
    if (!found.empty()) return {};
    found = candidate;
  }
  return found;
}

}  // namespace

// Optimal string alignment: the classic table, but only three rows of it.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  WEIR_ASSERT(from.size() <= kNameLengthMax && to.size() <= kNameLengthMax);
  using Row = std::array<std::size_t, kNameLengthMax + 1>;
  Row before{};    // distances of from[0, i-2) to every prefix of `to`
  Row previous{};  // distances of from[0, i-1)
  Row current{};   // distances of from[0, i)
  std::iota(current.begin(), current.end(), std::size_t{0});

  for (std::size_t i = 1; i <= from.size(); ++i) {
    before = previous;
    previous = current;
    current[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t change = same(from[i - 1], to[j - 1]) ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + change});
      const bool swapped =
          i > 1 && j > 1 && same(from[i - 1], to[j - 2]) && same(from[i - 2], to[j - 1]);
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
  }
  return current[to.size()];
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > kNameLengthMax) return {};
  std::string_view nearest;
  std::size_t nearest_distance = 0;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kNameLengthMax) continue;
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, candidate.size() / 3);
    if (distance > allowed || distance >= candidate.size()) continue;
    if (!nearest.empty() && distance >= nearest_distance) continue;
    nearest = candidate;
    nearest_distance = distance;
  }
  return nearest.empty() ? completion(name, candidates) : nearest;
}

std::string expected_name(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_name(name, candidates);
  if (!nearest.empty()) return std::string(nearest);
  return (candidates.size() > 1 ? "one of " : "") + joined(candidates);
}

std::string name_hint(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_name(name, candidates);
  if (!nearest.empty()) return "did you mean '" + std::string(nearest) + "'?";
  return "expected " + expected_name(name, candidates);
}

}  // namespace weir
