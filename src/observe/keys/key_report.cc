#include "observe/keys/key_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace weir {
namespace {

// The natural logarithm of 100: one case in a hundred.
constexpr double kDoubt = 4.605170185988092;

bool comes_before(const KeyEstimate& one, const KeyEstimate& other) {
  if (one.low != other.low) return one.low > other.low;
  return one.high != other.high ? one.high > other.high : one.hash < other.hash;
}

}  // namespace

void KeyReport::add(KeyReport other) {
  std::vector<KeyEstimate> all;
  all.reserve(keys.size() + other.keys.size());
  auto mine = keys.begin();
  auto theirs = other.keys.begin();
  while (mine != keys.end() || theirs != other.keys.end()) {
    const bool is_mine =
        theirs == other.keys.end() || (mine != keys.end() && mine->hash <= theirs->hash);
    const bool is_theirs = !is_mine || (theirs != other.keys.end() && mine->hash == theirs->hash);
    KeyEstimate key = std::move(is_mine ? *mine : *theirs);
    if (is_mine && is_theirs) {
      key.low += theirs->low;
      key.high += theirs->high;
      if (key.text.empty()) key.text = std::move(theirs->text);
    } else {
      key.high += is_mine ? other.rest : rest;
    }
    all.push_back(std::move(key));
    mine += is_mine ? 1 : 0;
    theirs += is_theirs ? 1 : 0;
  }
  keys = std::move(all);
  total += other.total;
  rest += other.rest;
  weight = std::max(weight, other.weight);
}

void KeyReport::keep_busiest(std::size_t most) {
  if (keys.size() <= most) return;
  std::ranges::sort(keys, comes_before);
  for (auto cut = keys.begin() + static_cast<std::ptrdiff_t>(most); cut != keys.end(); ++cut) {
    rest = std::max(rest, cut->high);
  }
  keys.resize(most);
  std::ranges::sort(keys, {}, &KeyEstimate::hash);
}

std::vector<KeyEstimate> KeyReport::ranked(std::size_t most) const {
  std::vector<KeyEstimate> ranked = keys;
  std::ranges::sort(ranked, comes_before);
  ranked.resize(std::min(ranked.size(), most));
  return ranked;
}

// The sample says C; the truth is T. Each request counts as w with a chance of 1 / w, so its square
// is w on average, and the sum of the squares is T w. Bernstein's inequality bounds how far C is
// above T, except in one case of e^L: C <= T + sqrt(2 L T w) + L w / 3. Solved for T.
std::uint64_t least_of(std::uint64_t low, std::uint64_t weight) {
  if (weight <= 1) return low;
  const double per_sample = kDoubt * static_cast<double>(weight);
  const double rest = static_cast<double>(low) - per_sample / 3;
  if (rest <= 0) return 0;
  const double root = (std::sqrt(2 * per_sample + 4 * rest) - std::sqrt(2 * per_sample)) / 2;
  return static_cast<std::uint64_t>(root * root);
}

// How far C is below T: C >= T - sqrt(2 L T w), as counts are never negative. (Maurer, "A bound on
// the deviation probability for sums of non-negative random variables", 2003.) Solved for T.
std::uint64_t most_of(std::uint64_t high, std::uint64_t weight) {
  if (weight <= 1) return high;
  const double twice = 2 * kDoubt * static_cast<double>(weight);
  const double root = (std::sqrt(twice) + std::sqrt(twice + 4 * static_cast<double>(high))) / 2;
  return static_cast<std::uint64_t>(std::ceil(root * root));
}

std::string hash_text(std::uint64_t hash) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  const auto size = static_cast<std::size_t>(end - digits.data());
  return std::string(digits.size() - size, '0').append(digits.data(), size);
}

}  // namespace weir
