// PriceTable: what tokens of language models cost, by the names of the models.
//
//   claude-sonnet-*   input 3, cached_input 0.30, cache_write 3.75, output 15   dollars a million
//
// A dollar a million tokens is a millionth of a dollar a token. So costs are whole millionths of a
// dollar, and prices whole millionths of those.
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

// What vendors have prices for. kCachedInput: read from a cache; kCacheWrite: written to one.
enum class TokenKind : std::uint8_t { kInput, kCachedInput, kCacheWrite, kOutput };
inline constexpr std::size_t kTokenKinds = 4;

// How many tokens of each kind.
using TokenCounts = std::array<std::int64_t, kTokenKinds>;

// What a million tokens of each kind cost, in millionths of a dollar.
struct TokenPrices {
  std::array<std::int64_t, kTokenKinds> each{};

  // Of each kind the dearer of the two.
  void raise_to(const TokenPrices& other);
  // In millionths of a dollar, rounded up, and kCostMax at most.
  std::int64_t cost_of(const TokenCounts& tokens) const;
};

class PriceTable {
 public:
  static constexpr std::size_t kModelsMax = 256;
  static constexpr std::size_t kNameMax = 100;

  struct Row {
    std::string model;  // its name, or the beginning of names and '*'
    TokenPrices prices;
  };
  explicit PriceTable(std::vector<Row> rows);

  // The name itself wins over beginnings, and a longer beginning over a shorter one.
  const TokenPrices* find(std::string_view model) const;
  // Of models that are not in the table: of each kind the dearest.
  const TokenPrices& unknown() const { return unknown_; }

 private:
  std::vector<Row> rows_;
  TokenPrices unknown_;
};

}  // namespace weir
