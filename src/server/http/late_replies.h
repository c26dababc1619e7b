// Replies of the HTTP door that come later (base/late_reply.h): what is asked, and what
// writes the reply.
//
// A reply that waits keeps the rules that it began with, whatever is in force meanwhile.
//
// Thread rule: one core. Tested by http_wait_test.cc.

#pragma once

#include <memory>
#include <utility>

#include "engine/late_asks.h"
#include "server/http/http_core.h"

namespace weir {

// `Asked` is AsksPtr, or something else with decide(), go_on() and listen().
template <typename Asked, typename Write>
class LateDecision final : public LateAsks<ReplySink> {
 public:
  LateDecision(HttpCore& core, const Recipient& to, Asked asked, Write write)
      : core_(core),
        rules_(core.rules_),
        to_(to),
        asked_(std::move(asked)),
        write_(std::move(write)) {
    asked_->listen(*this);
  }

 private:
  bool try_write(ReplySink& out, Instant now) override {
    if (asked_->go_on(now) == Asks::Progress::kWaits) {
      asked_->listen(*this);
      return false;
    }
    to_.out = &out;
    to_.now = now;
    if (out.closes()) to_.after = AfterReply::kClose;
    write_(core_, to_, *asked_);
    return true;
  }

  HttpCore& core_;
  const RuleSetPtr rules_;  // which what is asked refers to
  Recipient to_;
  Asked asked_;
  Write write_;
};

// The checks that were decided together.
class LateRound final : public LateAsks<ReplySink> {
 public:
  LateRound(HttpCore& core, HttpCore::Queue::Round round) : core_(core), round_(std::move(round)) {
    round_.asks->listen(*this);
  }

 private:
  bool try_write(ReplySink& out, Instant now) override {
    core_.write_round(out, round_, now);
    return true;
  }

  HttpCore& core_;
  HttpCore::Queue::Round round_;
};

template <typename Asked, typename Write>
void HttpCore::decide_or_park(Asked asked, const Exchange& exchange, Write write) {
  if (asked->decide(exchange.now) != Asks::Progress::kWaits) return write(*this, exchange, *asked);
  exchange.line.park(std::make_unique<LateDecision<Asked, Write>>(*this, exchange, std::move(asked),
                                                                  std::move(write)),
                     exchange.now);
}

template <typename Write>
void HttpCore::decide(AsksPtr asks, const Exchange& exchange, Write write) {
  decide_or_park(
      std::move(asks), exchange,
      [write = std::move(write)](HttpCore& core, const Recipient& to, const Asks& asked) {
        if (asked.progress() == Asks::Progress::kAnswered) return write(core, to, asked);
        core.write_problem(to, store_unavailable());
      });
}

template <typename Write>
void HttpCore::decide(rls::RateLimitService::CallPtr call, const Exchange& exchange, Write write) {
  decide_or_park(std::move(call), exchange, std::move(write));
}

}  // namespace weir
