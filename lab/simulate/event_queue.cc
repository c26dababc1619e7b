#include "simulate/event_queue.h"

#include <algorithm>

namespace weir::sim {

std::uint32_t EventQueue::add(Happening& what) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  places_[place] = {.what = &what};
  return place;
}

void EventQueue::remove(std::uint32_t place) {
  places_[place] = {};
  free_.push_back(place);
}

void EventQueue::set(std::uint32_t place, Instant when) {
  Place& at = places_[place];
  at.when = std::max(when, now_);
  if (at.when < at.entry_when) push(place);
}

void EventQueue::push(std::uint32_t place) {
  Place& at = places_[place];
  at.entry = ++orders_;
  at.entry_when = at.when;
  entries_.push_back({.when = at.when, .order = at.entry, .place = place});
  std::ranges::push_heap(entries_, std::greater());
}

bool EventQueue::step(Instant end) {
  while (!entries_.empty() && entries_.front().when <= end) {
    const Entry entry = entries_.front();
    std::ranges::pop_heap(entries_, std::greater());
    entries_.pop_back();
    Place& at = places_[entry.place];
    if (at.entry != entry.order) continue;
    at.entry = 0;
    at.entry_when = Instant::max();
    if (at.when > entry.when) {
      if (at.when != Instant::max()) push(entry.place);
      continue;
    }
    now_ = entry.when;
    ++happened_;
    at.when = Instant::max();
    at.what->happen(now_);
    return true;
  }
  now_ = std::max(now_, end);
  return false;
}

}  // namespace weir::sim
