// A reply to an admin request that another thread answers: parked until the outcome has come.
//
//   answer_later<RuleReply>(core, exchange,
//       [&](auto done) { desk.change(change, done, now); },           // calls done once, anywhere
//       [](const Recipient& to, const RuleReply& outcome) { ... });   // on the core of the request
//
// Thread rule: the core of HttpCore; `done` from any thread. Tested by http_rules_test.cc.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/late_reply.h"
#include "server/http/http_core.h"

namespace weir {

// It shares its Arrival with the message that brings the outcome to this core: either may be gone
// first.
template <typename Outcome>
class LateOutcome final : public LateReply<ReplySink> {
 public:
  using Write = std::function<void(const Recipient&, const Outcome&)>;

  struct Arrival {
    std::optional<Outcome> outcome;
    LateOutcome* waits = nullptr;

    void take(Outcome that) {
      outcome = std::move(that);
      if (waits != nullptr) waits->due();
    }
  };

  LateOutcome(const Recipient& to, Write write, std::shared_ptr<Arrival> arrival)
      : to_(to), write_(std::move(write)), arrival_(std::move(arrival)) {
    arrival_->waits = this;
  }
  ~LateOutcome() override { arrival_->waits = nullptr; }

 private:
  bool try_write(ReplySink& out, Instant now) override {
    write_(to_.at(out, now), *arrival_->outcome);
    return true;
  }

  const Recipient to_;
  const Write write_;
  const std::shared_ptr<Arrival> arrival_;
};

template <typename Outcome, typename Begin>
void answer_later(HttpCore& core, const Exchange& exchange, Begin begin,
                  typename LateOutcome<Outcome>::Write write) {
  const auto arrival = std::make_shared<typename LateOutcome<Outcome>::Arrival>();
  begin([arrival, post = core.post()](Outcome outcome) {
    post([arrival, outcome = std::move(outcome)] { arrival->take(outcome); });
  });
  if (arrival->outcome) return write(exchange, *arrival->outcome);
  exchange.line.park(std::make_unique<LateOutcome<Outcome>>(exchange, std::move(write), arrival),
                     exchange.now);
}

}  // namespace weir
