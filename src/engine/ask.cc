#include "engine/ask.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace weir {
namespace {

// The largest cost, if the request repeats it.
std::int64_t cost_of(const Rule& rule, const Request& request) {
  if (!rule.cost_from) return rule.cost;
  std::int64_t cost = 1;
  PartScratch scratch{};
  for_each_value(*rule.cost_from, request, scratch,
                 [&](std::string_view text) { cost = std::max(cost, cost_in(text)); });
  return cost;
}

// The address for lists of networks: the client's, or the key if no client is known.
std::optional<IpAddress> address_of(const Ask& ask, std::string_view key) {
  return ask.client ? ask.client : IpAddress::parse(key);
}

}  // namespace

bool Ask::is_denied_by_name() const {
  if (choices != nullptr && choices->are_too_many()) return true;
  const KeyList& list = rule->deny;
  const auto holds = [&](std::string_view text) {
    return list.holds(text, address_of(*this, text));
  };
  return choices == nullptr ? holds(key) : std::ranges::any_of(choices->keys, holds);
}

bool Ask::is_allowed_by_name() const {
  const bool names_itself = key_origin == KeyOrigin::kRequest;
  return rule->allow.holds(key, names_itself ? client : address_of(*this, key));
}

std::int64_t cost_in(std::string_view text) {
  std::int64_t cost = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  if (end != text.data() + text.size() || text.empty()) return 1;
  if (error == std::errc::result_out_of_range) return text.front() == '-' ? 1 : kCostMax;
  return std::clamp<std::int64_t>(cost, 1, kCostMax);
}

void ask_about(const Rule& rule, const Request& request, std::string& key, PartScratch& tier,
               Ask& ask) {
  Repeats repeats = make_key(rule, request, key);
  ask.rule = &rule;
  ask.key = key;
  if (refuses(rule, request)) ask.key_state = Ask::KeyState::kRefused;
  ask.client = request.client;
  ask.key_origin = Ask::KeyOrigin::kRequest;
  ask.cost = cost_of(rule, request);
  if (request.named_tier) {
    ask.tier = *request.named_tier;
  } else if (rule.tier) {
    const auto name = one_value(*rule.tier, request, tier);
    if (!name) repeats = Repeats::kSomething;
    ask.tier = name.value_or(std::string_view());
  }
  if (repeats == Repeats::kSomething) ask.choices = key_choices(rule, request);
}

bool presses_more(const Decision& one, const Decision& other) {
  if (one.allowed() != other.allowed()) return !one.allowed();
  if (one.allowed()) return one.remaining < other.remaining;
  if (one.verdict != other.verdict) return one.verdict == Verdict::kNever;
  return one.retry_after > other.retry_after;
}

void number_rules(std::vector<Rule>& rules, RuleCounts& counts) {
  for (Rule& rule : rules) rule.number = counts.number_of(rule.id);
}

}  // namespace weir
