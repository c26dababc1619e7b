#include "store/redis/fleet/traffic_field.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
// Longer than one node may take to add up a second (beat.lua): then this node may do it.
constexpr Duration kAddedUpIn = std::chrono::milliseconds(350);
constexpr Duration kLateMax = std::chrono::seconds(1);        // nobody uses a later answer
constexpr Duration kLeadFall = std::chrono::milliseconds(1);  // in a second; clocks drift less

bool has(const std::vector<RuleNumber>& sorted, RuleNumber rule) {
  return std::ranges::binary_search(sorted, rule);
}

}  // namespace

std::optional<Instant> TrafficField::due() const {
  if (recent_.seconds() >= due_from_) return Instant::min();
  return std::min(recent_.next_tick(), again_);
}

void TrafficField::say(std::vector<std::string>& words, Instant now) {
  recent_.tick(now);
  due_from_ = recent_.seconds() + 1;
  words.push_back(node_);
  words.push_back(counts());
  words.push_back(std::to_string(last_read_));
  words.push_back(std::to_string(RecentTraffic::kNodesMax));
  if (!adding_) return;
  words.push_back(std::to_string(adding_->second));
  words.push_back(adding_->from);
  words.push_back(adding_->from.empty() ? to_bytes(adding_->adder.sum()) : "");
}

// The counts of the last second, once. Redis may have them or not, if no answer has come.
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

// By ten seconds, so that a rule that is busy now and then does not come and go.
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
  if (taken == 1) taken_ = *redis_us / kSecondUs - 1;
  follow_clock(*redis_us, now);
  add_piece(told[2]);
  const std::int64_t read_before = last_read_;
  for (std::size_t i = 3; i + 1 < told.size(); i += 2) {
    const auto second = told[i].integer();
    const bool has_been = second >= 0 && second <= *redis_us / kSecondUs;
    if (second && has_been) learn(*second, told[i + 1], now);
  }
  // The answer had no room for all.
  const bool lacks = last_read_ < *redis_us / kSecondUs - 2;
  again_ = lacks ? now + kAddedUpIn : Instant::max();
  if ((lacks && last_read_ > read_before) || adding_) due_from_ = 0;
  return {};
}

// A slow answer makes Redis's clock look late: so the lead falls slowly, unless the clock has been
// set.
void TrafficField::follow_clock(std::int64_t redis_us, Instant now) {
  const Duration seen = instant_from_epoch_us(redis_us) - now;
  const bool is_late = lead_ && seen < *lead_ && seen > *lead_ - kLateMax;
  lead_ = is_late ? std::max(seen, *lead_ - kLeadFall) : seen;
  recent_.set_lead(*lead_);
  if (redis_us / kSecondUs >= last_read_) return;
  last_read_ = taken_ = 0;  // it has been set back
  recent_.forget_fleet(now);
}

// Without a piece there is nothing left to add up: all is said, or it took too long.
void TrafficField::add_piece(const resp::Reply& told) {
  const auto second = told[0].integer();
  if (!second || told.size() < 2) return adding_.reset();
  if (!adding_ || adding_->second != *second) adding_ = Adding{.second = *second, .from = {}};
  adding_->from = told[1].text() == "0" ? "" : told[1].text();
  each_pair(told, 2, [&](std::string_view name, std::string_view bytes) {
    if (const auto word = read_word(bytes)) adding_->adder.add(name, *word);
  });
}

std::optional<TrafficWord> TrafficField::read_word(std::string_view bytes) {
  auto word = traffic_word(bytes);
  if (!word) warn(Trouble::kUnreadable, "a node has written counts that this one cannot read");
  return word;
}

void TrafficField::learn(std::int64_t second, const resp::Reply& told, Instant now) {
  if (!told.is_list()) {
    last_read_ = second;
    return warn(Trouble::kRefused, told.text());
  }
  RecentTraffic::FleetSecond heard{.second = second};
  each_pair(told, 0, [&](std::string_view name, std::string_view bytes) {
    if (name.empty()) return learn_sum(bytes, heard);
    if (const auto word = read_word(bytes)) heard.nodes.push_back(node_second(name, *word));
  });
  const auto name_of = &RecentTraffic::NodeSecond::name;
  std::ranges::sort(heard.nodes, {}, name_of);
  const auto twice = std::ranges::unique(heard.nodes, {}, name_of);
  heard.nodes.erase(twice.begin(), twice.end());
  if (!heard.large) heard.has_self = std::ranges::count(heard.nodes, node_, name_of) > 0;
  recent_.hear(std::move(heard), now);
  last_read_ = second;
}

// A word that Redis has taken is in the sum.
void TrafficField::learn_sum(std::string_view bytes, RecentTraffic::FleetSecond& heard) {
  const auto sum = traffic_sum(bytes);
  if (!sum) return warn(Trouble::kUnreadable, "a node has written sums that this one cannot read");
  heard.nodes.clear();
  for (std::size_t i = 0; i < sum->groups.size(); ++i) {
    heard.nodes.push_back(node_second("group " + std::to_string(i), sum->groups[i]));
  }
  heard.has_self = heard.second <= taken_;
  heard.large = LargeFleet{.nodes = sum->nodes, .first = sum->first};
}

// Rules that this node does not know count in the node's totals, and not as rules.
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
  listener_.warn_once(warned_[static_cast<std::size_t>(trouble)],
                      "the figures of the fleet's traffic are not complete: " + std::string(why));
}

}  // namespace weir
