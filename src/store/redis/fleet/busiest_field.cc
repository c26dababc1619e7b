#include "store/redis/fleet/busiest_field.h"

#include <algorithm>
#include <utility>

#include "base/packed.h"
#include "observe/keys/busiest_keys.h"

namespace weir {
namespace {

constexpr char kVersion = '1';
constexpr std::size_t kRuleIdMax = 256;
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 53;
constexpr std::uint64_t kWeightMax = std::uint64_t{1} << 16;

// While a core counts, a report may have more for a key than in all.
void write(PackedWriter& out, const KeyReport& report) {
  const std::uint64_t total = std::min(report.total, kCountMax);
  out.number(total).number(std::min(report.rest, total));
  out.number(std::clamp<std::uint64_t>(report.weight, 1, kWeightMax)).number(report.keys.size());
  for (const KeyEstimate& key : report.keys) {
    const std::uint64_t high = std::min(key.high, total);
    out.hash(key.hash).number(std::min(key.low, high)).number(high).text(key.text);
  }
}

KeyReport read_report(PackedReader& in) {
  KeyReport report;
  report.total = in.number(kCountMax);
  report.rest = in.number(report.total);
  report.weight = in.number(kWeightMax);
  in.require(report.weight > 0);
  const std::uint64_t keys = in.number(kBusiestKeysMax);
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < keys; ++i) {
    KeyEstimate key{.hash = in.hash()};
    key.low = in.number(report.total);
    key.high = in.number(report.total);
    key.text = in.text(KeyText::kBytesMax);
    in.require(last < key.hash && key.low <= key.high);
    last = key.hash;
    report.keys.push_back(std::move(key));
  }
  return report;
}

}  // namespace

void BusiestField::say(std::vector<std::string>& words, Instant now) {
  due_ = now + kEvery;
  const RuleCounts::Most most{.rules = kBusiestRulesMax, .keys = kBusiestKeysMax};
  words.push_back(node_);
  words.push_back(std::to_string(FleetKeys::kKeptMax / std::chrono::seconds(1)));
  words.push_back(std::to_string(kNodesMax));
  words.push_back(std::to_string(kBusiestWordMax));
  words.push_back(to_bytes(counts_.busiest_rules(most, now)));
}

std::string BusiestField::hear(const resp::Reply& told, Instant now) {
  if (!told.is_list()) {
    others_.set_trouble(told.text());
    return {};
  }
  std::vector<FleetKeys::Node> nodes;
  each_pair(told, 0, [&](std::string_view node, std::string_view word) {
    auto rules = busiest_word(word);
    if (rules) nodes.push_back({.name = std::string(node), .rules = *std::move(rules)});
  });
  others_.replace(std::move(nodes), now);
  return {};
}

std::string to_bytes(std::span<const RuleKeys> rules) {
  std::string bytes = PackedWriter().version(kVersion).take();
  for (const RuleKeys& keys : rules.first(std::min(rules.size(), kBusiestRulesMax))) {
    PackedWriter out;
    out.text(keys.rule);
    write(out, keys.asked);
    write(out, keys.denied);
    const std::string one = out.take();
    const bool fits = bytes.size() + one.size() <= kBusiestWordMax;
    if (fits && keys.rule.size() <= kRuleIdMax) bytes += one;
  }
  return bytes;
}

std::optional<std::vector<RuleKeys>> busiest_word(std::string_view bytes) {
  PackedReader in(bytes);
  in.require(bytes.size() <= kBusiestWordMax);
  in.version(kVersion);
  std::vector<RuleKeys> rules;
  while (in.has_more()) {
    in.require(rules.size() < kBusiestRulesMax);
    RuleKeys& keys = rules.emplace_back();
    keys.rule = in.text(kRuleIdMax);
    keys.asked = read_report(in);
    keys.denied = read_report(in);
  }
  if (!in.is_whole()) return std::nullopt;
  return rules;
}

}  // namespace weir
