#include "store/memory/time_ring.h"

#include <algorithm>
#include <new>

namespace weir {

void RingView::pop_front() noexcept {
  ring_.total -= at(0).units;
  --ring_.size;
  if (ring_.entries == nullptr) return;
  ring_.head = (ring_.head + 1) & (ring_.capacity - 1);
  if (ring_.capacity > kSmallest && ring_.size <= ring_.capacity / 4) {
    resize(ring_.capacity / 2);
  }
}

void RingView::push_back(algo::LogEntry entry) noexcept {
  ring_.total += entry.units;
  if (size() > 0 && at(size() - 1).at_us == entry.at_us) {
    at(size() - 1).units += entry.units;
    return;
  }
  if (size() == capacity() && !resize(std::max(2 * capacity(), kSmallest))) {
    const std::int64_t oldest_units = at(0).units;
    if (size() == 1) {
      entry.units += oldest_units;
    } else {
      at(1).units += oldest_units;
    }
    at(0).units = 0;  // they are in the total already, and stay there
    pop_front();
  }
  ++ring_.size;
  at(size() - 1) = entry;
}

void RingView::set(std::size_t index, algo::LogEntry entry) noexcept {
  ring_.total += entry.units - at(index).units;
  at(index) = entry;
}

void RingView::clear() noexcept {
  delete[] ring_.entries;
  budget_.change(ring_.capacity, 0);
  ring_ = TimeRing{};
}

// Moves the entries to a ring of another size. REQUIRES: they fit.
bool RingView::resize(std::size_t capacity) noexcept {
  if (!budget_.change(ring_.capacity, capacity)) return false;
  auto* entries = new (std::nothrow) algo::LogEntry[capacity];
  if (entries == nullptr) {
    budget_.change(capacity, ring_.capacity);
    return false;
  }
  for (std::size_t index = 0; index < size(); ++index) entries[index] = at(index);
  delete[] ring_.entries;
  ring_.entries = entries;
  ring_.capacity = static_cast<std::uint32_t>(capacity);
  ring_.head = 0;
  return true;
}

}  // namespace weir
