// CheckQueue: checks of one key each that came together and are decided together.
//
// A door adds checks as it reads them, each with a note that says how to answer. It decides them
// when there are kMax, before it answers anything else, and before it returns to the event loop.
//
// Thread rule: one core. Tested by src/server/http/check/http_check_test.cc and
// src/server/resp/resp_session_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "base/assert.h"
#include "engine/asks/asks_pool.h"
#include "engine/asks/late_asks.h"

namespace weir {

template <typename Note>
class CheckQueue {
 public:
  static constexpr std::size_t kMax = Batch::kChargesMax;

  using Notes = std::array<Note, kMax>;

  // The pool must outlive the queue.
  explicit CheckQueue(AsksPool& pool) : pool_(pool) {}

  bool empty() const { return asks_ == nullptr || asks_->empty(); }
  bool is_full() const { return asks_ != nullptr && asks_->size() == kMax; }
  // False if one batch would not charge in the order of the asks: charges that stand apart come
  // first.
  bool keeps_order(const Ask& ask) const { return empty() || ask.own_operation() == operation_; }
  // REQUIRES: !is_full(), keeps_order(ask)
  void add(const Ask& ask, const Note& note) {
    if (asks_ == nullptr) asks_ = pool_.take(Operation::kSpendEach);
    if (asks_->empty()) operation_ = ask.own_operation();
    notes_[asks_->size()] = note;
    const bool added = asks_->add(ask);
    WEIR_ASSERT(added);
  }

  // Forgets the queued checks: their connection has gone.
  void clear() { asks_.reset(); }

  // Decides the queued checks. `write(out, now, asks, notes)` writes the replies: at the end of the
  // line or, if the answers come later, in the place that the line keeps for them. Afterwards the
  // queue is empty, even if something throws.
  template <typename Line, typename Write>
  void flush(Line& line, Instant now, Write write) {
    using Out = typename Line::Out;
    if (empty()) return;
    AsksPtr asks = std::move(asks_);
    if (asks->decide(now) == Asks::Progress::kWaits) {
      const auto write_all = [write, notes = notes_](Out& out, Instant then, const Asks& decided) {
        write(out, then, decided, notes);
      };
      return line.park(late_reply<Out>(std::move(asks), write_all), now);
    }
    write(line.end(), now, std::as_const(*asks), notes_);
    asks->begin(Operation::kSpendEach);
    asks_ = std::move(asks);  // for the next checks
  }

 private:
  AsksPool& pool_;
  AsksPtr asks_;
  Operation operation_ = Operation::kSpendEach;
  Notes notes_;
};

// False if a store that the check needed could not answer.
inline bool is_answered(const Asks& asks, std::size_t index) {
  return asks.progress() == Asks::Progress::kAnswered ||
         asks.answer(index).cause != Answer::Cause::kCounted;
}

}  // namespace weir
