#include "observe/keys/fleet_keys.h"

#include <utility>

namespace weir {

namespace {

void hide(KeyReport& report) {
  for (KeyEstimate& key : report.keys) key.text.clear();
}

}  // namespace

void FleetKeys::replace(std::vector<Node> nodes, Instant now) {
  for (Node& node : nodes) {
    for (RuleKeys& keys : node.rules) {
      if (texts_ == KeyTexts::kShown) continue;
      hide(keys.asked);
      hide(keys.denied);
    }
  }
  const std::scoped_lock lock(mutex_);
  nodes_ = std::move(nodes);
  heard_ = now;
  trouble_.clear();
}

void FleetKeys::set_trouble(std::string_view why) {
  const std::scoped_lock lock(mutex_);
  trouble_ = why;
}

std::vector<FleetKeys::Contribution> FleetKeys::of(std::string_view rule, KeysBy by,
                                                   Instant now) const {
  const std::scoped_lock lock(mutex_);
  std::vector<Contribution> said;
  if (now - heard_ > kKeptMax) return said;
  for (const Node& node : nodes_) {
    for (const RuleKeys& keys : node.rules) {
      if (keys.rule == rule) said.push_back({.node = node.name, .report = keys.by(by)});
    }
  }
  return said;
}

std::size_t FleetKeys::nodes(Instant now) const {
  const std::scoped_lock lock(mutex_);
  return now - heard_ > kKeptMax ? 0 : nodes_.size();
}

std::string FleetKeys::trouble() const {
  const std::scoped_lock lock(mutex_);
  return trouble_;
}

}  // namespace weir
