#include "store/redis/fleet/busiest_field.h"

#include <utility>

#include "store/redis/fleet/busiest_word.h"

namespace weir {

void BusiestField::say(std::vector<std::string>& words, Instant now) {
  has_asked_ = now >= next_;
  if (!has_asked_) return;
  next_ = now + kEvery;
  const RuleCounts::Most most{.rules = kBusiestRulesMax, .keys = kBusiestKeysMax};
  words.push_back(node_);
  words.push_back(std::to_string(FleetKeys::kKeptMax / std::chrono::seconds(1)));
  words.push_back(std::to_string(kNodesMax));
  words.push_back(std::to_string(kBusiestWordMax));
  words.push_back(to_bytes(counts_.busiest_rules(most, now)));
}

std::string BusiestField::hear(const resp::Reply& told, Instant now) {
  if (!std::exchange(has_asked_, false)) return {};
  if (!told.is_list()) {
    others_.set_trouble(told.text());
    return {};
  }
  std::vector<FleetKeys::Node> nodes;
  std::string_view node;
  bool is_name = true;
  for (const resp::Reply text : told) {
    if (is_name) {
      node = text.text();
    } else if (auto rules = busiest_word(text.text())) {
      nodes.push_back({.name = std::string(node), .rules = *std::move(rules)});
    }
    is_name = !is_name;
  }
  others_.replace(std::move(nodes), now);
  return {};
}

}  // namespace weir
