// Trips: the batches of one request that are under way to stores.
//
//   Trip& trip = trips.next(members, mode, operation);   filled with charges
//   trips.send(trip, store, now);                        answered now or later
//   if (trips.are_open()) ...                            the asker hears when all have answers
//   for (const auto& trip : trips.take()) ...            they are read
//
// Thread rule: one core; reused, so that asking allocates nothing once it has grown.
// Tested by asks_test.cc and asks_modes_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/asks/plan.h"
#include "engine/engine.h"
#include "weir/holding_store.h"

namespace weir {

class Trips {
 public:
  // One batch to the store of a mode.
  class Trip final : public KeptBatch {
   public:
    explicit Trip(Trips& trips) : trips_(trips) {}

    void begin(Members members, Mode mode, Operation operation) {
      std::ranges::copy(members, members_.begin());
      size_ = members.size();
      mode_ = mode;
      operation_ = operation;
      KeptBatch::begin(operation, [](KeptBatch& batch) noexcept {
        static_cast<Trip&>(batch).trips_.answered();
      });
    }

    std::span<HoldingStore::Held> held() { return std::span(held_).first(KeptBatch::size()); }
    void tell_held(Round& round) const {
      const HoldingStore::Held* held = held_.data();
      for (const std::uint8_t index : members()) {
        round[index].held = *held;
        held += round[index].limits.size();
      }
    }

    Members members() const { return Members(members_).first(size_); }
    Mode mode() const { return mode_; }
    Operation operation() const { return operation_; }

   private:
    Trips& trips_;
    std::array<std::uint8_t, Batch::kChargesMax> members_{};
    std::array<HoldingStore::Held, Batch::kChargesMax> held_{};
    std::size_t size_ = 0;
    Mode mode_ = Mode::kStrict;
    Operation operation_ = Operation::kSpendEach;
  };

  // Both must outlive this.
  Trips(Engine& engine, Engine::Asker& asker) : engine_(engine), asker_(asker) {}

  // Forgets earlier trips. A store of this place has its patience from now on.
  void begin(Instant now) {
    used_ = 0;
    has_failed_ = false;
    if (engine_.fleet() != nullptr) give_up_at_ = now + engine_.fleet()->patience();
  }
  // So that next() needs no memory.
  void make_room() {
    if (used_ == trips_.size()) trips_.push_back(std::make_unique<Trip>(*this));
  }
  // A trip without charges; send() comes next.
  Trip& next(Members members, Mode mode, Operation operation) {
    make_room();
    trips_[used_]->begin(members, mode, operation);
    return *trips_[used_++];
  }
  // Only operations that give units back, or reset, wait for the Redis of all places.
  void send(Trip& trip, Store& store, Instant now) {
    const bool is_world = trip.mode() == Mode::kWorld;
    ++open_;
    trip.decide(store, now, is_world ? now + engine_.world->patience() : give_up_at_);
  }
  // Sends several. Answers that come now are read once all are sent.
  template <typename Send>
  void send_all(Send send) {
    struct Sending {
      bool& goes_on;
      ~Sending() { goes_on = false; }
    } sending{is_sending_};
    is_sending_ = true;
    send();
  }
  // The last trip is not read: it failed at once, and its members go another way.
  void drop_last() { --used_; }

  bool are_open() const { return open_ > 0; }
  // Returns each trip that was sent, once. REQUIRES: none is open
  std::span<const std::unique_ptr<Trip>> take() {
    return std::span(trips_).first(std::exchange(used_, 0));
  }

  // Nothing can stand in for a store that has failed.
  void fail() { has_failed_ = true; }
  bool has_failed() const { return has_failed_; }

 private:
  void answered() noexcept {
    if (--open_ == 0 && !is_sending_) engine_.answer_came(asker_);
  }

  Engine& engine_;
  Engine::Asker& asker_;
  std::vector<std::unique_ptr<Trip>> trips_;  // those under way, and spare ones
  std::size_t used_ = 0;
  std::size_t open_ = 0;  // sent and not answered
  Instant give_up_at_{};
  bool has_failed_ = false;
  bool is_sending_ = false;
};

using Trip = Trips::Trip;

}  // namespace weir
