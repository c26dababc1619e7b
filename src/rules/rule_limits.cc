// Which limits of a rule are for whom.

#include "rules/rule.h"

namespace weir {

bool KeyList::holds(std::string_view key, const std::optional<IpAddress>& address) const {
  return keys.contains(key) || (address && contain(networks, *address));
}

std::span<const Quota> Rule::limits_for(std::string_view key, std::string_view tier_name) const {
  if (!overrides.empty()) {
    if (const auto found = overrides.find(key); found != overrides.end()) return found->second;
  }
  return limits_for_tier(tier_name);
}

std::span<const Quota> Rule::limits_for_tier(std::string_view tier_name) const {
  if (!tiers.empty()) {
    if (const auto found = tiers.find(tier_name); found != tiers.end()) return found->second;
  }
  return own_limits();
}

}  // namespace weir
