#include "simulate/event_queue.h"

#include <algorithm>

namespace weir::sim {

std::uint32_t EventQueue::add(Happening& what) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(timers_.size()));
    timers_.emplace_back();
  }
  const std::uint32_t timer = free_.back();
  free_.pop_back();
  timers_[timer] = {.what = &what};
  return timer;
}

void EventQueue::remove(std::uint32_t timer) {
  timers_[timer] = {};
  free_.push_back(timer);
}

void EventQueue::set(std::uint32_t timer, Instant when) {
  Timer& at = timers_[timer];
  at.when = std::max(when, now_);
  if (at.when < at.entry_when) push(timer);
}

void EventQueue::push(std::uint32_t timer) {
  Timer& at = timers_[timer];
  at.entry = ++orders_;
  at.entry_when = at.when;
  entries_.push_back({.when = at.when, .order = at.entry, .timer = timer});
  std::ranges::push_heap(entries_, std::greater());
}

bool EventQueue::step(Instant end) {
  while (!entries_.empty() && entries_.front().when <= end) {
    const Entry entry = entries_.front();
    std::ranges::pop_heap(entries_, std::greater());
    entries_.pop_back();
    Timer& at = timers_[entry.timer];
    if (at.entry != entry.order) continue;
    at.entry = 0;
    at.entry_when = Instant::max();
    if (at.when > entry.when) {
      if (at.when != Instant::max()) push(entry.timer);
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
