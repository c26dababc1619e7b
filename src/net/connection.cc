#include "net/connection.h"

#include <sys/epoll.h>

#include <utility>

#include "base/if_memory.h"
#include "net/connection_set.h"
#include "net/sockets/socket_options.h"

namespace weir {
namespace {

// A TLS record of 16 KiB may hold more than the session's space; after so many reads of the rest
// other connections get a turn.
constexpr int kReadsMax = 16;

using Status = IoResult::Status;

}  // namespace

Connection::Connection(ConnectionSet& owner, Channel channel, std::unique_ptr<Session> session)
    : loop_(owner.loop()),
      owner_(owner),
      channel_(std::move(channel)),
      session_(std::move(session)),
      last_heard_(loop_.now()) {}

Connection::Connection(ConnectionSet& owner, UniqueFd socket, std::unique_ptr<Entrance> entrance)
    : loop_(owner.loop()),
      owner_(owner),
      channel_(std::move(socket)),
      entrance_(std::move(entrance)),
      last_heard_(loop_.now()) {}

Connection::~Connection() {
  owner_.budget().change(held_, 0);
  loop_.unwatch(socket());
}

// The frame of every call of the loop: the work, then close if nothing is left to do, else wait for
// more. May destroy this.
template <typename Work>
void Connection::attempt(const Work& work) {
  if (!has_memory_for(work)) phase_ = Phase::kDead;
  settle();
}

bool Connection::start() {
  if (session_ != nullptr) session_->attach(*this);
  interest_ = EPOLLIN;
  return loop_.watch(socket(), interest_, *this);
}

void Connection::look_at(Instant when) { owner_.look_at(*this, when); }

void Connection::woken() {
  if (session_ == nullptr || phase_ == Phase::kDead) return;
  attempt([this] { handle_wake(); });
}

void Connection::handle_wake() {
  const bool was_blocked = blocked_;
  session_->woken(loop_.now());
  if (!was_blocked) write();
  if (!paused_ || phase_ != Phase::kTalking) return;
  if (is_heavy_) return yield();
  read();  // there may be room now
}

void Connection::yield() noexcept {
  is_heavy_ = true;
  has_more_ = true;
  owner_.queue(*this);
}

// Output that waits within the session goes first. If it takes the whole turn, epoll's events wait.
void Connection::take_turn() {
  is_heavy_ = false;
  attempt([this] {
    if (std::exchange(has_more_, false) && session_ != nullptr) handle_wake();
    if (phase_ != Phase::kDead && !is_heavy_ && events_ != 0) handle(std::exchange(events_, 0));
  });
}

void Connection::ready(std::uint32_t events) {
  const bool is_costly = is_heavy_ || entrance_ != nullptr || phase_ == Phase::kLingering;
  if (is_costly) {
    events_ |= events;
    // Most turns come before the next epoll_wait. Until its turn, epoll need not report more.
    if (TurnHook::is_linked()) return watch_for(0);
    return owner_.queue(*this);
  }
  attempt([this, events] { handle(events); });
}

void Connection::handle(std::uint32_t events) {
  constexpr std::uint32_t kBroken = EPOLLERR | EPOLLHUP;
  if (entrance_) return enter();
  if ((events & kBroken) != 0 && !wants_input()) {
    phase_ = Phase::kDead;  // the output that waited has no reader any more
  } else if ((events & (EPOLLIN | kBroken)) != 0 || reread_) {
    read();
  }
  if ((events & EPOLLOUT) != 0 && blocked_) write();
}

void Connection::enter() {
  last_heard_ = loop_.now();
  switch (entrance_->advance(channel_)) {
    case Entrance::Progress::kWaitsForInput: blocked_ = false; return;
    case Entrance::Progress::kWaitsForOutput:
      if (!std::exchange(blocked_, true)) stalled_since_ = loop_.now();
      return;
    case Entrance::Progress::kPeerLeft: phase_ = Phase::kDead; return;
    case Entrance::Progress::kRefused: return turn_away();
    case Entrance::Progress::kPassed: break;
  }
  blocked_ = false;
  session_ = entrance_->make_session(loop_.now());
  session_->attach(*this);
  entrance_.reset();
  read();   // input that came with the end
  write();  // the session may have output now
}

void Connection::turn_away() {
  if (entrance_->step() == Entrance::Step::kHandshake) {
    owner_.budget().count_failed_handshake();
  } else {
    owner_.budget().count_refused_header();
  }
  linger();  // so that TLS's alert arrives
}

void Connection::read() {
  if (phase_ == Phase::kLingering) {
    const auto discarded = channel_.discard_input();
    discarded_ += discarded.value_or(0);
    if (!discarded || discarded_ > kDiscardMax) phase_ = Phase::kDead;
    return;
  }
  for (int round = 0; round < kReadsMax; ++round) {
    read_once();
    if (phase_ != Phase::kTalking || paused_ || !channel_.has_unread()) return;
  }
  reread_ = true;
}

void Connection::read_once() {
  reread_ = false;
  auto space = session_->input_space();
  paused_ = space.empty();
  if (paused_) return;
  // While the session does not know of the drain, it gets only the first byte of a request. Then it
  // learns of the drain, and answers that request as the last.
  if (drain_ == Drain::kAtNextByte) space = space.first(1);

  const auto result = channel_.read(space);
  switch (result.status) {
    case Status::kDone:
      last_heard_ = loop_.now();
      is_heavy_ = is_heavy_ || result.size >= kTurnInput;
      session_->received(result.size, loop_.now());
      break;
    case Status::kEnd:
      phase_ = Phase::kPeerDone;
      session_->peer_closed(loop_.now());
      break;
    case Status::kWantsInput: return;
    case Status::kWantsOutput: reread_ = true; return;
    case Status::kBroken: phase_ = Phase::kDead; return;
  }
  if (drain_ == Drain::kAtNextByte) tell_session_to_drain();
  write();
}

void Connection::write() {
  blocked_ = false;
  std::size_t total = 0;
  while (!session_->output().empty()) {
    if (total >= kTurnBytes) return yield();
    const std::size_t sent = send_once();
    if (blocked_ || phase_ == Phase::kDead) return;
    total += sent;
  }
}

// Returns how much was sent. Sets blocked_ if that was not everything.
std::size_t Connection::send_once() {
  const auto handled_since = loop_.now();
  session_->stamp(loop_.read_clock() - handled_since);
  const auto output = session_->output().substr(0, kTurnBytes);
  const auto result = channel_.write(output);
  if (result.status == Status::kBroken) {
    phase_ = Phase::kDead;
    return 0;
  }
  if (!blocked_) stalled_since_ = loop_.now();
  if (result.size > 0) {
    session_->sent(result.size, loop_.now());
    paused_ = false;
    stalled_since_ = loop_.now();
  }
  blocked_ = result.status != Status::kDone;
  return result.size;
}

void Connection::settle() {
  hand_over();
  if (session_ != nullptr && phase_ != Phase::kDead && session_->output().empty()) {
    if (session_->finished()) {
      if (session_->was_flooded()) owner_.budget().count_flooded();
      linger();
    }
  }
  if (phase_ == Phase::kDead) return owner_.destroy(*this);
  const bool has_much = session_ != nullptr && session_->input_waiting() >= kTurnInput;
  is_heavy_ = is_heavy_ || blocked_ || has_much;
  update_interest();
  account();
}

// From a finished session to its successor, if it has one.
void Connection::hand_over() {
  if (session_ == nullptr || phase_ != Phase::kTalking) return;
  if (!session_->output().empty() || !session_->finished()) return;
  auto next = session_->successor(loop_.now());
  if (next == nullptr) return;
  session_ = std::move(next);
  session_->attach(*this);
  paused_ = false;
  if (drain_ == Drain::kTold) session_->drain();
  write();
}

void Connection::linger() {
  session_.reset();
  entrance_.reset();
  blocked_ = false;
  reread_ = false;
  const bool peer_may_still_send = phase_ == Phase::kTalking;
  if (!channel_.finish_writing() || !peer_may_still_send) {
    phase_ = Phase::kDead;
    return;
  }
  phase_ = Phase::kLingering;
  phase_deadline_ = loop_.now() + kLingerMax;
}

void Connection::update_interest() {
  if (TurnHook::is_linked()) return;  // its next turn does it
  // epoll does not see bytes within the channel. A socket is usually writable.
  if (phase_ == Phase::kTalking && !paused_ && channel_.has_unread()) reread_ = true;
  const std::uint32_t wanted = (wants_input() ? std::uint32_t{EPOLLIN} : 0) |
                               (blocked_ || reread_ ? std::uint32_t{EPOLLOUT} : 0);
  watch_for(wanted);
}

bool Connection::wants_input() const {
  const bool waits_for_output = reread_ || (entrance_ && blocked_);
  return phase_ == Phase::kLingering ||
         (phase_ == Phase::kTalking && !paused_ && !waits_for_output);
}

void Connection::watch_for(std::uint32_t events) {
  if (events == interest_) return;
  interest_ = events;
  loop_.change(socket(), interest_, *this);
}

void Connection::sweep() {
  const auto now = loop_.now();
  if (is_anything_due(now)) attempt([this, now] { act_on_due(now); });
}

bool Connection::is_anything_due(Instant now) const {
  if (phase_ == Phase::kLingering) return now >= phase_deadline_;
  if (blocked_ && now - stalled_since_ >= kStallMax) return true;
  if (drain_ == Drain::kAtNextByte && now - last_heard_ >= kDrainPatience) return true;
  return entrance_ ? now >= entrance_->deadline()
                   : !session_->finished() && now >= session_->deadline();
}

void Connection::act_on_due(Instant now) {
  if (phase_ == Phase::kLingering) {
    phase_ = Phase::kDead;
  } else if (entrance_ && now >= entrance_->deadline()) {
    turn_away();
  } else if (blocked_ && now - stalled_since_ >= kStallMax) {
    give_up_stalled();
  } else if (drain_ == Drain::kAtNextByte && now - last_heard_ >= kDrainPatience) {
    finish_draining();
  } else {
    session_->expired(now);
    if (blocked_ && session_->output().empty()) return give_up_stalled();
    write();
  }
}

void Connection::shed() {
  owner_.budget().count_shed();
  reset_on_close(socket());
  owner_.destroy(*this);
}

void Connection::account() {
  const std::size_t held = session_ != nullptr ? session_->held() : 0;
  if (held != held_) owner_.account(std::exchange(held_, held), held);
}

void Connection::give_up_stalled() {
  owner_.budget().count_stalled();
  reset_on_close(socket());
  phase_ = Phase::kDead;
}

void Connection::drain() {
  if (phase_ == Phase::kLingering || drain_ == Drain::kTold) return;
  drain_ = Drain::kAtNextByte;
  if (loop_.now() - last_heard_ < kDrainPatience) return;
  attempt([this] { finish_draining(); });
}

void Connection::finish_draining() {
  if (entrance_) {
    phase_ = Phase::kDead;
    return;
  }
  if (phase_ == Phase::kTalking) read();  // input since the last event
  if (drain_ != Drain::kAtNextByte || phase_ == Phase::kDead) return;
  tell_session_to_drain();
  write();
  // No input has come now, so closing destroys nothing: no need to linger.
  if (phase_ != Phase::kDead && session_->finished() && session_->output().empty()) {
    channel_.finish_writing();
    phase_ = Phase::kDead;
  }
}

void Connection::tell_session_to_drain() {
  drain_ = Drain::kTold;
  session_->drain();
}

}  // namespace weir
