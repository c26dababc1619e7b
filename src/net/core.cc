#include "net/core.h"

#include <malloc.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

namespace weir {
namespace {

// How long a sweep of all connections takes. Deadlines are kept to about this.
constexpr Duration kSweepRound = std::chrono::seconds(1);
constexpr Duration kSweepRoundDraining = std::chrono::milliseconds(100);
constexpr Duration kAskAgain = std::chrono::milliseconds(1);

// Makes the allocator return unused memory to the system, on a thread of its own: this may take a
// while.
void trim_memory() {
  try {
    std::thread([] { ::malloc_trim(0); }).detach();
  } catch (const std::system_error&) {  // next time
  }
}

}  // namespace

bool Core::listen(UniqueFd socket, Doorway doorway) {
  doorways_.push_back(std::move(doorway));
  listeners_.push_back(
      std::make_unique<Listener>(std::move(socket), doorways_.back(), connections_));
  return listeners_.back()->start();
}

// Sessions, factories and the lodger belong to this thread, so it also destroys them.
void Core::run(Lodger lodger) {
  lodger_ = std::move(lodger);
  ticker_->set(loop_.now() + kSweepRound);
  loop_.run();
  if (lodger_.end) lodger_.end();
  dialer_.reset_all();
}

void Core::open_doors() {
  if (phase_ != Phase::kClosed) return;
  phase_ = Phase::kServing;
  for (const auto& listener : listeners_) listener->resume();
}

void Core::tick(Instant now) {
  if (phase_ == Phase::kServing) {
    for (const auto& listener : listeners_) listener->resume();
  }
  dialer_.sweep();
  if (connections_.budget().take_back()) trim_memory();
  if (phase_ == Phase::kLeaving) return lodger_.leave() ? loop_.stop() : wait_for_lodger(now);
  const bool draining = phase_ == Phase::kDraining;
  auto next = now + connections_.sweep_some(draining ? kSweepRoundDraining : kSweepRound);
  if (draining) {
    if (connections_.empty() || now >= clients_until_) return cut_off_clients(now);
    next = std::min(next, clients_until_);
  }
  ticker_->set(next);
}

// A second drain may be less patient.
void Core::drain(Duration patience) {
  lodger_until_ = loop_.now() + patience;
  clients_until_ =
      lodger_until_ - (lodger_.leave ? std::min(kLeaveMax, patience / 10) : Duration{0});
  tick_soon();
  if (phase_ > Phase::kServing) return;
  phase_ = Phase::kDraining;
  for (const auto& listener : listeners_) listener->close();
  listeners_.clear();
  connections_.when_empty([this] { tick_soon(); });
  connections_.drain_all();
}

void Core::cut_off_clients(Instant now) {
  phase_ = Phase::kLeaving;
  cut_off_ = connections_.reset_all();
  lodger_until_ = std::min(lodger_until_, now + kLeaveMax);
  wait_for_lodger(now);
}

// Waits the first time, too, so that the last clients' work comes before leave().
void Core::wait_for_lodger(Instant now) {
  if (now >= lodger_until_ || !lodger_.leave) return loop_.stop();
  ticker_->set(now + kAskAgain);
}

}  // namespace weir
