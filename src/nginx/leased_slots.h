// Slots on lease for requests through this worker: by rules with `of: concurrency` and `mode:
// leased`. The worker asks for each slot before it asks the request's other rules: if one slot is
// missing, nothing else is charged.
//
//   ask() ──> begin() ──> held ──────────────────────── give_back() ──> for the next request
//                └──────> waits for Redis ── held ──────────┘
//                            └── its request goes away: the slot is given back when it comes
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

// One slot of one request.
class RequestSlot final : public Waiting, Asks::Listener {
 public:
  // A request counts for at most so long. In a cluster only Redis knows its slot, which would else
  // stay with an nginx that was killed.
  static constexpr Duration kHold = std::chrono::hours(1);

  RequestSlot(LeasedSlots& slots, AsksPool& pool, AsksPtr asks)
      : slots_(slots), pool_(pool), asks_(std::move(asks)) {}

  // REQUIRES: let_stay() was not called
  const Asks& asks() const { return *asks_; }
  void begin(Instant now);
  bool waits() const {
    return has_begun_ && asks_ != nullptr && asks_->progress() == Asks::Progress::kWaits;
  }
  // The slot wakes `who` when it no longer waits. Null: its request has gone.
  void belong_to(Waiting* who) { who_ = who; }
  // REQUIRES: it does not wait any more
  bool lets_pass() const;
  // Its request passes: from now on only the slot's name is needed.
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

// The slots of one request.
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
  // A slot that the request did not get; null: it has all. REQUIRES: it waits for none
  const RequestSlot* missing() const;
  // The asks that decide about the request: those of a slot that it did not get. If it got all:
  // `rest`, its other asks, unless there are none. REQUIRES: as above
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

  // Adds a slot that RequestSlots::begin() asks for. Null: it is there already.
  Asks* ask(AsksPool& pool, const Ask& ask, const Request& request, RequestSlots& to);
  // Gives back the slots of a request that has ended.
  void give_back(RequestSlots& slots);
  // A request's answer refers to its asks. They can be read until this is called, whether the
  // request passes or ends.
  void forget_asks() { answered_.clear(); }

 private:
  friend class RequestSlot;
  void finish(const RequestSlot& slot);

  DueList& due_;
  const Clock& clock_;
  std::list<RequestSlot> left_;  // slots that wait although their requests have gone
  std::vector<AsksPtr> answered_;
};

}  // namespace weir::nginx
