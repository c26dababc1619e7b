#include "store/redis/fleet/traffic_field.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/packed.h"

namespace weir {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr Duration kLateMax = std::chrono::seconds(1);        // a later answer comes to nobody
constexpr Duration kLeadFall = std::chrono::milliseconds(1);  // in a second; clocks drift less

bool has(const std::vector<RuleNumber>& sorted, RuleNumber rule) {
  return std::ranges::binary_search(sorted, rule);
}

constexpr char kVersion = '2';

void write(PackedWriter& out, const TrafficCounts& counts) {
  out.number(std::min(counts.requests, TrafficWord::kSecondMax));
  out.number(std::min(counts.denied, TrafficWord::kSecondMax));
  out.number(std::min(counts.shadow, TrafficWord::kSecondMax));
}

TrafficCounts read_counts(PackedReader& in) {
  TrafficCounts counts;
  counts.requests = in.number(TrafficWord::kSecondMax);
  counts.denied = in.number(counts.requests);
  counts.shadow = in.number(counts.requests - counts.denied);
  return counts;
}

}  // namespace

std::optional<Instant> TrafficField::due() const {
  return recent_.seconds() < due_from_ ? recent_.next_tick() : Instant::min();
}

void TrafficField::say(std::vector<std::string>& words, Instant now) {
  recent_.tick(now);
  due_from_ = recent_.seconds() + 1;
  words.push_back(node_);
  words.push_back(counts());
  words.push_back(std::to_string(last_read_));
}

// Those of the last second, once. What no answer has come for, Redis may have or not.
std::string TrafficField::counts() {
  if (std::exchange(said_, recent_.seconds()) == recent_.seconds()) return {};
  const auto known = recent_.snapshot();
  const TrafficSecond& counted = known->own.window.second(0);
  TrafficWord word{.all = counted.all, .totals = known->own.totals};
  for (const RuleTraffic& one : sent_rules(*known, counted)) {
    word.rules.push_back({.hash = recent_.rules().hash_of(one.rule), .counts = one.counts});
  }
  return to_bytes(word);
}

// By ten seconds, so that a rule which is one of the busiest now and then is not there by turns.
std::vector<RuleTraffic> TrafficField::sent_rules(const TrafficSnapshot& known,
                                                  const TrafficSecond& counted) const {
  if (counted.rules.size() <= kBusiestMax) return counted.rules;
  const auto ours = busiest_rules(known.own.window, kBusiestMax);
  const auto everybodys = busiest_rules(known.sum, kBusiestMax);
  std::vector<RuleTraffic> sent;
  std::ranges::copy_if(counted.rules, std::back_inserter(sent), [&](const RuleTraffic& one) {
    return has(ours, one.rule) || has(everybodys, one.rule);
  });
  return sent;
}

std::string TrafficField::hear(const resp::Reply& told, Instant now) {
  const auto redis_us = clock_us(told[0]);
  if (!redis_us) return {};
  const auto taken = told[1].integer();
  if (!taken) warn(Trouble::kRefused, told[1].text());
  follow_clock(*redis_us, now);
  const std::int64_t read_before = last_read_;
  for (std::size_t i = 2; i + 1 < told.size(); i += 2) {
    const auto second = told[i].integer();
    const bool has_been = second >= 0 && second <= *redis_us / kSecondUs;
    if (second && has_been) learn(*second, told[i + 1], now);
  }
  // Not all fitted into the answer.
  if (last_read_ > read_before && last_read_ < *redis_us / kSecondUs - 2) due_from_ = 0;
  return {};
}

// An answer that took long makes Redis's clock look late: the lead falls slowly, unless the clock
// has been set.
void TrafficField::follow_clock(std::int64_t redis_us, Instant now) {
  const Duration seen = instant_from_epoch_us(redis_us) - now;
  const bool is_late = lead_ && seen < *lead_ && seen > *lead_ - kLateMax;
  lead_ = is_late ? std::max(seen, *lead_ - kLeadFall) : seen;
  recent_.set_lead(*lead_);
  if (redis_us / kSecondUs >= last_read_) return;
  last_read_ = 0;  // it has been set back
  recent_.forget_fleet(now);
}

void TrafficField::learn(std::int64_t second, const resp::Reply& told, Instant now) {
  if (!told.is_list()) {
    last_read_ = second;
    return warn(Trouble::kRefused, told.text());
  }
  std::vector<RecentTraffic::NodeSecond> nodes;
  each_pair(told, 0, [&](std::string_view name, std::string_view bytes) {
    if (const auto word = traffic_word(bytes)) {
      nodes.push_back(node_second(name, *word));
    } else {
      warn(Trouble::kUnreadable, "a node has written counts that this one cannot read");
    }
  });
  const auto name_of = &RecentTraffic::NodeSecond::name;
  std::ranges::sort(nodes, {}, name_of);
  const auto twice = std::ranges::unique(nodes, {}, name_of);
  nodes.erase(twice.begin(), twice.end());
  if (nodes.size() > RecentTraffic::kNodesMax) {
    warn(Trouble::kTooMany, "there are more nodes than it can add up");
  }
  recent_.hear({.second = second, .self = node_, .nodes = std::move(nodes)}, now);
  last_read_ = second;
}

// Rules that this node does not know count in all of the node, and not as rules.
RecentTraffic::NodeSecond TrafficField::node_second(std::string_view name,
                                                    const TrafficWord& word) const {
  RecentTraffic::NodeSecond node{
      .name = std::string(name), .counts = {.all = word.all}, .totals = word.totals};
  for (const TrafficWord::Rule& rule : word.rules) {
    const RuleNumber number = recent_.rules().number_with(rule.hash);
    if (number == kNoRuleNumber) continue;
    node.counts.rules.push_back({.rule = number, .counts = rule.counts});
  }
  std::ranges::sort(node.counts.rules, {}, &RuleTraffic::rule);
  const auto twice = std::ranges::unique(node.counts.rules, {}, &RuleTraffic::rule);
  node.counts.rules.erase(twice.begin(), twice.end());
  return node;
}

void TrafficField::warn(Trouble trouble, std::string_view why) {
  if (std::exchange(warned_[static_cast<std::size_t>(trouble)], true)) return;
  listener_.fleet_warned("the figures of the fleet's traffic are not complete: " +
                         std::string(why));
}

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
