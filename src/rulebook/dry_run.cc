#include "rulebook/dry_run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/duration_text.h"
#include "config/rules/rule_config.h"
#include "rulebook/court.h"

namespace weir {
namespace {

constexpr std::array kPercentsOfTheLimit = {10, 20,  30,  40,  50,  60,  70,  80,
                                            90, 100, 125, 150, 200, 300, 500, 1000};

// How long ago what was spent may still count.
Duration reach_of(const Rule& rule) {
  Duration longest{0};
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    for (const Quota& quota : limits) {
      const double fill = static_cast<double>(quota.capacity()) /
                          static_cast<double>(std::max<std::int64_t>(1, quota.limit()));
      const auto window = static_cast<double>(quota.window().count()) * std::max(1.0, fill);
      longest = std::max(longest, Duration{static_cast<std::int64_t>(window)});
    }
  });
  return longest;
}

Ask::Counting counting_of(Operation operation) {
  if (operation == Operation::kCharge) return Ask::Counting::kAlways;
  return operation == Operation::kDrain ? Ask::Counting::kOrWhatIsLeft : Ask::Counting::kIfItFits;
}

// As the court knows a key: by what is remembered of it (engine/asks/conclude.cc).
using CourtKey = std::array<char, sizeof(RecentAsk::key)>;

// The rule for keys that it denies, and for those that it spares. No key has its text, so the rule
// has no lists. `hasher`: null where no key with limits of its own is remembered.
RuleSetPtr court_rules(const Rule& rule, const KeyHasher* hasher) {
  std::vector<Rule> rules(1);
  rules[0] = {.id = rule.id, .quota = rule.quota, .limits = rule.limits, .tiers = rule.tiers};
  rules[0].denial = rule.denial;
  rules[0].calendar = rule.calendar;
  rules[0].is_proportional = rule.is_proportional;
  rules[0].enabled = rule.enabled;
  rules[0].effect = rule.effect;
  rules[0].number = 0;
  for (const auto& [key, limits] : rule.overrides) {
    if (hasher == nullptr) break;
    const HashedName name = hasher->hash_names({.rule = {}, .bucket = {}, .key = key});
    const auto remembered = std::bit_cast<CourtKey>(name.key.low + name.bucket.low);
    rules[0].overrides.emplace(std::string(remembered.data(), remembered.size()), limits);
  }
  rules.push_back(rules[0]);
  rules[1].id += " spares";
  rules[1].shadow = true;
  return std::make_shared<const RuleSet>(std::move(rules));
}

class Replay {
 public:
  // Counts the asks from `from` on.
  Replay(std::vector<RecentAsk> asks, Instant from, std::size_t precise_keys,
         const KeyHasher* hasher)
      : asks_(std::move(asks)), from_(from), precise_keys_(precise_keys), hasher_(hasher) {
    for (const RecentAsk& ask : asks_) {
      keys_.push_back(numbers_.emplace(ask.key, numbers_.size()).first->second);
    }
  }

  // For each ask, whether the rule's counters deny it.
  std::vector<bool> denials_of(const Rule& rule) const;
  // Whether a denial of the ask lets pass.
  bool spares(const Rule& rule, std::size_t ask) const {
    return rule.shadow || asks_[ask].place >= rule.enforced_percent;
  }

  // Counts the asks that cost something and for which `is_one` holds.
  template <typename IsOne>
  DryRun::Count count(IsOne is_one) const {
    DryRun::Count count;
    std::vector<bool> is_seen(numbers_.size());
    for (std::size_t i = 0; i < asks_.size(); ++i) {
      if (asks_[i].at < from_ || asks_[i].cost <= 0 || !is_one(i)) continue;
      ++count.requests;
      count.keys += !is_seen[keys_[i]];
      is_seen[keys_[i]] = true;
    }
    return count;
  }

  DryRun::Outcome outcome(const Rule& rule, const std::vector<bool>& denied) const {
    return {.limit = rule.quota.limit(),
            .denied = count([&](auto i) { return denied[i] && !spares(rule, i); }),
            .spared = count([&](auto i) { return denied[i] && spares(rule, i); })};
  }
  DryRun::Outcome judged(const Rule& rule, const std::vector<bool>& denied) const {
    auto outcome = this->outcome(rule, denied);
    const auto exact = denials_of(made_exact(rule));
    outcome.too_early = count([&](auto i) { return denied[i] && !exact[i]; }).requests;
    return outcome;
  }

 private:
  const std::vector<RecentAsk> asks_;
  const Instant from_;
  const std::size_t precise_keys_;
  const KeyHasher* const hasher_;
  std::unordered_map<std::uint64_t, std::size_t> numbers_;  // of keys
  std::vector<std::size_t> keys_;                           // of each ask, by number
};

std::vector<bool> Replay::denials_of(const Rule& rule) const {
  std::vector<bool> denied(asks_.size());
  if (asks_.empty()) return denied;
  const MemoryStoreOptions memory{.max_keys = 1024 + 8 * numbers_.size(),
                                  .precise_keys = std::min(precise_keys_, numbers_.size())};
  Court court(court_rules(rule, hasher_), memory, asks_.front().at);
  const std::vector<Rule>& there = court.rules().rules();
  std::unordered_map<std::uint16_t, std::string_view> tiers;
  for (const auto& [name, limits] : rule.tiers) tiers.emplace(RecentAsk::tier_named(name), name);
  for (std::size_t i = 0; i < asks_.size(); ++i) {
    const RecentAsk& ask = asks_[i];
    const auto key = std::bit_cast<CourtKey>(ask.key);
    const auto tier = tiers.find(ask.tier);
    Asks& asks = court.begin();
    asks.add({.rule = &there[spares(rule, i) ? 1 : 0],
              .key = {key.data(), key.size()},
              .tier = tier == tiers.end() ? std::string_view() : tier->second,
              .cost = ask.cost,
              .counting = counting_of(ask.operation)});
    asks.decide(ask.at);
    denied[i] = asks.answer(0).over;
  }
  return denied;
}

// Nothing if a bucket would fill too slowly. A burst that nobody wrote is as high as the limit.
std::optional<Rule> with_limit(const Rule& rule, std::int64_t limit) {
  const Quota& old = rule.quota;
  const bool has_burst = old.capacity() != old.limit();
  auto quota = Quota::make({.algorithm = old.algorithm(),
                            .limit = limit,
                            .window = old.window(),
                            .burst = has_burst ? old.capacity() : 0});
  if (!quota) return std::nullopt;
  quota->share_calendar(old);
  Rule changed = rule;
  changed.quota = *quota;
  if (!changed.limits.empty()) changed.limits.front() = *quota;
  return changed;
}

std::vector<DryRun::Outcome> curve_of(const Replay& replay, const Rule& in_force,
                                      const Rule& wanted) {
  std::set<std::int64_t> limits{wanted.quota.limit(), in_force.quota.limit()};
  for (const int percent : kPercentsOfTheLimit) {
    const auto part = static_cast<double>(in_force.quota.limit()) * percent / 100;
    limits.insert(std::clamp<std::int64_t>(std::llround(part), 1, kLimitMax));
  }
  std::vector<DryRun::Outcome> curve;
  for (const std::int64_t limit : limits) {
    const auto rule = with_limit(wanted, limit);
    if (rule) curve.push_back(replay.outcome(*rule, replay.denials_of(*rule)));
  }
  return curve;
}

}  // namespace

DryRun dry_run(const RecentAsks& memory, const Rule& in_force, const Rule& wanted,
               const DryRunTerms& terms, Instant now) {
  DryRun run{.rule = in_force.id};
  const Duration reach = std::max(reach_of(in_force), reach_of(wanted));
  auto found = memory.of(in_force.number, now - terms.over - reach, terms.asks_max, now);
  const Instant since = std::max(found.since, terms.since);
  const bool are_all = found.are_all && terms.since <= found.since;
  const Instant from = std::max(now - terms.over, are_all ? since : since + reach);
  if (now - since <= reach) {
    run.unknown = "Its windows reach back " + format_duration(reach) + ", and the memory " +
                  format_duration(std::chrono::floor<std::chrono::seconds>(now - since)) + ".";
    return run;
  }
  std::erase_if(found.asks, [&](const RecentAsk& ask) { return ask.at < since; });
  const Replay replay(std::move(found.asks), from, terms.precise_keys, memory.hasher());
  const auto before = replay.denials_of(in_force);
  const auto after = replay.denials_of(wanted);
  run.over = now - from;
  run.one_key_of = std::uint64_t{1} << found.shift;
  run.asked = replay.count([](auto) { return true; });
  run.in_force = replay.judged(in_force, before);
  run.wanted = replay.judged(wanted, after);
  const auto denied_before = [&](auto i) { return before[i] && !replay.spares(in_force, i); };
  const auto denied_after = [&](auto i) { return after[i] && !replay.spares(wanted, i); };
  run.newly_denied = replay.count([&](auto i) { return denied_after(i) && !denied_before(i); });
  run.newly_allowed = replay.count([&](auto i) { return denied_before(i) && !denied_after(i); });
  if (terms.curve != DryRunTerms::Curve::kNone) run.curve = curve_of(replay, in_force, wanted);
  return run;
}

}  // namespace weir
