#include "server/resp/resp_session.h"

#include <string>

#include "base/ascii.h"

namespace weir {
namespace {

using Status = resp::CommandReader::Status;

bool begins_http(std::string_view word) {
  return equal_ignoring_case(word, "post") || equal_ignoring_case(word, "host:");
}

}  // namespace

RespSession::RespSession(RespCore& core, const Peer& peer, Instant now)
    : PipelinedSession(kLimits, now),
      core_(core),
      client_{.id = core.node().next_client_id(),
              .trust = initial_trust(core.node().options().access),
              .address = peer.address,
              .connected = now} {
  core_.counts().add_one(kRespOpened);
}

RespSession::~RespSession() {
  core_.forget_queued();
  core_.counts().add_one(kRespClosed);
}

RespSession::Step RespSession::handle_one(Instant now) {
  if (client_.runs()) return run_next(now);
  if (may_repeat_ && !reader_.has_begun() && repeat_throttle(now)) return Step::kGoOn;
  const bool is_stranger = client_.trust == Trust::kStranger;
  const auto& limits = is_stranger ? resp::kStrangerLimits : resp::kClientLimits;
  switch (reader_.read(in().text(), limits, core_.arguments())) {
    case Status::kNeedMore: return Step::kNeedMore;
    case Status::kRefused: return refuse(reader_.refusal(), now);
    case Status::kNothing: in().consume(reader_.size()); return Step::kGoOn;
    case Status::kCommand: break;
  }
  return answer(now);
}

RespSession::Step RespSession::answer(Instant now) {
  if (begins_http(reader_.arguments()[0])) return Step::kLast;
  RespRequest request{
      .client = client_, .arguments = reader_.arguments(), .line = *this, .now = now};
  if (!core_.execute(request)) return Step::kNeedMore;
  may_repeat_ = request.is_last_throttle && client_.failed_logins == 0 && !client_.queues();
  if (may_repeat_) {
    core_.last_throttle().keep(in().text().substr(0, reader_.size()), request.arguments[1]);
  }
  if (client_.runs()) return Step::kGoOn;
  take(reader_.size(), now);
  return client_.leaving ? Step::kLast : Step::kGoOn;
}

bool RespSession::repeat_throttle(Instant now) {
  const std::string_view input = in().text();
  const auto key = core_.throttled_key(input);
  if (!key) return false;
  core_.repeat_throttle({.client = client_, .arguments = {}, .line = *this, .now = now}, *key);
  const auto key_end = static_cast<std::size_t>(key->data() + key->size() - input.data());
  take(key_end + core_.last_throttle().behind.size(), now);
  return true;
}

// One command at a time, so that the bounds of turns and of waiting replies hold for EXEC, too.
RespSession::Step RespSession::run_next(Instant now) {
  Transaction& transaction = *client_.transaction;
  RespRequest request{.client = client_,
                      .arguments = transaction.front(core_.arguments()),
                      .line = *this,
                      .now = now};
  if (client_.leaving) {  // a login inside was refused; EXEC's reply has its length
    core_.reply(request).error("ERR the connection closes");
  } else if (!core_.execute(request)) {
    return Step::kNeedMore;
  }
  if (transaction.size() > 1) {
    transaction.pop();
    return Step::kGoOn;
  }
  flush(now);  // checks that are queued read the transaction's bytes
  client_.transaction.reset();
  take(reader_.size(), now);
  return client_.leaving ? Step::kLast : Step::kGoOn;
}

RespSession::Step RespSession::refuse(std::string_view why, Instant now) {
  flush(now);
  resp::ReplyWriter(end(), client_.protocol).error("ERR Protocol error: " + std::string(why));
  return Step::kLast;
}

void RespSession::refuse_slow(Instant now) {
  refuse("the command did not arrive within 10 seconds", now);
}

}  // namespace weir
