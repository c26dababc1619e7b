#include "net/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "net/connection_set.h"
#include "net/socket_options.h"

namespace weir {
namespace {

// A session may make more output when some has been sent (it had stopped at its bound
// and goes on with requests it had buffered). After so many rounds others get a turn.
constexpr int kSendsMax = 8;

// Input thrown away at once while lingering.
constexpr std::size_t kDiscardBytes = std::size_t{64} << 10;

bool is_transient(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

Connection::Connection(ConnectionSet& owner, UniqueFd socket, std::unique_ptr<Session> session)
    : loop_(owner.loop()),
      owner_(owner),
      session_(std::move(session)),
      last_heard_(loop_.now()),
      socket_(std::move(socket)) {}

bool Connection::start() {
  interest_ = EPOLLIN;
  return loop_.watch(socket_.get(), interest_, *this);
}

void Connection::ready(std::uint32_t events) {
  try {
    handle(events);
  } catch (const std::bad_alloc&) {
    phase_ = Phase::kDead;  // no memory for this peer; the others have theirs
  }
  settle();
}

void Connection::handle(std::uint32_t events) {
  constexpr std::uint32_t kBroken = EPOLLERR | EPOLLHUP;
  if ((events & kBroken) != 0 && (interest_ & EPOLLIN) == 0) {
    phase_ = Phase::kDead;  // nobody is left to take the output we were waiting to send
  } else if ((events & (EPOLLIN | kBroken)) != 0) {
    read();
  }
  if ((events & EPOLLOUT) != 0 && blocked_) write();
}

void Connection::read() {
  if (phase_ == Phase::kLingering) return discard_input();
  auto space = session_->input_space();
  paused_ = space.empty();
  if (paused_) return;
  // While the session does not know of the drain, give it no more than the beginning of a
  // request: then it is told, and answers that request as the last.
  if (drain_ == Drain::kAtNextByte) space = space.first(1);

  const auto got = ::recv(socket_.get(), space.data(), space.size(), 0);
  if (got < 0) {
    if (!is_transient(errno)) phase_ = Phase::kDead;
    return;
  }
  if (got == 0) {
    phase_ = Phase::kPeerDone;
    session_->peer_closed(loop_.now());
  } else {
    last_heard_ = loop_.now();
    session_->received(static_cast<std::size_t>(got), loop_.now());
  }
  if (drain_ == Drain::kAtNextByte) tell_session_to_drain();
  write();
}

void Connection::discard_input() {
  std::array<char, kDiscardBytes> rest;
  // For TCP, MSG_TRUNC means: don't copy. Unix sockets copy.
  const auto got = ::recv(socket_.get(), rest.data(), rest.size(), MSG_TRUNC);
  if (got == 0 || (got < 0 && !is_transient(errno))) phase_ = Phase::kDead;
}

void Connection::write() {
  blocked_ = false;
  for (int round = 0; round < kSendsMax && !session_->output().empty(); ++round) {
    if (!send_once()) return;
  }
  // More to send, but not now: ask to be called when the socket is writable, which it is.
  if (!session_->output().empty()) {
    blocked_ = true;
    stalled_since_ = loop_.now();
  }
}

// True if all the output was taken.
bool Connection::send_once() {
  const auto handled_since = loop_.now();
  session_->stamp(loop_.read_clock() - handled_since);
  const auto output = session_->output();
  const auto sent = ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
  if (sent < 0 && !is_transient(errno)) {
    phase_ = Phase::kDead;
    return false;
  }
  const bool all = sent == static_cast<ssize_t>(output.size());
  if (!blocked_) stalled_since_ = loop_.now();
  if (sent > 0) {
    session_->sent(static_cast<std::size_t>(sent), loop_.now());
    paused_ = false;
    stalled_since_ = loop_.now();
  }
  blocked_ = !all;
  return all;
}

// What every event ends with: close if there is nothing left to do, else wait for more.
void Connection::settle() {
  if (session_ != nullptr && phase_ != Phase::kDead && session_->output().empty()) {
    if (session_->finished()) linger();
  }
  if (phase_ != Phase::kDead) update_interest();
  destroy_if_dead();
}

void Connection::linger() {
  session_.reset();
  blocked_ = false;
  const bool peer_may_still_send = phase_ == Phase::kTalking;
  if (!peer_may_still_send || ::shutdown(socket_.get(), SHUT_WR) != 0) {
    phase_ = Phase::kDead;
    return;
  }
  phase_ = Phase::kLingering;
  phase_deadline_ = loop_.now() + kLingerMax;
}

void Connection::update_interest() {
  const bool wants_input = phase_ == Phase::kLingering || (phase_ == Phase::kTalking && !paused_);
  const std::uint32_t wanted =
      (wants_input ? std::uint32_t{EPOLLIN} : 0) | (blocked_ ? std::uint32_t{EPOLLOUT} : 0);
  if (wanted == interest_) return;
  interest_ = wanted;
  loop_.change(socket_.get(), interest_, *this);
}

void Connection::destroy_if_dead() {
  if (phase_ == Phase::kDead) owner_.destroy(*this);
}

void Connection::sweep() {
  const auto now = loop_.now();
  if (phase_ == Phase::kLingering) {
    if (now >= phase_deadline_) phase_ = Phase::kDead;
    return destroy_if_dead();
  }
  if (blocked_ && now - stalled_since_ >= kStallMax) return give_up_stalled();
  if (drain_ == Drain::kAtNextByte && now - last_heard_ >= kDrainPatience) return drain();
  if (!session_->finished() && now >= session_->deadline()) {
    session_->expired(now);
    if (blocked_ && session_->output().empty()) return give_up_stalled();
    write();
    settle();
  }
}

void Connection::give_up_stalled() {
  owner_.budget().count_stalled();
  reset_on_close(socket_.get());
  phase_ = Phase::kDead;
  destroy_if_dead();
}

void Connection::drain() {
  if (phase_ == Phase::kLingering || drain_ == Drain::kTold) return;
  drain_ = Drain::kAtNextByte;
  if (loop_.now() - last_heard_ < kDrainPatience) return;
  if (phase_ == Phase::kTalking) read();  // what may have come in since the last event
  if (drain_ == Drain::kAtNextByte && phase_ != Phase::kDead) {
    tell_session_to_drain();
    write();
    // Nothing had come in just now, so closing destroys nothing: no need to linger.
    if (phase_ != Phase::kDead && session_->finished() && session_->output().empty()) {
      phase_ = Phase::kDead;
    }
  }
  settle();
}

void Connection::tell_session_to_drain() {
  drain_ = Drain::kTold;
  session_->drain();
}

}  // namespace weir
