// Slots on lease, for requests on their way through this worker: by rules with `of: concurrency`
// and `mode: leased`. Each is asked for by asks of its own, before the request's other rules are:
// where one is missing, nothing else is charged.
//
//   ask() ──> begin() ──> held ──────────────────────── give_back() ──> for the next request
//                └──────> waits for Redis ── held ──────────┘
//                            └── its request goes away: it is given back when it comes
//
// Thread rule: a worker's only thread. Tested by tests/nginx/leased_slots_test.py.

#pragma once

#include <algorithm>
#include <chrono>
#include <list>
#include <string>
#include <vector>

#include "engine/asks/asks.h"
#include "engine/asks/asks_pool.h"
#include "nginx/waiting.h"
#include "weir/clock.h"
#include "weir/time.h"

namespace weir::nginx {

class LeasedSlots;

// One, of one request.
class RequestSlot final : public Waiting, Asks::Listener {
 public:
  // A request counts for so long at most. What only Redis knows, as in a cluster, would else stay
  // with an nginx that was killed.
  static constexpr Duration kHold = std::chrono::hours(1);

  RequestSlot(LeasedSlots& slots, AsksPool& pool, AsksPtr asks)
      : slots_(slots), pool_(pool), asks_(std::move(asks)) {}

  // REQUIRES: nobody has called let_stay()
  const Asks& asks() const { return *asks_; }
  void begin(Instant now);
  bool waits() const {
    return has_begun_ && asks_ != nullptr && asks_->progress() == Asks::Progress::kWaits;
  }
  // It wakes `who` when it waits no more. Null: its request has gone.
  void belong_to(Waiting* who) { who_ = who; }
  // REQUIRES: it waits no more
  bool lets_pass() const;
  // Its request passes: all that is needed from now on is the slot's name.
  void let_stay(Instant now);
  void give_back(Instant now);

 private:
  void decided() noexcept override;
  void resume() override;

  LeasedSlots& slots_;
  AsksPool& pool_;
  AsksPtr asks_;
  std::string token_;
  Waiting* who_ = nullptr;
  bool has_begun_ = false;
};

// Those of one request.
class RequestSlots {
 public:
  bool empty() const { return slots_.empty(); }
  void begin(Instant now) {
    for (RequestSlot& slot : slots_) slot.begin(now);
  }
  bool wait() const { return std::ranges::any_of(slots_, &RequestSlot::waits); }
  void belong_to(Waiting& who) {
    for (RequestSlot& slot : slots_) slot.belong_to(&who);
  }
  // One that it did not get; null: it has all. REQUIRES: it waits for none
  const RequestSlot* missing() const;
  // The asks that decide about the request: those of a slot that it did not get, or all others,
  // `rest`, unless they are none. REQUIRES: as above
  const Asks& deciding(const Asks& rest) const;
  void let_stay(Instant now) {
    for (RequestSlot& slot : slots_) slot.let_stay(now);
  }

 private:
  friend class LeasedSlots;
  std::list<RequestSlot> slots_;
};

class LeasedSlots {
 public:
  // Both outlive this.
  LeasedSlots(DueList& due, const Clock& clock) : due_(due), clock_(clock) {}

  // Adds a slot that RequestSlots::begin() asks for, unless it is there. `passes`: its request,
  // whatever the answer is.
  void ask(AsksPool& pool, const Ask& ask, const Request& request, bool passes, RequestSlots& to);
  // Those of a request that has ended.
  void give_back(RequestSlots& slots);
  // What was said of a request refers to its asks. Until this is called they can be read, whether
  // it passes or ends.
  void forget_asks() { answered_.clear(); }

 private:
  friend class RequestSlot;
  void finish(const RequestSlot& slot);

  DueList& due_;
  const Clock& clock_;
  std::list<RequestSlot> left_;  // they wait, and their requests have gone
  std::vector<AsksPtr> answered_;
};

}  // namespace weir::nginx
