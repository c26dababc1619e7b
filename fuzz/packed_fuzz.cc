// Whatever bytes a node finds in Redis, in its state file or in memory of another process, each
// reader of packed bytes reads or refuses. What it reads is within its bounds, and the same when it
// is written again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
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

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto word = weir::traffic_word(bytes)) weir::check_word(*word);
  return 0;
}
