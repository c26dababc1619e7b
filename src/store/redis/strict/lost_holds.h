// LostHolds: gives back holds that Redis may still have, though nobody will ask for it again.
//
//   0 ms    a node asks Redis for a slot                 a node asks Redis to release a slot
//   20 ms   no answer: the caller is denied, or this     no answer: the work is over, and its
//           node holds in its place                      caller has gone, or was told of it
//   21 ms   Redis goes on, and holds the slot;           Redis has released it, or not
//           nobody has the token
//   21 ms   the node's next call ends that hold, and charges nothing
//
// That call comes after the first, as both take one connection. While Redis is away the call is
// tried now and then, for as long as the hold would last. If nobody was told the hold's end, Redis
// finds it by its token among holds that may end then.
//
// Thread rule: the core of its store. Tested by tests/redis/redis_holds_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>

#include "engine/holds/shared_holds.h"
#include "proto/reactor.h"
#include "rules/rule.h"

namespace weir {

class LostHolds {
 public:
  static constexpr std::size_t kWaitingMax = 16'384;  // some 4 MB; more end by themselves
  // After a failure, and after more. Failures open the breaker of a core that asks nothing else, so
  // they become rare; but a node that stops tries for a second.
  static constexpr Duration kRetry = std::chrono::milliseconds(250);
  static constexpr Duration kRetryMax = std::chrono::milliseconds(500);

  // `holds` may be under construction. Both outlive this.
  LostHolds(SharedHolds& holds, Reactor& reactor);
  LostHolds(const LostHolds&) = delete;
  LostHolds& operator=(const LostHolds&) = delete;

  // Gives the order for these charges, until Redis has answered it, or the hold has ended at
  // `until`. If it has a length: the hold was asked for at `since`. Ignores the order that is out.
  void add(std::span<const Charge> charges, const CommitOrder& order, Instant since,
           Instant until) noexcept;
  bool is_empty() const { return waiting_.empty(); }

 private:
  struct Lost {
    CommitOrder order;
    std::array<KeyHash, Rule::kLimitsMax> keys;
    std::size_t size;
    std::uint64_t tag;
    Instant since;
    Instant until;
  };

  void end_next(Instant now);
  void ended();

  SharedHolds& holds_;
  std::list<Lost> waiting_;  // the first is out, or comes next
  const std::unique_ptr<Alarm> alarm_;
  Instant asked_at_{};
  Duration pause_ = kRetry;  // after the next failure
  CommitOrder order_;
  std::array<Charge, Rule::kLimitsMax> charges_;
  std::array<Decision, Rule::kLimitsMax> decisions_;
  Batch batch_;
};

}  // namespace weir
