#include "net/core.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// How long a look at all connections takes. Deadlines are kept to about this.
constexpr Duration kSweepRound = std::chrono::seconds(1);
constexpr Duration kSweepRoundDraining = std::chrono::milliseconds(100);

}  // namespace

bool Core::listen(UniqueFd socket, Doorway doorway) {
  doorways_.push_back(std::move(doorway));
  listeners_.push_back(
      std::make_unique<Listener>(std::move(socket), doorways_.back(), connections_));
  return listeners_.back()->start();
}

void Core::use_admission(const std::shared_ptr<const Admission>& admission) {
  for (auto& doorway : doorways_) doorway.admission = admission;
}

void Core::run(const std::function<void()>& last) {
  ticker_->set(loop_.now() + kSweepRound);
  loop_.run();
  // Sessions and factories belong to this thread, so their last moments do, too.
  listeners_.clear();
  cut_off_ = connections_.reset_all();
  last();
  dialer_.reset_all();
}

void Core::tick(Instant now) {
  for (const auto& listener : listeners_) listener->resume();
  dialer_.sweep();
  auto next = now + connections_.sweep_some(draining_ ? kSweepRoundDraining : kSweepRound);
  if (draining_) {
    if (now >= drain_deadline_) return end_drain();
    next = std::min(next, drain_deadline_);
  }
  ticker_->set(next);
}

void Core::drain(Duration patience) {
  draining_ = true;
  drain_deadline_ = loop_.now() + patience;
  for (const auto& listener : listeners_) listener->close();
  listeners_.clear();
  connections_.when_empty([this] { end_drain(); });
  connections_.drain_all();
  if (connections_.empty()) return end_drain();
  ticker_->set(loop_.now());
}

void Core::end_drain() { loop_.stop(); }

}  // namespace weir
