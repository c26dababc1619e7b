#include "rulebook/tried_rules.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <string>
#include <utility>

#include "base/joined.h"

namespace weir {
namespace {

constexpr std::size_t kDryRunsMax = 16;

// Another value of these asks the same.
constexpr std::array kJudgedFields = {"algorithm",   "bound", "burst",   "enabled", "enforce",
                                      "limit",       "name",  "on_deny", "rollout", "shadow",
                                      "more_limits", "tiers", "window"};

// The fields of a rule that decide which requests it counts, by which key, at which cost.
boost::json::object what_asks(const RuleSource& rule, const RecentAsks& memory) {
  auto fields = boost::json::parse(rule.json).as_object();
  for (const char* const field : kJudgedFields) fields.erase(field);
  if (memory.hasher() != nullptr) fields.erase("overrides");
  return fields;
}

// The names of the fields in which they differ: "key, match".
std::string difference(boost::json::object one, const boost::json::object& other) {
  for (const auto& [name, value] : other) {
    const auto [place, is_new] = one.emplace(name, nullptr);
    if (!is_new && place->value() == value) one.erase(place);
  }
  return joined(one, ", ", [](const auto& field) { return std::string_view(field.key()); });
}

const RuleSource* find_rule(const std::vector<RuleSource>& rules, const std::string& id) {
  const auto found = std::ranges::find(rules, id, &RuleSource::id);
  return found == rules.end() ? nullptr : &*found;
}

// Before the first version nobody asked.
Instant asked_alike_since(const RuleSource& rule, const RuleHistory& history,
                          const RecentAsks& memory) {
  const auto asks = what_asks(rule, memory);
  Instant since = Instant::max();
  for (auto version = history.rbegin(); version != history.rend(); ++version) {
    const RuleSource* const then = find_rule((*version)->rules, rule.id);
    if (then == nullptr || what_asks(*then, memory) != asks) break;
    since = (*version)->version == 1 ? Instant::min() : (*version)->when;
  }
  return since;
}

DryRun dry_run_of(const RuleSource& wanted, const TriedRules& tried, const RulesBefore& before,
                  const RecentAsks* memory, DryRunTerms terms, Instant now) {
  const auto unknown = [&](auto why) { return DryRun{.rule = wanted.id, .unknown = why}; };
  if (memory == nullptr) return unknown("This node remembers no requests; see --remember.");
  const Rule* const in_force = before.rules.find(wanted.id);
  const RuleSource* const written = find_rule(before.sources, wanted.id);
  if (in_force == nullptr || written == nullptr || in_force->number == kNoRuleNumber) {
    return unknown("The rule is not in force, so no request has asked for it.");
  }
  const auto others = difference(what_asks(*written, *memory), what_asks(wanted, *memory));
  if (!others.empty()) {
    return unknown("It differs in " + others +
                   ". The node remembers hashed key, tier, cost and time of what the limits "
                   "decided, so nobody knows which requests would count.");
  }
  terms.since = asked_alike_since(*written, before.history, *memory);
  return dry_run(*memory, *in_force, *std::ranges::find(tried.rules, wanted.id, &Rule::id), terms,
                 now);
}

}  // namespace

std::vector<DryRun> dry_runs_of(const TriedRules& tried, const RulesBefore& before,
                                const RuleTrial& trial, const RecentAsks* memory, Instant now) {
  std::vector<RuleSource> wanted;
  for (const RuleSource& source : tried.sources) {
    const RuleSource* const written = find_rule(before.sources, source.id);
    const bool is_other = written == nullptr || *written != source;
    const bool is_wanted = trial.id.empty() ? is_other : source.id == trial.id;
    if (is_wanted && wanted.size() < kDryRunsMax) wanted.push_back(source);
  }
  std::vector<DryRun> runs;
  for (const RuleSource& each : wanted) {
    DryRunTerms terms{.over = trial.over,
                      .asks_max = DryRunTerms::kAsksMax / wanted.size(),
                      .precise_keys = trial.precise_keys};
    if (!trial.id.empty()) terms.curve = DryRunTerms::Curve::kAroundTheLimits;
    runs.push_back(dry_run_of(each, tried, before, memory, terms, now));
  }
  return runs;
}

}  // namespace weir
