// SentinelClient: the client of a master that sentinels watch over.
//
//   one link to a sentinel    asks which address the master has, and takes announcements of another
//   one link to the master    carries the commands
//
// A sentinel's word is a hint. The client uses a server only if the server says itself, in the
// handshake, that it is a master. So the client does not write to an old master that comes back as
// a replica, however late a sentinel is. The client asks a sentinel again when the master's link is
// lost or has failed, when one announces a switch, and every kAskAgain, as announcements get lost.
//
// Thread rule: one core. Tested by clients_test.cc.

#pragma once

#include <array>
#include <string>
#include <string_view>

#include "store/redis/client/informant.h"
#include "store/redis/client/redis_url.h"

namespace weir {

class SentinelClient final : public RedisClient {
 public:
  static constexpr Duration kAskAgain = std::chrono::seconds(1);
  static constexpr Duration kAnswerMax = std::chrono::milliseconds(500);
  // While the master's link is down.
  static constexpr Duration kAskAgainSoon = std::chrono::milliseconds(100);

  SentinelClient(const RedisUrl& url, const RedisSurroundings& surroundings,
                 RedisListener& listener, Instant now);

  std::optional<RedisFailure> send(std::span<const std::string_view> words, std::uint16_t slot,
                                   Instant deadline, RedisCall& call, Instant now) override;
  void forget(RedisCall& call) override { Conversation::forget(call); }
  const LinkState& state() const override { return state_; }

 private:
  void sentinel_changed(Instant now);
  void master_changed(Instant now);
  void announced(const resp::Reply& push, Instant now);
  std::string go_to_master(const resp::Reply& address, Instant now);
  void update_state(Instant now);

  RedisListener& listener_;
  const std::string master_name_;
  const Encryption encryption_;
  const std::array<std::string_view, 3> question_;
  bool has_moved_ = false;  // master_ knows an address
  LinkState state_;
  Informant sentinel_;
  Link master_;
};

}  // namespace weir
