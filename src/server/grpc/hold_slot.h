// weir.v1.Slots/Hold: a slot of a rule with `of: concurrency`, for as long as a call is open.
//
//    0 s  the call comes        a slot is acquired, a message says so, and the call stays open
//    9 s  its client ends it, or the connection breaks: the slot is released
//   or
//   30 s  `hold` has passed: DEADLINE_EXCEEDED
//   or    the node lost the lease of its slots: ABORTED, within a second
//
// A call may end where the time is unknown, in a destructor, even before its slot was acquired. So
// its slot stays, and the loop releases it soon. A store that has no answer from Redis goes on
// asking by itself.
//
// Thread rule: one core. Tested by grpc_slots_test.cc, tests/e2e/grpc_test.py and
// tests/e2e/lent_slots_test.py.

#pragma once

#include <weir/v1/slots.pb.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/asks/asks_pool.h"
#include "proto/reactor.h"
#include "server/grpc/grpc_method.h"

namespace weir::grpc {

class HoldSlot final : public Method {
 public:
  static constexpr const char* kService = "weir.v1.Slots";
  static constexpr std::string_view kPath = "/weir.v1.Slots/Hold";
  static constexpr Duration kLook = std::chrono::seconds(1);
  static constexpr Duration kRetry = std::chrono::milliseconds(250);  // if there is no memory

  // Engine and blocks outlive this, and this its streams.
  HoldSlot(Engine& engine, BlockList& blocks, RuleSetPtr rules);
  ~HoldSlot() override;

  // While the core serves: without a loop, slots are not released before they end.
  void begin_serving(Reactor& reactor);
  void end_serving() { alarm_.reset(); }
  bool has_released_all() const { return left_.empty(); }
  void use_rules(RuleSetPtr rules) { asks_.use_rules(std::move(rules)); }

  void arrived(Http2Stream& stream, Instant now) override;
  void completed(Http2Stream& stream, Instant now) override;
  void expired(Http2Stream& stream, Instant now) override;
  void closing(Http2Stream& stream) override;

 private:
  class Slot;
  class OpenCall;
  using Slots = std::list<Slot>;

  std::optional<Status> read(std::string_view message, Ask& ask, Duration& length);
  void begin_call(Http2Stream& stream, const Ask& ask, Duration length, Instant now);
  bool answer(Http2Stream& stream, Slot& slot, Instant now);
  void leave(Slots::iterator slot) noexcept;
  void ring_by(Instant when);
  void ring(Instant now);

  Engine& engine_;
  AsksPool asks_;
  ::weir::v1::HoldRequest request_;
  ::weir::v1::HoldResponse response_;
  std::string error_;  // of the message that was read last
  Slots open_;         // of calls
  Slots left_;         // by calls that ended; to be released
  Instant look_at_ = Instant::max();
  Instant ring_at_ = Instant::max();
  std::unique_ptr<Alarm> alarm_;
};

}  // namespace weir::grpc
