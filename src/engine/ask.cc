#include "engine/ask.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace weir {
namespace {

// The largest, if the request repeats it.
std::int64_t cost_of(const Rule& rule, const Request& request) {
  if (!rule.cost_from) return rule.cost;
  std::int64_t cost = 1;
  PartScratch scratch{};
  for_each_value(*rule.cost_from, request, scratch,
                 [&](std::string_view text) { cost = std::max(cost, cost_in(text)); });
  return cost;
}

}  // namespace

std::int64_t cost_in(std::string_view text) {
  std::int64_t cost = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  if (end != text.data() + text.size() || text.empty()) return 1;
  if (error == std::errc::result_out_of_range) return text.front() == '-' ? 1 : kCostMax;
  return std::clamp<std::int64_t>(cost, 1, kCostMax);
}

Ask ask_about(const Rule& rule, const Request& request, std::string& key, PartScratch& tier) {
  Ask ask{.rule = &rule,
          .key = key_of(rule, request, key),
          .client = request.client,
          .key_origin = Ask::KeyOrigin::kRequest,
          .cost = cost_of(rule, request)};
  if (rule.tier) ask.tier = part_text(*rule.tier, request, tier);
  return ask;
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
