#include "rules/usage/price_table.h"

#include <algorithm>
#include <utility>

#include "algo/wide_math.h"
#include "weir/quota.h"

namespace weir {

void TokenPrices::raise_to(const TokenPrices& other) {
  for (std::size_t kind = 0; kind < kTokenKinds; ++kind) {
    each[kind] = std::max(each[kind], other.each[kind]);
  }
}

std::int64_t TokenPrices::cost_of(const TokenCounts& tokens) const {
  algo::Int128 sum = 0;
  for (std::size_t kind = 0; kind < kTokenKinds; ++kind) {
    sum += algo::Int128{tokens[kind]} * each[kind];
  }
  const auto cost = algo::ceil_div<algo::Int128>(sum, 1'000'000);
  return static_cast<std::int64_t>(std::min<algo::Int128>(cost, kCostMax));
}

PriceTable::PriceTable(std::vector<Row> rows) : rows_(std::move(rows)) {
  for (const Row& row : rows_) unknown_.raise_to(row.prices);
}

const TokenPrices* PriceTable::find(std::string_view model) const {
  const Row* best = nullptr;
  for (const Row& row : rows_) {
    std::string_view name = row.model;
    if (name == model) return &row.prices;
    if (!name.ends_with('*') || (best != nullptr && best->model.size() > name.size())) continue;
    name.remove_suffix(1);
    if (model.starts_with(name)) best = &row;
  }
  return best == nullptr ? nullptr : &best->prices;
}

}  // namespace weir
