// PriceTable: prices of language models' tokens, by the names of the models.
//
//   claude-sonnet-*   input 3, cached_input 0.30, cache_write 3.75, output 15   dollars a million
//
// A dollar per million tokens is a millionth of a dollar per token. So costs are whole millionths
// of a dollar, and prices whole millionths of these.
//
// Thread rule: immutable. Tested by price_table_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// The kinds with their own prices. kCachedInput: read from a cache; kCacheWrite: written to it.
enum class TokenKind : std::uint8_t { kInput, kCachedInput, kCacheWrite, kOutput };
inline constexpr std::size_t kTokenKinds = 4;

// The number of tokens of each kind.
using TokenCounts = std::array<std::int64_t, kTokenKinds>;

// The price of a million tokens of each kind, in millionths of a dollar.
struct TokenPrices {
  std::array<std::int64_t, kTokenKinds> each{};

  // Takes the higher price for each kind.
  void raise_to(const TokenPrices& other);
  // The cost in millionths of a dollar, rounded up, at most kCostMax.
  std::int64_t cost_of(const TokenCounts& tokens) const;
};

class PriceTable {
 public:
  static constexpr std::size_t kModelsMax = 256;
  static constexpr std::size_t kNameMax = 100;

  struct Row {
    std::string model;  // a name, or the beginning of names and '*'
    TokenPrices prices;
  };
  explicit PriceTable(std::vector<Row> rows);

  // An exact name wins over beginnings, and a longer beginning over a shorter one.
  const TokenPrices* find(std::string_view model) const;
  // The prices of models that are not in the table: the highest of each kind.
  const TokenPrices& unknown() const { return unknown_; }

 private:
  std::vector<Row> rows_;
  TokenPrices unknown_;
};

}  // namespace weir
