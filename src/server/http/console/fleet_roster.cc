#include "server/http/console/fleet_roster.h"

#include <algorithm>
#include <iterator>

namespace weir {

using TrafficScope = TrafficSnapshot::Scope;

std::vector<FleetRoster::News> FleetRoster::look(const TrafficSnapshot& traffic,
                                                 std::span<const NodeAbout> abouts,
                                                 std::span<const RuleHold::Node> alive) {
  std::vector<News> news;
  if (traffic.scope != TrafficScope::kFleet || traffic.newest == newest_) return news;
  newest_ = traffic.newest;
  if (traffic.large) {
    nodes_.clear();
    return news;
  }
  for (auto& [name, known] : nodes_) ++known.silent;
  hear(traffic, alive, news);
  for (const NodeAbout& about : abouts) {
    if (const auto entry = nodes_.find(about.id); entry != nodes_.end()) {
      entry->second.about = about;
    }
  }
  for (News& one : news) one.title = nodes_[one.node].about.title;
  for (auto& [name, known] : nodes_) {
    if (known.untold == 0 || (--known.untold > 0 && known.about.title.empty())) continue;
    known.untold = 0;
    const bool is_again = std::ranges::any_of(
        nodes_, [&](const auto& other) { return replaces(known, other.second); });
    const Change change = is_again ? Change::kRestarted : Change::kJoined;
    news.push_back({.change = change, .node = name, .title = known.about.title});
  }
  for (auto entry = nodes_.begin(); entry != nodes_.end();) {
    auto& [name, known] = *entry;
    const auto heir = known.silent < kGoneSeconds
                          ? nodes_.end()
                          : std::ranges::find_if(nodes_, [&](const auto& other) {
                              return replaces(other.second, known);
                            });
    if (heir != nodes_.end()) {
      heir->second.is_heir = true;
      entry = nodes_.erase(entry);
      continue;
    }
    const bool is_news = known.silent > kGoneSeconds && !known.is_gone;
    known.is_gone = known.silent > kGoneSeconds;
    if (is_news) {
      const Change change = known.has_left ? Change::kLeft : Change::kGone;
      news.push_back({.change = change, .node = name, .title = known.about.title});
    }
    entry = is_news && known.has_left ? nodes_.erase(entry) : std::next(entry);
  }
  forget_some();
  return news;
}

// Whether `one` is `other`, started again. Nodes without an address may share a title: then a new
// node replaces one that was silent when it came.
bool FleetRoster::replaces(const Known& one, const Known& other) {
  if (one.silent > 0 || other.silent == 0 || one.about.title != other.about.title) return false;
  if (one.about.address != other.about.address) return false;
  if (!one.about.address.empty()) return true;
  return !one.about.title.empty() && !one.is_heir && one.first > other.seen;
}

// In the first second that is heard no node counts as new.
void FleetRoster::hear(const TrafficSnapshot& traffic, std::span<const RuleHold::Node> alive,
                       std::vector<News>& news) {
  const bool is_first = nodes_.empty();
  const Instant ended = Instant(std::chrono::seconds(traffic.newest + 1)) - traffic.lead;
  for (const NodeTraffic& one : traffic.nodes) {
    const auto [entry, is_new] = nodes_.try_emplace(one.name);
    Known& known = entry->second;
    known.name = one.name;
    if (is_new) known.first = ended;
    if (is_new && !is_first) known.untold = kGoneSeconds;
    if (known.is_gone) news.push_back({.change = Change::kReturned, .node = one.name});
    known.is_gone = false;
    known.silent = one.silent_seconds;
    if (known.silent == 0) known.seen = ended;
    if (known.silent <= 1 || is_new) {
      const bool is_alive = std::ranges::count(alive, one.name, &RuleHold::Node::name) > 0;
      known.has_left = known.silent > 0 && !alive.empty() && !is_alive;
    }
  }
}

void FleetRoster::forget_some() {
  const auto is_gone = [](const auto& entry) { return entry.second.is_gone; };
  const auto when = [&](const auto& entry) {
    return is_gone(entry) ? entry.second.seen : Instant::max();
  };
  while (std::ranges::count_if(nodes_, is_gone) > static_cast<std::ptrdiff_t>(kGoneMax)) {
    nodes_.erase(std::ranges::min_element(nodes_, {}, when));
  }
}

std::vector<FleetRoster::Absent> FleetRoster::absent(const TrafficSnapshot& traffic,
                                                     std::string_view own) const {
  std::vector<Absent> absent;
  for (const auto& [name, known] : nodes_) {
    const bool is_there = std::ranges::count(traffic.nodes, name, &NodeTraffic::name) > 0;
    if (name != own && !is_there) absent.push_back(known);
  }
  return absent;
}

}  // namespace weir
