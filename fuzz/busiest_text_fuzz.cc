// Feeds bytes to the reader of what other nodes say of their busiest keys. What it accepts adds
// up with itself, can be ranked and cut, and is what it would write.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "store/redis/fleet/busiest_text.h"

namespace weir {
namespace {

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

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rules = weir::rule_keys_from_text(text);
  if (!rules) return 0;
  for (const weir::RuleKeys& keys : *rules) {
    weir::check_report(keys.asked);
    weir::check_report(keys.denied);
  }
  const auto again = weir::rule_keys_from_text(weir::to_text(*rules));
  WEIR_ASSERT(again && again->size() <= rules->size());
  return 0;
}
