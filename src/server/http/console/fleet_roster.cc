#include "server/http/console/fleet_roster.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace weir {

using Scope = TrafficSnapshot::Scope;

std::vector<FleetRoster::News> FleetRoster::look(const TrafficSnapshot& traffic,
                                                 std::span<const NodeAbout> abouts,
                                                 std::int64_t alive, Instant now) {
  std::vector<News> news;
  if (traffic.scope != Scope::kFleet || traffic.newest == newest_) return news;
  newest_ = traffic.newest;
  for (auto& [name, known] : nodes_) ++known.silent;
  hear(traffic, alive, now, news);
  for (const NodeAbout& about : abouts) {
    if (const auto entry = nodes_.find(about.id); entry != nodes_.end()) {
      entry->second.about = about;
    }
  }
  for (News& one : news) one.title = nodes_[one.node].about.title;
  std::set<std::pair<std::string, std::string>> talking;
  std::set<std::pair<std::string, std::string>> silent;
  for (const auto& [name, known] : nodes_) {
    if (known.about.address.empty()) continue;
    (known.silent == 0 ? talking : silent).emplace(known.about.title, known.about.address);
  }
  for (auto entry = nodes_.begin(); entry != nodes_.end();) {
    auto& [name, known] = *entry;
    const std::pair place(known.about.title, known.about.address);
    if (known.silent >= kGoneSeconds && talking.contains(place)) {
      entry = nodes_.erase(entry);
      continue;
    }
    if (known.untold > 0 && (--known.untold == 0 || !known.about.title.empty())) {
      known.untold = 0;
      const Change change = silent.contains(place) ? Change::kRestarted : Change::kJoined;
      news.push_back({.change = change, .node = name, .title = known.about.title});
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

// The first second that is heard has nobody who joins.
void FleetRoster::hear(const TrafficSnapshot& traffic, std::int64_t alive, Instant now,
                       std::vector<News>& news) {
  const bool is_first = nodes_.empty();
  const auto talking = std::ranges::count(traffic.nodes, 0, &NodeTraffic::silent_seconds);
  for (const NodeTraffic& one : traffic.nodes) {
    const auto [entry, is_new] = nodes_.try_emplace(one.name);
    Known& known = entry->second;
    known.name = one.name;
    if (is_new && !is_first) known.untold = kGoneSeconds;
    if (known.is_gone) news.push_back({.change = Change::kReturned, .node = one.name});
    known.is_gone = false;
    known.silent = one.silent_seconds;
    if (known.silent == 0) known.seen = now;
    if (known.silent <= 1) known.has_left = known.silent == 1 && alive <= talking;
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
