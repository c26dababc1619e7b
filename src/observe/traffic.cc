#include "observe/traffic.h"

#include <numeric>

namespace weir {
namespace {

constexpr std::int64_t kRateSeconds = 10;  // what the rates are taken over
constexpr std::int64_t kBurstSeconds = 2;  // what is compared with them

std::int64_t epoch_s(Instant instant) noexcept {
  return std::chrono::floor<std::chrono::seconds>(instant.time_since_epoch()).count();
}

std::uint64_t sum(const std::array<std::uint64_t, kDecidingAlgorithmCount>& counts) noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// The counts of the last seconds, of all cores.
struct Recent {
  std::uint64_t requests = 0;
  std::uint64_t denied = 0;
  std::uint64_t burst_requests = 0;
};

double per_second(std::uint64_t requests, std::int64_t seconds) noexcept {
  return static_cast<double>(requests) / static_cast<double>(seconds);
}

void summarize(const Recent& recent, TrafficSummary& summary) noexcept {
  if (recent.requests == 0) return;
  summary.requests_per_second = per_second(recent.requests, kRateSeconds);
  summary.denied_share = static_cast<double>(recent.denied) / static_cast<double>(recent.requests);
  summary.burst_ratio =
      per_second(recent.burst_requests, kBurstSeconds) / summary.requests_per_second;
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

// A reader that meets the old counts under the new name would report a second twice.
// So the name goes first and comes last: the fence pairs with the one in
// counts_of(), the release with the acquire there.
void CoreTraffic::Second::begin(std::int64_t second) noexcept {
  epoch_s.store(kNoSecond, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  requests.clear();
  denied.clear();
  epoch_s.store(second, std::memory_order_release);
}

CoreTraffic::SecondCounts CoreTraffic::counts_of(std::int64_t second) const noexcept {
  const Second& slot = seconds_[static_cast<std::uint64_t>(second) % kSeconds];
  if (slot.epoch_s.load(std::memory_order_acquire) != second) return {};
  const SecondCounts counts{.requests = slot.requests.read(), .denied = slot.denied.read()};
  std::atomic_thread_fence(std::memory_order_acquire);
  // Begun again while we read: too old to be asked about.
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
  Recent recent;
  const std::int64_t second_now = epoch_s(now);
  cores_.each([&](const CoreTraffic& core) {
    for (std::size_t i = 0; i < kDecidingAlgorithmCount; ++i) {
      summary.allowed[i] += core.allowed_[i].read();
      summary.denied[i] += core.denied_[i].read();
    }
    summary.looks += core.looks_.read();
    summary.store_errors += core.store_errors_.read();
    summary.fallbacks += core.fallbacks_.read();
    for (std::int64_t age = 1; age <= kRateSeconds; ++age) {
      const auto counts = core.counts_of(second_now - age);
      recent.requests += counts.requests;
      recent.denied += counts.denied;
      if (age <= kBurstSeconds) recent.burst_requests += counts.requests;
    }
  });
  summarize(recent, summary);
  return summary;
}

}  // namespace weir
