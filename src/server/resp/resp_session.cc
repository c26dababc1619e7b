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
    : core_(core),
      client_{.id = core.node().next_client_id(),
              .trust = initial_trust(core.node().access()),
              .address = peer.address,
              .connected = now},
      idle_since_(now),
      taken_since_(now) {
  core_.counts().record_opened();
}

RespSession::~RespSession() { core_.counts().record_closed(); }

std::span<char> RespSession::input_space() {
  if (finished_ || peer_closed_ || held_back_) return {};
  return in_.space();
}

void RespSession::received(std::size_t size, Instant now) {
  if (finished_) return;
  in_.received(size);
  answer_commands(now);
}

void RespSession::peer_closed(Instant now) {
  peer_closed_ = true;
  if (!finished_) answer_commands(now);
}

void RespSession::sent(std::size_t size, Instant now) {
  out_.consume(size);
  taken_since_ = now;
  if (held_back_ && !finished_) answer_commands(now);
}

void RespSession::drain() {
  draining_ = true;
  if (in_.empty()) finished_ = true;
}

Instant RespSession::deadline() const {
  if (!out_.empty()) return taken_since_ + kStalledMax;
  if (command_since_) return *command_since_ + kCommandTimeMax;
  return idle_since_ + (is_warm() ? kWarmMax : kIdleMax);
}

void RespSession::expired(Instant now) {
  if (now < deadline()) return;
  if (out_.empty() && command_since_ && !finished_) {
    taken_since_ = now;
    refuse("the command did not arrive within 10 seconds", now);
    return;
  }
  if (out_.empty() && now < idle_since_ + kIdleMax && !finished_) {
    in_.release();
    out_.release();
    return;
  }
  out_.consume(out_.size());
  finished_ = true;
}

void RespSession::answer_commands(Instant now) {
  const bool was_empty = out_.empty();
  held_back_ = false;
  while (!finished_) {
    held_back_ = out_.size() >= kOutputMax;
    if (held_back_ || !answer_one(now)) break;
  }
  core_.flush(out_, now);

  if (was_empty) taken_since_ = now;
  const bool nothing_to_come = peer_closed_ || (draining_ && in_.empty());
  if (nothing_to_come && !held_back_) finished_ = true;
  if (in_.empty() || held_back_) {
    command_since_.reset();
  } else if (!command_since_) {
    command_since_ = now;
  }
}

bool RespSession::answer_one(Instant now) {
  const bool is_stranger = client_.trust == Trust::kStranger;
  const auto& limits = is_stranger ? resp::kStrangerLimits : resp::kClientLimits;
  switch (reader_.read(in_.data(), limits, core_.arguments())) {
    case Status::kNeedMore: return false;
    case Status::kRefused: return refuse(reader_.refusal(), now);
    case Status::kNothing: in_.consume(reader_.size()); return true;
    case Status::kCommand: break;
  }
  return answer(now);
}

bool RespSession::answer(Instant now) {
  if (begins_http(reader_.arguments()[0])) {
    finished_ = true;
    return false;
  }
  RespRequest request{.client = client_, .arguments = reader_.arguments(), .out = out_, .now = now};
  core_.execute(request);
  in_.consume(reader_.size());
  command_since_.reset();
  idle_since_ = now;
  finished_ = client_.leaving;
  return !finished_;
}

bool RespSession::refuse(std::string_view why, Instant now) {
  core_.flush(out_, now);
  resp::ReplyWriter(out_, client_.protocol).error("ERR Protocol error: " + std::string(why));
  finished_ = true;
  return false;
}

}  // namespace weir
