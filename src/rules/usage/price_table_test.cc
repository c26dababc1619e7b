#include "rules/usage/price_table.h"

#include <gtest/gtest.h>

#include "weir/quota.h"

namespace weir {
namespace {

TokenPrices dollars(std::int64_t input, std::int64_t cached, std::int64_t write,
                    std::int64_t output) {
  TokenPrices prices{.each = {input, cached, write, output}};
  for (std::int64_t& price : prices.each) price *= 1'000'000;
  return prices;
}

TEST(TokenPrices, MakeWholeMillionthsOfADollar) {
  const TokenPrices prices = dollars(3, 1, 4, 15);
  EXPECT_EQ(prices.cost_of({}), 0);
  EXPECT_EQ(prices.cost_of({1, 0, 0, 0}), 3);
  EXPECT_EQ(prices.cost_of({1'000'000, 0, 0, 0}), 3'000'000);
  EXPECT_EQ(prices.cost_of({1, 10, 100, 1'000}), 3 + 10 + 400 + 15'000);
}

TEST(TokenPrices, RoundUpWhatIsLessThanAMillionth) {
  const TokenPrices cheap{.each = {75'000, 0, 0, 300'000}};  // 0.075 and 0.30 dollars a million
  EXPECT_EQ(cheap.cost_of({1, 0, 0, 0}), 1);
  EXPECT_EQ(cheap.cost_of({40, 0, 0, 0}), 3);
  EXPECT_EQ(cheap.cost_of({40, 0, 0, 1}), 4);
  EXPECT_EQ(cheap.cost_of({0, 1'000, 0, 0}), 0);
}

TEST(TokenPrices, StayWithinWhatACostMayBe) {
  const TokenPrices dear = dollars(1'000'000, 1'000'000, 1'000'000, 1'000'000);
  EXPECT_EQ(dear.cost_of({kCostMax, kCostMax, kCostMax, kCostMax}), kCostMax);
}

TEST(PriceTable, TheLongestNameWins) {
  const PriceTable table({{"gpt-*", dollars(1, 1, 1, 1)},
                          {"gpt-5*", dollars(2, 2, 2, 2)},
                          {"gpt-5-mini", dollars(3, 3, 3, 3)},
                          {"gpt-5-mini*", dollars(4, 4, 4, 4)}});
  const auto input = [&](std::string_view model) {
    const TokenPrices* const found = table.find(model);
    return found == nullptr ? 0 : found->each[0] / 1'000'000;
  };
  EXPECT_EQ(input("gpt-4o"), 1);
  EXPECT_EQ(input("gpt-5"), 2);
  EXPECT_EQ(input("gpt-5-mini"), 3);
  EXPECT_EQ(input("gpt-5-mini-2025"), 4);
  EXPECT_EQ(input("gpt-"), 1);
  EXPECT_EQ(input("gpt"), 0);
  EXPECT_EQ(input("GPT-5"), 0);
  EXPECT_EQ(input(""), 0);
}

TEST(PriceTable, AnUnknownModelCostsAsTheDearest) {
  const PriceTable table({{"a", dollars(1, 9, 1, 50)}, {"b", dollars(5, 2, 7, 3)}});
  EXPECT_EQ(table.find("c"), nullptr);
  EXPECT_EQ(table.unknown().each, dollars(5, 9, 7, 50).each);
  const PriceTable others({{"a", dollars(5, 5, 5, 5)}, {"*", dollars(1, 1, 1, 1)}});
  EXPECT_EQ(others.find("c")->each, dollars(1, 1, 1, 1).each);
  EXPECT_EQ(others.find("")->each, dollars(1, 1, 1, 1).each);
}

}  // namespace
}  // namespace weir
