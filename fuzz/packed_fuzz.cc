// Packed bytes come from Redis, from the node's own files, from the memory of another process, and
// from the Worker's rules. Each reader reads any bytes there, or refuses them. A value that it
// reads is within its bounds, and the same when it is written again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "cli/kept/sealed_file.h"
#include "cli/node/tenant_keeper.h"
#include "engine/block_bytes.h"
#include "engine/block_list.h"
#include "rules/packed/packed_rules.h"
#include "store/redis/fleet/busiest_field.h"
#include "store/redis/fleet/traffic_word.h"

namespace weir {
namespace {

// ---- traffic ----

void check_counts(const TrafficCounts& counts) {
  WEIR_ASSERT(counts.requests <= TrafficWord::kSecondMax &&
              counts.denied + counts.shadow <= counts.requests);
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

void check_sum(const TrafficSum& sum) {
  for (const TrafficWord& group : sum.groups) check_word(group);
  const auto again = traffic_sum(to_bytes(sum));
  WEIR_ASSERT(again && again->nodes == sum.nodes && again->groups.size() == sum.groups.size());
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

// ---- blocks ----

constexpr Instant kNow = instant_from_epoch_us(1'700'000'000'000'000);

bool are_equal(const Block& one, const Block& other) {
  return one.rule == other.rule && one.key == other.key && one.since == other.since &&
         one.until == other.until && one.reason == other.reason && one.by == other.by &&
         one.why == other.why;
}

void check_blocks(const std::vector<Block>& blocks) {
  std::string bytes;
  for (const Block& block : blocks) bytes += to_bytes(block);
  const auto again = blocks_in(bytes, blocks.size());
  WEIR_ASSERT(again && again->size() == blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    WEIR_ASSERT(are_equal((*again)[i], blocks[i]));
    WEIR_ASSERT(epoch_us(blocks[i].since) >= 0 && epoch_us(blocks[i].until) >= 0);
  }

  static const KeyHasher hasher{HashSecret{}};
  BlockList list(hasher, 64);
  for (const Block& block : blocks) list.learn(block, std::nullopt, kNow);
  for (const Block& block : list.list("", 64, kNow)) {
    WEIR_ASSERT(block.until > kNow);
    WEIR_ASSERT(list.until(block.rule, block.key, kNow) >= block.until);  // or a network's
    list.lift(block.rule, block.key, kNow);
  }
  WEIR_ASSERT(list.empty());
}

// ---- files of a node's own ----

// Bytes with the seal that they should have are whole, and no others.
void check_seal(std::string_view bytes) {
  constexpr std::string_view kMark = "weir state 3 ";
  const std::string seal = SealedFile::seal_of(kMark, bytes);
  WEIR_ASSERT(SealedFile::body_of(kMark, seal + std::string(bytes)) == bytes);
  const auto body = SealedFile::body_of(kMark, bytes);
  WEIR_ASSERT(!body || SealedFile::seal_of(kMark, *body) + std::string(*body) == bytes);
}

void check_tenants(const SharedTenants::Version& version) {
  WEIR_ASSERT(version.head.number <= SharedTenants::kNumberMax);
  WEIR_ASSERT(version.head.digest == version.table->digest());
  const auto again = tenants_in(to_bytes(version));
  WEIR_ASSERT(again && again->head == version.head && again->since == version.since);
}

// ---- rules ----

void check_rules(const std::vector<Rule>& rules) {
  const std::string bytes = packed_rules(rules);
  const auto again = unpacked_rules(bytes);
  WEIR_ASSERT(again && again->size() == rules.size() && packed_rules(*again) == bytes);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto word = weir::traffic_word(bytes)) weir::check_word(*word);
  if (const auto sum = weir::traffic_sum(bytes)) weir::check_sum(*sum);
  if (const auto rules = weir::busiest_word(bytes)) weir::check_busiest(*rules);
  const auto blocks = weir::blocks_in(bytes, weir::BlockList::kBlocksMax);
  if (blocks) weir::check_blocks(*blocks);
  if (const auto rules = weir::unpacked_rules(bytes)) weir::check_rules(*rules);
  if (const auto tenants = weir::tenants_in(bytes)) weir::check_tenants(*tenants);
  weir::check_seal(bytes);
  return 0;
}
