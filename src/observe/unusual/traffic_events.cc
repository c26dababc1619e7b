#include "observe/unusual/traffic_events.h"

#include <utility>

namespace weir {

std::shared_ptr<const TrafficEvent> TrafficEvents::add(TrafficEvent event) {
  const std::scoped_lock lock(mutex_);
  event.number = last_ + 1;
  auto added = std::make_shared<const TrafficEvent>(std::move(event));
  events_.push_back(added);
  last_ += 1;
  if (events_.size() > kEventsMax) events_.pop_front();
  const bool began = added->kind == TrafficEvent::Kind::kBegan;
  figures_.began += began;
  figures_.open += began;
  figures_.open -= added->kind == TrafficEvent::Kind::kEnded;
  return added;
}

TrafficEvents::Reply TrafficEvents::since(std::uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  Reply reply{.events = {}, .last = last_};
  if (number > last_) number = 0;
  for (const auto& event : events_) {
    if (event->number > number) reply.events.push_back(event);
  }
  return reply;
}

TrafficEvents::Figures TrafficEvents::figures() const {
  const std::scoped_lock lock(mutex_);
  return figures_;
}

}  // namespace weir
