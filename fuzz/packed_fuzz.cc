// Whatever bytes a node finds in Redis, in its state file or in memory of another process, each
// reader of packed bytes reads or refuses. What it reads is within its bounds, and the same when it
// is written again.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "store/redis/fleet/busiest_word.h"
#include "store/redis/fleet/traffic_word.h"

namespace weir {
namespace {

// ---- traffic ----

void check_counts(const TrafficCounts& counts) {
  WEIR_ASSERT(counts.requests <= TrafficWord::kSecondMax && counts.denied <= counts.requests);
}

void check_word(const TrafficWord& word) {
  check_counts(word.all);
  WEIR_ASSERT(word.rules.size() <= TrafficWord::kRulesMax);
  for (const TrafficWord::Rule& rule : word.rules) check_counts(rule.counts);
  WEIR_ASSERT(word.totals.denied <= TrafficWord::kTotalMax);
  for (const std::uint64_t decisions : word.totals.decisions) {
    WEIR_ASSERT(decisions <= TrafficWord::kTotalMax);
  }
  const auto again = traffic_word(to_bytes(word));
  WEIR_ASSERT(again && again->all == word.all && again->totals == word.totals &&
              again->rules == word.rules);
}

// ---- busiest keys ----

void check_report(const KeyReport& report) {
  KeyReport sum = report;
  sum.add(report);
  WEIR_ASSERT(sum.total == 2 * report.total && sum.rest == 2 * report.rest);
  WEIR_ASSERT(sum.keys.size() == report.keys.size());
  for (const KeyEstimate& key : sum.keys) {
    WEIR_ASSERT(key.low <= key.high && key.high <= sum.total);
    WEIR_ASSERT(least_of(key.low, sum.weight) <= key.low);
    WEIR_ASSERT(most_of(key.high, sum.weight) >= key.high);
  }
  sum.keep_busiest(1);
  WEIR_ASSERT(sum.ranked(2).size() <= 1);
}

void check_busiest(const std::vector<RuleKeys>& rules) {
  for (const RuleKeys& keys : rules) {
    check_report(keys.asked);
    check_report(keys.denied);
  }
  const auto again = busiest_word(to_bytes(rules));
  WEIR_ASSERT(again && again->size() == rules.size());
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto word = weir::traffic_word(bytes)) weir::check_word(*word);
  if (const auto rules = weir::busiest_word(bytes)) weir::check_busiest(*rules);
  return 0;
}
