// CheckQueue: checks of one key each that have come together and are decided together.
//
// A door adds them as it reads them, each with a note that says how to answer, and decides
// them when there are kMax, before it answers anything else, and before control goes back to
// the event loop.
//
// Thread rule: one core. Tested by src/server/http/check/http_check_test.cc and
// src/server/resp/resp_session_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "base/assert.h"
#include "engine/asks_pool.h"

namespace weir {

template <typename Note>
class CheckQueue {
 public:
  static constexpr std::size_t kMax = Batch::kChargesMax;

  // Checks that are asked, and their notes.
  struct Round {
    AsksPtr asks;
    std::array<Note, kMax> notes;

    // False if a store was needed and could not answer.
    bool is_answered(std::size_t index) const {
      return asks->progress() == Asks::Progress::kAnswered ||
             asks->answer(index).cause != Answer::Cause::kCounted;
    }
  };

  // The pool must outlive the queue.
  explicit CheckQueue(AsksPool& pool) : pool_(pool) {}

  bool empty() const { return round_.asks == nullptr || round_.asks->empty(); }
  bool is_full() const { return round_.asks != nullptr && round_.asks->size() == kMax; }
  // REQUIRES: !is_full()
  void add(const Ask& ask, const Note& note) {
    if (round_.asks == nullptr) round_.asks = pool_.take(Operation::kSpendEach);
    round_.notes[round_.asks->size()] = note;
    const bool added = round_.asks->add(ask);
    WEIR_ASSERT(added);
  }

  // Forgets what is queued: its connection has gone.
  void clear() { round_.asks.reset(); }

  // Decides what is queued. What is answered at once is handed to `answer`, by reference, and
  // what is not to `wait`, by value. The queue is empty then, whatever they throw.
  template <typename Answered, typename Waits>
  void flush(Instant now, Answered answer, Waits wait) {
    if (empty()) return;
    Round round = std::move(round_);
    if (round.asks->decide(now) == Asks::Progress::kWaits) return wait(std::move(round));
    answer(std::as_const(round));
    round.asks->begin(Operation::kSpendEach);
    round_.asks = std::move(round.asks);  // for the next ones
  }

 private:
  AsksPool& pool_;
  Round round_;
};

}  // namespace weir
