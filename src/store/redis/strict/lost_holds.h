// LostHolds: gives back holds that Redis may have, though their callers were told that it has not.
//
//   0 ms    a node asks Redis for a slot
//   20 ms   no answer: the caller is denied, or this node holds in its place
//   21 ms   Redis goes on, and holds the slot; nobody has the token
//   21 ms   the node's next call ends that hold, and charges nothing
//
// That call comes after the first, as both take one connection. While Redis is away the call waits,
// for as long as the hold would last. Redis finds it by its token among holds that may end then.
//
// Thread rule: the core of its store. Tested by tests/redis/redis_holds_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>

#include "engine/holds/shared_holds.h"
#include "engine/holds/shared_token.h"
#include "proto/reactor.h"

namespace weir {

class LostHolds {
 public:
  static constexpr std::size_t kWaitingMax = 1024;  // more end by their own time
  static constexpr Duration kRetry = std::chrono::seconds(1);

  // `holds` may be under construction. Both outlive this.
  LostHolds(SharedHolds& holds, Reactor& reactor);
  LostHolds(const LostHolds&) = delete;
  LostHolds& operator=(const LostHolds&) = delete;

  // REQUIRES: the order was asked for at `since`, with these charges
  void add(std::span<const Charge> charges, const HoldOrder& order, Instant since) noexcept;

 private:
  struct Lost {
    SharedToken token;
    Duration length;
    Instant since;
  };

  void end_next(Instant now);
  void ended();

  SharedHolds& holds_;
  std::deque<Lost> waiting_;
  const std::unique_ptr<Alarm> alarm_;
  bool is_out_ = false;  // the call for the first waiting hold
  Instant asked_at_{};
  CommitOrder order_;
  std::array<Charge, Rule::kLimitsMax> charges_;
  std::array<Decision, Rule::kLimitsMax> decisions_;
  Batch batch_;
};

}  // namespace weir
