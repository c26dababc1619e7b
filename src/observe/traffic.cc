#include "observe/traffic.h"

#include <numeric>

namespace weir {
namespace {

std::int64_t epoch_s(Instant instant) noexcept {
  return std::chrono::floor<std::chrono::seconds>(instant.time_since_epoch()).count();
}

std::uint64_t sum(const std::array<std::uint64_t, kDecidingAlgorithmCount>& counts) noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

std::uint64_t TrafficSummary::total_allowed() const { return sum(allowed); }
std::uint64_t TrafficSummary::total_denied() const { return sum(denied); }

void CoreTraffic::record(const Decision& decision, Algorithm algorithm, Instant now) noexcept {
  const auto index = static_cast<std::size_t>(algorithm);
  (decision.allowed() ? allowed_ : denied_)[index].add();

  const std::int64_t second_now = epoch_s(now);
  Second& second = seconds_[static_cast<std::uint64_t>(second_now) % kSeconds];
  if (second.epoch_s.load(std::memory_order_relaxed) != second_now) second.begin(second_now);
  second.requests.add();
  if (!decision.allowed()) second.denied.add();
}

// A reader that sees the old counts under the new name would report a second twice. So the name
// goes first and comes last: the fence pairs with the one in counts_of(), the release with the
// acquire there.
void CoreTraffic::Second::begin(std::int64_t second) noexcept {
  epoch_s.store(kNoSecond, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  requests.clear();
  denied.clear();
  epoch_s.store(second, std::memory_order_release);
}

TrafficCounts CoreTraffic::counts_of(std::int64_t second) const noexcept {
  const Second& slot = seconds_[static_cast<std::uint64_t>(second) % kSeconds];
  if (slot.epoch_s.load(std::memory_order_acquire) != second) return {};
  const TrafficCounts counts{.requests = slot.requests.read(), .denied = slot.denied.read()};
  std::atomic_thread_fence(std::memory_order_acquire);
  // It was begun again during this: the asked second is too old.
  if (slot.epoch_s.load(std::memory_order_relaxed) != second) return {};
  return counts;
}

Traffic::Traffic(std::span<CoreTraffic> cores, std::size_t own_first) : cores_(cores, own_first) {
  for (const CoreTraffic& core : cores) rules_.add_core(core.rules_);
}

CoreTraffic& Traffic::add_core() {
  CoreTraffic& core = cores_.add();
  if (keeps_key_texts_) {
    core.rules_.keep_texts();
    core.denials_.keep_texts();
  }
  if (!cores_.is_given()) rules_.add_core(core.rules_);
  return core;
}

TrafficSummary Traffic::summary(Instant now) const {
  TrafficSummary summary;
  CountedSeconds all{.seconds = TrafficWindow::kSeconds};
  CountedSeconds latest{.seconds = TrafficWindow::kLatest};
  const std::int64_t second_now = epoch_s(now);
  cores_.each([&](const CoreTraffic& core) {
    for (std::size_t i = 0; i < kDecidingAlgorithmCount; ++i) {
      summary.allowed[i] += core.allowed_[i].read();
      summary.denied[i] += core.denied_[i].read();
    }
    summary.looks += core.looks_.read();
    summary.store_errors += core.store_errors_.read();
    summary.fallbacks += core.fallbacks_.read();
    for (std::size_t age = 1; age <= all.seconds; ++age) {
      const TrafficCounts counts = core.counts_of(second_now - static_cast<std::int64_t>(age));
      all.counts += counts;
      if (age <= latest.seconds) latest.counts += counts;
    }
  });
  static_cast<TrafficRates&>(summary) = rates_of(all, latest);
  return summary;
}

}  // namespace weir
