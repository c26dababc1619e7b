#include "engine/holds/shared_token.h"

#include <vector>

namespace weir {
namespace {

// No rule's id begins like this, so no named key has the same hash.
constexpr std::string_view kSealOf[] = {
    {"\0token", 6}, {"\0slot", 5}, {"\0lent", 5}};  // by the kind

constexpr std::size_t kPairSize = 32;  // digits of two numbers
constexpr std::size_t kPairsMin = 3;   // the hold; end and tag; the seal; then keys

HoldToken seal_of(std::string_view text, SharedToken::Kind kind, const KeyHasher& hasher) {
  const std::string_view name = kSealOf[static_cast<std::size_t>(kind)];
  const KeyHash hash = hasher.hash({.rule = name, .bucket = {}, .key = text}, Quota());
  return {hash.high, hash.low};
}

}  // namespace

std::string SharedToken::to_string(Kind kind, const KeyHasher& hasher) const {
  std::string text = hold.to_string();
  text += HoldToken{static_cast<std::uint64_t>(epoch_us(end)), tag}.to_string();
  for (std::size_t i = 0; i < size; ++i) text += HoldToken{keys[i].high, keys[i].low}.to_string();
  return text + seal_of(text, kind, hasher).to_string();
}

std::optional<SharedToken> SharedToken::parse(std::string_view text, Kind kind,
                                              const KeyHasher& hasher) {
  const std::size_t pairs = text.size() / kPairSize;
  if (text.size() % kPairSize != 0 || pairs <= kPairsMin) return std::nullopt;
  SharedToken token{.size = pairs - kPairsMin};
  if (token.size > token.keys.size()) return std::nullopt;
  std::vector<HoldToken> numbers;
  for (std::size_t at = 0; at < text.size(); at += kPairSize) {
    const auto pair = HoldToken::parse(text.substr(at, kPairSize));
    if (!pair) return std::nullopt;
    numbers.push_back(*pair);
  }
  if (numbers.back() != seal_of(text.substr(0, text.size() - kPairSize), kind, hasher)) {
    return std::nullopt;
  }
  token.hold = numbers[0];
  token.end = instant_from_epoch_us(static_cast<std::int64_t>(numbers[1].high));
  token.tag = numbers[1].low;
  for (std::size_t i = 0; i < token.size; ++i) {
    token.keys[i] = {numbers[2 + i].high, numbers[2 + i].low};
  }
  return token;
}

}  // namespace weir
