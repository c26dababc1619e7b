#include "rules/traffic_rules.h"

#include <algorithm>

#include "base/assert.h"

namespace weir {
namespace {

bool any_matches(const std::vector<TextPattern>& patterns, std::string_view text) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const TextPattern& pattern) {
           return pattern.matches(text);
         });
}

bool headers_match(const std::vector<HeaderMatch>& headers, const Request& request) {
  return std::ranges::all_of(headers, [&](const HeaderMatch& wanted) {
    const auto value = request.header(wanted.name);
    return value && wanted.value.matches(*value);
  });
}

bool client_matches(const std::vector<IpPrefix>& clients, const std::optional<IpAddress>& client) {
  if (clients.empty()) return true;
  return client && std::ranges::any_of(
                       clients, [&](const IpPrefix& prefix) { return prefix.contains(*client); });
}

bool holds(const RequestMatch& match, const Request& request) {
  if (!match.methods.empty() && !std::ranges::count(match.methods, request.method)) return false;
  return any_matches(match.paths, request.path) && client_matches(match.clients, request.client) &&
         headers_match(match.headers, request) && any_matches(match.hosts, request.host);
}

bool has_only_exact_paths(const RequestMatch& match) {
  return !match.paths.empty() && std::ranges::all_of(match.paths, &TextPattern::is_exact);
}

// Goes through two lists that are each in the order of the file, in that order.
template <typename Candidates, typename Visit>
void merge(const Candidates& one, const Candidates& other, Visit visit) {
  auto next = one.begin();
  auto next_other = other.begin();
  while (next != one.end() || next_other != other.end()) {
    const bool take_one =
        next_other == other.end() || (next != one.end() && next->order < next_other->order);
    visit(take_one ? *next++ : *next_other++);
  }
}

}  // namespace

TrafficRules::TrafficRules(std::span<const Rule> rules) {
  std::unordered_map<std::string_view, std::uint32_t> groups;
  std::uint32_t order = 0;
  for (const Rule& rule : rules) {
    if (!rule.match || !rule.enabled) continue;
    const auto group = static_cast<std::uint32_t>(groups.size());
    const Candidate candidate{.rule = &rule,
                              .order = order++,
                              .group = groups.try_emplace(rule.group, group).first->second};
    if (!has_only_exact_paths(*rule.match)) {
      others_.push_back(candidate);
      continue;
    }
    for (const TextPattern& path : rule.match->paths) {
      Candidates& here = by_path_[path.text];
      if (here.empty() || here.back().rule != &rule) here.push_back(candidate);
    }
  }
  WEIR_ASSERT(groups.size() <= kGroupsMax);
}

std::span<const Rule*> TrafficRules::match(const Request& request, MatchedRules& matched) const {
  static const Candidates kNobody;
  const auto by_path = by_path_.find(request.path);
  std::size_t count = 0;
  std::uint32_t groups_done = 0;  // a bit a group
  merge(by_path == by_path_.end() ? kNobody : by_path->second, others_,
        [&](const Candidate& candidate) {
          const std::uint32_t bit = std::uint32_t{1} << candidate.group;
          if ((groups_done & bit) != 0 || !holds(*candidate.rule->match, request)) return;
          groups_done |= bit;
          matched[count++] = candidate.rule;
        });
  return {matched.data(), count};
}

}  // namespace weir
