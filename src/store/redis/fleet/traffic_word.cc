#include "store/redis/fleet/traffic_word.h"

#include <algorithm>

#include "base/packed.h"
#include "store/redis/script/cluster_slot.h"

namespace weir {
namespace {

constexpr char kVersion = '2';
constexpr char kSumVersion = '1';

void write(PackedWriter& out, const TrafficCounts& counts) {
  out.number(std::min(counts.requests, TrafficWord::kSecondMax));
  out.number(std::min(counts.denied, TrafficWord::kSecondMax));
  out.number(std::min(counts.shadow, TrafficWord::kSecondMax));
}

// Caps counts at a word's maxima.
TrafficCounts capped(const TrafficCounts& counts) {
  TrafficCounts most{.requests = std::min(counts.requests, TrafficWord::kSecondMax)};
  most.denied = std::min(counts.denied, most.requests);
  most.shadow = std::min(counts.shadow, most.requests - most.denied);
  return most;
}

TrafficTotals capped(TrafficTotals totals) {
  totals.denied = std::min(totals.denied, TrafficWord::kTotalMax);
  for (std::uint64_t& one : totals.decisions) one = std::min(one, TrafficWord::kTotalMax);
  return totals;
}

TrafficCounts read_counts(PackedReader& in) {
  TrafficCounts counts;
  counts.requests = in.number(TrafficWord::kSecondMax);
  counts.denied = in.number(counts.requests);
  counts.shadow = in.number(counts.requests - counts.denied);
  return counts;
}

}  // namespace

std::string to_bytes(const TrafficWord& word) {
  PackedWriter out;
  out.version(kVersion);
  write(out, word.all);
  out.number(word.totals.denied).number(word.totals.decisions.size());
  for (const std::uint64_t decisions : word.totals.decisions) out.number(decisions);
  out.number(word.rules.size());
  for (const TrafficWord::Rule& rule : word.rules) write(out.hash(rule.hash), rule.counts);
  return out.take();
}

std::optional<TrafficWord> traffic_word(std::string_view bytes) {
  PackedReader in(bytes);
  in.version(kVersion);
  TrafficWord word{.all = read_counts(in)};
  word.totals.denied = in.number(TrafficWord::kTotalMax);
  const auto algorithms = in.number(TrafficWord::kAlgorithmsMax);
  for (std::size_t i = 0; i < algorithms; ++i) {
    const auto decisions = in.number(TrafficWord::kTotalMax);
    if (i < word.totals.decisions.size()) word.totals.decisions[i] = decisions;
  }
  const auto rules = in.number(TrafficWord::kRulesMax);
  for (std::size_t i = 0; i < rules; ++i) {
    const auto hash = in.hash();
    word.rules.push_back({.hash = hash, .counts = read_counts(in)});
  }
  if (!in.is_whole()) return std::nullopt;
  return word;
}

std::string to_bytes(const TrafficSum& sum) {
  PackedWriter out;
  out.version(kSumVersion).number(sum.nodes).text(sum.first).number(sum.groups.size());
  for (const TrafficWord& group : sum.groups) out.text(to_bytes(group));
  return out.take();
}

std::optional<TrafficSum> traffic_sum(std::string_view bytes) {
  PackedReader in(bytes);
  in.version(kSumVersion);
  TrafficSum sum{.nodes = static_cast<std::size_t>(in.number(TrafficSum::kNodesMax))};
  sum.first = in.text(TrafficSum::kNameMax);
  const auto groups = in.number(TrafficSum::kGroupsMax);
  for (std::size_t i = 0; i < groups; ++i) {
    auto word = traffic_word(in.text(TrafficSum::kWordMax));
    in.require(word.has_value());
    if (word) sum.groups.push_back(*std::move(word));
  }
  if (!in.is_whole()) return std::nullopt;
  return sum;
}

void TrafficAdder::add(std::string_view name, const TrafficWord& word) {
  if (!names_.emplace(name).second) return;
  Group& group = groups_[crc16(name) % groups_.size()];
  group.all += word.all;
  group.totals += word.totals;
  for (const TrafficWord::Rule& rule : word.rules) group.rules[rule.hash] += rule.counts;
}

TrafficSum TrafficAdder::sum() const {
  TrafficSum sum{.nodes = names_.size(), .first = names_.empty() ? "" : *names_.begin()};
  for (const Group& group : groups_) {
    TrafficWord& word = sum.groups.emplace_back();
    word.all = capped(group.all);
    word.totals = capped(group.totals);
    for (const auto& [hash, counts] : group.rules) {
      word.rules.push_back({.hash = hash, .counts = capped(counts)});
    }
    // By hash where they are equally busy, so that the order of arrival does not matter.
    std::ranges::sort(word.rules, [](const auto& one, const auto& other) {
      return std::pair(other.counts.requests, one.hash) <
             std::pair(one.counts.requests, other.hash);
    });
    word.rules.resize(std::min(word.rules.size(), TrafficWord::kRulesMax));
  }
  return sum;
}

}  // namespace weir
