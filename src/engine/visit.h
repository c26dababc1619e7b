// Visit: a request whose answer is not there yet, and is handled again when it is.
//
// Handlers ask and format in one go, as if every store answered at once. If one does not,
// what the handler has written is thrown away, and the same bytes are handled again when
// the store has answered. The visit remembers what was asked and answered: asked the same
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
// A request that goes away is charged all the same, but not in parts: those are given back.
//
// Thread rule: one core. Tested by visit_test.cc and asks_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/waker.h"
#include "engine/engine.h"

namespace weir {

class Abandoned;

class Visit {
 public:
  enum class Progress : std::uint8_t { kAnswered, kUnavailable, kWaits };
  // A part charges for a decision of which others have a part as well.
  enum class Share : std::uint8_t { kWhole, kPart };

  // Parts that are left behind go there.
  explicit Visit(std::shared_ptr<Abandoned> abandoned);
  // What is still asked is answered to nobody.
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // The request's next question: fill it, then ask() it.
  Check& next(Operation operation);
  // After kAnswered the decisions are in `answered`, also if it had been asked before.
  Progress ask(Store& store, const Check*& answered, Instant now, Share share = Share::kWhole,
               Instant give_up_at = Instant::max());
  // When the first question was asked; `now` if none has been.
  Instant begun(Instant now) const { return begun_.value_or(now); }
  // What parts have charged is not to be given back: it is decided, or is given back.
  void keep_parts();

  bool waits() const { return open_ > 0; }

  // Whether what is decided now has not been concluded before. To be asked once a decision.
  bool concludes_first();

 private:
  friend class Abandoned;
  friend class Engine;
  class Question;

  void rewind();
  void forget();
  void answer_came();

  Question* asked_before(const Store& store);

  const std::shared_ptr<Abandoned> abandoned_;
  std::vector<std::unique_ptr<Question>> questions_;  // in the order they were asked
  std::vector<std::unique_ptr<Question>> spare_;      // the last is being filled
  std::size_t first_unread_ = 0;                      // of questions_, since rewind()
  std::optional<Instant> begun_;
  std::size_t open_ = 0;        // asked, not answered
  std::size_t concluding_ = 0;  // decisions since rewind()
  std::size_t concluded_ = 0;   // decisions, ever
  Waker* waker_ = nullptr;      // of whom was told to wait
};

// What requests were charged in part when they went away.
class Abandoned {
 public:
  // `on_first` is called when there is something to give back.
  explicit Abandoned(std::function<void()> on_first = {});
  ~Abandoned();

  // Sends it back to where it was charged; whether it arrives nobody waits for.
  void give_back(Instant now);

 private:
  friend class Visit;

  void add(std::unique_ptr<Visit::Question> part);

  const std::function<void()> on_first_;
  std::vector<std::unique_ptr<Visit::Question>> parts_;
};

}  // namespace weir
