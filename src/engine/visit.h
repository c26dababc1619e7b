// Visit: a request whose answer is not there yet, and is handled again when it is.
//
// Handlers ask and format in one go, as if every store answered at once. If one does not,
// what the handler has written is thrown away, and the same bytes are handled again when
// the store has answered. The visit remembers what was asked and answered, in order: asked
// again, the request finds the answers, and goes on to its next question. So there is one
// way to handle a request, and no state machine but this.
//
//   engine.resume(visit)      from the beginning; handle; and then
//   engine.waits()            undo what was handled, keep engine.pause(waker), and handle it
//                             again when woken
//   else engine.settle()      it is answered: forget what was asked
//
// What is to happen once (figures, blocks) asks concludes_first().
// If the request is asked differently the second time, because rules have changed
// meanwhile, what it had charged stays charged: never too much is let pass.
//
// Thread rule: one core. Tested by visit_test.cc and asks_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/waker.h"
#include "engine/engine.h"

namespace weir {

class Visit {
 public:
  enum class Progress : std::uint8_t { kAnswered, kUnavailable, kWaits };

  Visit();
  // What is still asked is answered to nobody.
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // The request's next question: fill it, then ask() it.
  Check& next(Operation operation);
  // After kAnswered the decisions are in the check that next() returned, or in `answered`
  // if the question had been asked before.
  Progress ask(Store& store, const Check*& answered, Instant now);

  bool waits() const { return open_ > 0; }

  // Whether what is decided now has not been concluded before. To be asked once a decision.
  bool concludes_first();

 private:
  friend class Engine;
  class Question;

  void rewind();
  void forget();
  void answer_came();

  std::vector<std::unique_ptr<Question>> questions_;  // in the order they were asked
  std::vector<std::unique_ptr<Question>> spare_;      // the last is being filled
  std::size_t next_ = 0;                              // of questions_
  std::size_t open_ = 0;                              // asked, not answered
  std::size_t concluding_ = 0;                        // decisions since rewind()
  std::size_t concluded_ = 0;                         // decisions, ever
  Waker* waker_ = nullptr;                            // of whom was told to wait
};

}  // namespace weir
