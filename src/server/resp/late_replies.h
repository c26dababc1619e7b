// Replies of the Redis door that come later (base/late_reply.h).
//
// Thread rule: one core. Tested by resp_wait_test.cc.

#pragma once

#include <memory>
#include <utility>

#include "engine/late_asks.h"
#include "server/resp/resp_core.h"

namespace weir {

// The reply to one command.
template <typename Write>
class LateCommand final : public LateAsks<OutputBuffer> {
 public:
  LateCommand(resp::Protocol protocol, AsksPtr asks, Write write)
      : protocol_(protocol), asks_(std::move(asks)), write_(std::move(write)) {
    asks_->listen(*this);
  }

 private:
  bool try_write(OutputBuffer& out, Instant) override {
    resp::ReplyWriter reply(out, protocol_);
    write_(reply, *asks_);
    return true;
  }

  const resp::Protocol protocol_;
  const AsksPtr asks_;
  Write write_;
};

// The replies to the checks that were decided together.
class LateCommands final : public LateAsks<OutputBuffer> {
 public:
  explicit LateCommands(RespCore::Round round) : round_(std::move(round)) {
    round_.asks->listen(*this);
  }

 private:
  bool try_write(OutputBuffer& out, Instant) override {
    RespCore::write_round(out, round_);
    return true;
  }

  const RespCore::Round round_;
};

template <typename Write>
void RespCore::decide(AsksPtr asks, const RespRequest& request, Write write) {
  const auto write_or_refuse = [write](resp::ReplyWriter& reply, const Asks& decided) {
    if (decided.progress() == Asks::Progress::kAnswered) return write(reply, decided);
    reply.error(kStoreUnavailable);
  };
  const resp::Protocol protocol = request.client.protocol;
  if (asks->decide(request.now) != Asks::Progress::kWaits) {
    resp::ReplyWriter reply(request.line.end(), protocol);
    return write_or_refuse(reply, *asks);
  }
  request.line.park(std::make_unique<LateCommand<decltype(write_or_refuse)>>(
                        protocol, std::move(asks), write_or_refuse),
                    request.now);
}

}  // namespace weir
