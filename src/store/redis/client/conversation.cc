#include "store/redis/client/conversation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "base/if_memory.h"
#include "proto/resp/command_writer.h"

namespace weir {
namespace {

using Retry = Ending::Retry;

// Errors after which this connection is useless, whatever we send next. Redis 6 wraps a script's
// errors.
std::optional<Ending> ending_of(const resp::Reply& error) {
  const std::string_view code = error.error_code();
  if (code == "READONLY" || error.text().find("-READONLY ") != std::string_view::npos) {
    return Ending{.why = "it has become a replica, which cannot be written to"};
  }
  if (code == "LOADING") return Ending{.why = "it is loading its data"};
  if (code == "MASTERDOWN") return Ending{.why = "it is a replica that has lost its master"};
  if (code == "NOAUTH") {
    return Ending{.why = "it wants a password by now", .retry = Retry::kLater};
  }
  return {};
}

}  // namespace

Conversation::Conversation(const Login& login, Reactor& reactor, ConversationListener& listener,
                           Instant now)
    : listener_(&listener),
      handshake_(login),
      last_event_(now),
      handshake_deadline_(now + kHandshakeMax),
      alarm_(reactor.make_alarm([this](Instant at) { ring(at); })) {
  handshake_.begin(output_);
  set_alarm(handshake_deadline_);
}

Conversation::~Conversation() {
  waker_ = nullptr;  // it goes away, too
  end(broken_, last_event_);
}

std::optional<RedisFailure> Conversation::send(std::span<const std::string_view> words,
                                               Instant deadline, RedisCall& call, Instant now) {
  WEIR_ASSERT(call.conversation_ == nullptr && !words.empty());
  if (phase_ != Phase::kOpen) return RedisFailure::kDisconnected;
  if (next_ - first_ == kFlightsMax || output_.size() > kOutputMax) {
    return RedisFailure::kOverloaded;
  }
  // The caller may not throw: a store decides without memory. Writes a whole command, or none.
  if (!has_memory_for([&] { resp::write_command(output_, words); })) {
    return RedisFailure::kOverloaded;
  }
  call.conversation_ = this;
  call.ticket_ = next_;
  call.words_ = words;
  call.deadline_ = deadline;
  take_off(&call, deadline, now);
  return {};
}

void Conversation::send_blindly(std::span<const std::string_view> words, Instant now) {
  if (phase_ != Phase::kOpen || next_ - first_ == kFlightsMax) return;
  resp::write_command(output_, words);
  take_off(nullptr, Instant::max(), now);
}

void Conversation::subscribe(std::string_view channel, Hear hear) {
  if (phase_ != Phase::kOpen || !handshake_.speaks_resp3()) return;
  hear_ = std::move(hear);
  const std::array<std::string_view, 2> words = {"SUBSCRIBE", channel};
  resp::write_command(output_, words);
  wake();
}

void Conversation::take_off(RedisCall* call, Instant deadline, Instant now) {
  if (first_ == next_) silent_since_ = now;
  last_event_ = now;
  flight(next_++) = {.call = call, .deadline = deadline};
  set_alarm(std::min(deadline, silent_since_ + kSilenceMax));
  wake();
}

// It speaks first.
void Conversation::attach(Waker& waker) {
  waker_ = &waker;
  wake();
}

void Conversation::wake() {
  if (waker_ != nullptr) waker_->wake();
}

void Conversation::forget(RedisCall& call) {
  if (call.conversation_ != nullptr) call.conversation_->release(call.ticket_);
}

void Conversation::leave() {
  listener_ = nullptr;
  end({}, last_event_);
}

std::span<char> Conversation::input_space() {
  return phase_ == Phase::kEnded ? std::span<char>() : input_.space();
}

void Conversation::received(std::size_t size, Instant now) {
  last_event_ = now;
  silent_since_ = now;
  input_.received(size);
  while (phase_ != Phase::kEnded && !input_.empty()) {
    const auto status = reader_.read(input_.text());
    if (status == resp::ReplyReader::Status::kNeedMore) return;
    if (status == resp::ReplyReader::Status::kBroken) {
      return end({.why = "what answers is not a Redis", .retry = Retry::kLater}, now);
    }
    dispatch(reader_.reply(), now);
    input_.consume(reader_.size());
  }
}

void Conversation::dispatch(const resp::Reply& reply, Instant now) {
  if (reply.type() == resp::ReplyType::kPush) {
    if (hear_) hear_(reply, now);
  } else if (phase_ == Phase::kHandshake) {
    go_on(reply, now);
  } else {
    land(reply, now);
  }
}

void Conversation::go_on(const resp::Reply& reply, Instant now) {
  switch (handshake_.replied(reply, output_)) {
    case Handshake::Progress::kGoesOn: break;
    case Handshake::Progress::kFailed: end(handshake_.ending(), now); break;
    case Handshake::Progress::kDone:
      phase_ = Phase::kOpen;
      listener_->opened(now);
      break;
  }
}

void Conversation::land(const resp::Reply& reply, Instant now) {
  if (first_ == next_) {
    const auto said = reply.is_error() ? ": " + std::string(reply.text()) : std::string();
    return end({.why = "it has answered what was not asked" + said}, now);
  }
  RedisCall* const call = release(first_++);
  const auto ending = reply.is_error() ? ending_of(reply) : std::nullopt;
  const bool is_taken =
      reply.is_error() && call != nullptr && listener_->takes_error(*call, reply, now);
  if (call != nullptr && !is_taken) call->replied(reply, now);
  if (ending) end(*ending, now);
}

void Conversation::peer_closed(Instant now) {
  end({.why = "it has closed the connection", .by = Ending::By::kPeer}, now);
}

void Conversation::sent(std::size_t size, Instant now) {
  last_event_ = now;
  output_.consume(std::min(size, output_.size()));
}

void Conversation::set_alarm(Instant when) {
  if (when >= alarm_at_) return;
  alarm_at_ = when;
  alarm_->set(when);
}

void Conversation::ring(Instant now) {
  alarm_at_ = Instant::max();
  last_event_ = now;
  if (phase_ == Phase::kEnded) return;
  if (phase_ == Phase::kHandshake) {
    if (now < handshake_deadline_) return set_alarm(handshake_deadline_);
    return end({.why = "it has accepted the connection, and says nothing"}, now);
  }
  time_out_calls(now);
  if (phase_ != Phase::kOpen || first_ == next_) return;
  if (now - silent_since_ >= kSilenceMax) return end({.why = "it has stopped answering"}, now);
  set_alarm(silent_since_ + kSilenceMax);
}

// Calls that a callback sends come behind these, and set the alarm themselves.
void Conversation::time_out_calls(Instant now) {
  const std::uint64_t last = next_;
  for (std::uint64_t ticket = first_; ticket != last; ++ticket) {
    const auto [call, deadline] = flight(ticket);
    if (call == nullptr) continue;
    if (deadline > now) {
      set_alarm(deadline);
    } else {
      release(ticket)->failed(RedisFailure::kTimedOut, now);
    }
    if (phase_ != Phase::kOpen) return;
  }
}

// Frees the call; its place in the line stays.
RedisCall* Conversation::release(std::uint64_t ticket) {
  RedisCall* const call = std::exchange(flight(ticket).call, nullptr);
  if (call != nullptr) call->conversation_ = nullptr;
  return call;
}

void Conversation::end(const Ending& ending, Instant now) {
  if (std::exchange(phase_, Phase::kEnded) == Phase::kEnded) return;
  output_.consume(output_.size());
  alarm_->set(Instant::max());
  auto* const listener = std::exchange(listener_, nullptr);
  // Without memory the listener only fails to report it.
  has_memory_for([&] {
    if (listener != nullptr) listener->ended(ending, now);
  });
  while (first_ != next_) {
    RedisCall* const call = release(first_++);
    if (call != nullptr) call->failed(RedisFailure::kDisconnected, now);
  }
  wake();
}

}  // namespace weir
