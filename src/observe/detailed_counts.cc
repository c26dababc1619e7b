#include "observe/detailed_counts.h"

namespace weir {

void DetailedCounts::record(std::string_view rule, std::string_view values, Outcome outcome) {
  auto name = std::pair(std::string(rule), std::string(values.substr(0, kValuesMax)));
  for (char& c : name.second) c = c >= ' ' && c <= '~' ? c : '?';
  const std::scoped_lock lock(mutex_);
  auto found = series_.find(name);
  if (found == series_.end()) {
    // Keeps one place for each rule's other values.
    if (series_.size() >= kSeriesMax) name.second = kOthers;
    found = series_.try_emplace(std::move(name)).first;
  }
  ++(outcome == Outcome::kOverLimit ? found->second.over_limit : found->second.within_limit);
}

std::vector<DetailedCounts::Series> DetailedCounts::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Series> all;
  all.reserve(series_.size());
  for (const auto& [name, counts] : series_) {
    all.push_back({.rule = name.first,
                   .values = name.second,
                   .within_limit = counts.within_limit,
                   .over_limit = counts.over_limit});
  }
  return all;
}

}  // namespace weir
