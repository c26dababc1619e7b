// LateAsks: a late reply that is due when its asks are decided. decide_in_line(): how a door
// decides asks whose reply comes at once or later.
//
// `Asked` is AsksPtr, or points to something else with decide(), go_on() and listen().
//
// Thread rule: one core. Tested by src/server/http/http_wait_test.cc,
// src/server/resp/resp_wait_test.cc and src/server/grpc/grpc_wait_test.cc.

#pragma once

#include <memory>
#include <utility>

#include "base/late_reply.h"
#include "engine/asks/asks.h"

namespace weir {

template <typename Out, typename Asked, typename Write>
class LateAsks final : public LateReply<Out>, Asks::Listener {
 public:
  // `write(out, now, *asked)` writes the reply.
  LateAsks(Asked asked, Write write) : asked_(std::move(asked)), write_(std::move(write)) {
    asked_->listen(*this);
  }

 private:
  void decided() noexcept override { this->due(); }
  bool try_write(Out& out, Instant now) override {
    if (asked_->go_on(now) == Asks::Progress::kWaits) {
      asked_->listen(*this);
      return false;
    }
    write_(out, now, *asked_);
    return true;
  }

  const Asked asked_;
  Write write_;
};

template <typename Out, typename Asked, typename Write>
std::unique_ptr<LateReply<Out>> late_reply(Asked asked, Write write) {
  return std::make_unique<LateAsks<Out, Asked, Write>>(std::move(asked), std::move(write));
}

// Decides, and writes the reply at the end of the line; or parks it there, if the answers come
// later. `Line` has end() and park(); replies are written to its type Out.
template <typename Line, typename Asked, typename Write>
void decide_in_line(Line& line, Asked asked, Instant now, Write write) {
  using Out = typename Line::Out;
  if (asked->decide(now) != Asks::Progress::kWaits) return write(line.end(), now, *asked);
  line.park(late_reply<Out>(std::move(asked), std::move(write)), now);
}

}  // namespace weir
