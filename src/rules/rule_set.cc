#include "rules/rule_set.h"

#include <map>
#include <utility>

#include "base/assert.h"
#include "base/nearest_name.h"
#include "rules/rule.h"

namespace weir {

RuleSet::RuleSet(std::vector<Rule> rules, RequestSources sources)
    : rules_(std::move(rules)),
      facts_(rules_, std::move(sources)),
      traffic_(rules_),
      descriptors_(rules_) {
  by_id_.reserve(rules_.size());
  for (const Rule& rule : rules_) {
    const bool fresh = by_id_.emplace(rule.id, &rule).second;
    WEIR_ASSERT(fresh);
  }
}

const Rule* RuleSet::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

std::span<const Rule*> RuleSet::match(Request& request, MatchScratch& scratch,
                                      Instant wall_time) const {
  facts_.complete(request, scratch.facts, wall_time);
  return traffic_.match(request, scratch.matched, scratch.regexes, wall_time);
}

std::span<const Rule*> RuleSet::match_path(std::string_view path, Request& request,
                                           MatchScratch& scratch, Instant wall_time) const {
  request.path = path;
  facts_.complete_path(request, scratch.facts);
  return traffic_.match(request, scratch.matched, scratch.regexes, wall_time);
}

const Rule* RuleSet::match(const Descriptor& descriptor) const {
  return descriptors_.find(descriptor);
}

bool RuleSet::has_domain(std::string_view domain) const { return descriptors_.has_domain(domain); }

std::string_view nearest_rule_id(const RuleSet& rules, std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Rule& rule : rules.rules()) ids.push_back(rule.id);
  return nearest_name(id, ids);
}

std::vector<std::string> descriptor_path(const DescriptorMatch& match) {
  std::vector<std::string> path = {match.domain};
  for (const DescriptorEntry& entry : match.entries) {
    path.push_back(entry.key);
    path.push_back(entry.value ? "=" + entry.value->text : "");
  }
  return path;
}

std::optional<std::string> descriptor_conflict(std::span<const Rule> rules) {
  std::map<std::vector<std::string>, const Rule*> seen;
  for (const Rule& rule : rules) {
    if (!rule.descriptor || rule.descriptor->entries.empty()) continue;
    const auto [first, fresh] = seen.emplace(descriptor_path(*rule.descriptor), &rule);
    if (fresh) continue;
    return "the rules '" + first->second->id + "' and '" + rule.id +
           "' are for the same descriptor; remove one of them";
  }
  return std::nullopt;
}

bool KeyList::holds(std::string_view key, const std::optional<IpAddress>& address) const {
  return keys.contains(key) || (address && contain(networks, *address));
}

std::span<const Quota> Rule::limits_by_name(std::string_view key,
                                            std::string_view tier_name) const {
  const auto found = overrides.find(key);
  return found != overrides.end() ? std::span(found->second) : limits_for_tier(tier_name);
}

// FNV-1a and the finalizer of MurmurHash3: small enough for the Worker, which must give the same.
std::int64_t Rule::place_of(std::string_view key) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  mix(id);
  mix(std::string_view("", 1));
  mix(key);
  for (const std::uint64_t factor : {0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53}) {
    hash = (hash ^ (hash >> 33)) * factor;
  }
  return static_cast<std::int64_t>((hash ^ (hash >> 33)) % 100);
}

std::span<const Quota> Rule::limits_of_tier(std::string_view tier_name) const {
  const auto found = tiers.find(tier_name);
  return found != tiers.end() ? std::span(found->second) : own_limits();
}

}  // namespace weir
