// SentinelClient: the client of a master that sentinels watch over.
//
//   one link to a sentinel    asks which address the master has, and hears of a new one
//   one link to the master    carries the commands
//
// The sentinels' word is a hint: the master is who says of itself that it is one, which the
// handshake asks. So an old master that comes back as a replica is not written to, however
// late a sentinel is. The client asks a sentinel again whenever the master's link is lost or has
// failed, when one announces a switch, and every kAskAgain besides, as announcements get
// lost.
//
// Thread rule: one core. Tested by sentinel_client_test.cc.

#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "store/redis/client/link.h"
#include "store/redis/client/redis_clients.h"
#include "store/redis/client/redis_url.h"

namespace weir {

class SentinelClient final : public RedisClient, LinkListener, RedisCall {
 public:
  static constexpr Duration kAskAgain = std::chrono::seconds(1);
  static constexpr Duration kAnswerMax = std::chrono::milliseconds(500);
  // While the master's link is down.
  static constexpr Duration kAskAgainSoon = std::chrono::milliseconds(100);

  SentinelClient(const RedisUrl& url, const RedisSurroundings& surroundings,
                 RedisStateListener& listener, Instant now);
  ~SentinelClient() override;

  std::optional<CallFailure> send(std::span<const std::string_view> words, std::uint16_t slot,
                                  Instant deadline, RedisCall& call, Instant now) override;
  void forget(RedisCall& call) override { Conversation::forget(call); }
  const LinkState& state() const override { return state_; }

 private:
  // The links.
  void link_changed(Link& link, Instant now) override;
  void link_pushed(const resp::Reply& push, Instant now) override;
  // The sentinel's answer.
  void replied(const resp::Reply& reply, Instant now) noexcept override;
  void failed(CallFailure why, Instant now) noexcept override;

  void ask(Instant now);
  void ask_after(Duration wait, Instant now);
  void blame_sentinel(std::string why, Instant now);
  void update_state(Instant now);

  RedisStateListener& listener_;
  const std::string master_name_;
  const Encryption encryption_;
  const std::array<std::string_view, 3> question_;
  bool is_asking_ = false;
  bool has_moved_ = false;  // master_ has somewhere to go
  std::string complaint_;   // of what a sentinel has said; empty: nothing
  LinkState state_;
  std::unique_ptr<Alarm> next_question_;
  Link sentinel_;
  Link master_;
};

}  // namespace weir
