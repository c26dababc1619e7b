// Link: one lasting connection to a Redis, made again whenever it is lost.
//
// It tries its destinations in turn, stays with the one that answers, and waits between attempts.
// It waits kBackoffMin at first, twice as long after each round of failures, up to kBackoffMax. By
// chance it waits up to half of that less, so that a fleet does not come back all at once. If
// trying again does not help (a wrong password, no Redis), it waits for kRetryLater.
//
// Thread rule: one core. Tested by link_test.cc.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/dialer.h"
#include "proto/reactor.h"
#include "store/redis/client/conversation.h"

namespace weir {

class Link final : DialListener, ConversationListener {
 public:
  static constexpr Duration kBackoffMin = std::chrono::milliseconds(20);
  static constexpr Duration kBackoffMax = std::chrono::seconds(2);
  static constexpr Duration kRetryLater = std::chrono::seconds(5);
  static constexpr Duration kDialMax = std::chrono::seconds(2);
  // A connection that held so long was good: after it, waits begin with kBackoffMin again.
  static constexpr Duration kHeldWell = std::chrono::seconds(1);

  // The state has changed; or only its reason, if an operator must act on it.
  using Changed = std::function<void(const LinkState& state, Instant now)>;
  // As ConversationListener::takes_error().
  using TakesError = std::function<bool(RedisCall&, const resp::Reply& error, Instant now)>;

  // Does nothing until move_to().
  Link(Login login, const RedisSurroundings& surroundings, Changed changed,
       TakesError takes_error = {});
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Connects to one of `destinations`, from now on. A connection to one of them stays.
  void move_to(std::vector<Destination> destinations, Instant now);

  // Drops a connection that stands but is of no use, and tries the next destination.
  void give_up(const Ending& why, Instant now);

  [[nodiscard]] std::optional<RedisFailure> send(std::span<const std::string_view> words,
                                                 Instant deadline, RedisCall& call, Instant now);
  void send_blindly(std::span<const std::string_view> words, Instant now);
  void subscribe(std::string_view channel, Conversation::Hear hear);

  bool is_connected() const { return state_.phase == LinkState::Phase::kConnected; }
  const LinkState& state() const { return state_; }
  // Where it is connected, or tries to be. REQUIRES: move_to() was called
  const Destination& destination() const { return destinations_[current_]; }

 private:
  std::unique_ptr<Session> connected(Instant now) override;
  void not_connected(const std::string& why, Instant now) override;
  void opened(Instant now) override;
  void ended(const Ending& ending, Instant now) override;
  bool takes_error(RedisCall& call, const resp::Reply& error, Instant now) override {
    return takes_error_ && takes_error_(call, error, now);
  }

  void dial(Instant now);
  void drop();
  void lose(std::string_view why, std::string_view hint, Ending::Retry retry, Instant now);
  void turn_to_next();
  Duration next_wait(Ending::Retry retry);
  void enter(LinkState::Phase phase, std::string reason, Instant now);

  const Login login_;
  const RedisSurroundings surroundings_;
  const Changed changed_;
  const TakesError takes_error_;
  std::vector<Destination> destinations_;
  std::size_t current_ = 0;
  std::size_t failures_ = 0;  // in a row
  LinkState state_;
  std::string announced_;  // the reason of the last state that changed_ was told
  std::minstd_rand chance_;
  std::unique_ptr<Alarm> retry_;
  std::unique_ptr<Dial> dial_;
  Conversation* conversation_ = nullptr;  // owned by its connection
};

}  // namespace weir
