#include "store/redis/fleet/traffic_word.h"

#include <algorithm>

#include "base/packed.h"

namespace weir {
namespace {

constexpr char kVersion = '1';

void write(PackedWriter& out, const TrafficCounts& counts) {
  out.number(std::min(counts.requests, TrafficWord::kSecondMax));
  out.number(std::min(counts.denied, TrafficWord::kSecondMax));
}

TrafficCounts read_counts(PackedReader& in) {
  TrafficCounts counts;
  counts.requests = in.number(TrafficWord::kSecondMax);
  counts.denied = in.number(counts.requests);
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

}  // namespace weir
