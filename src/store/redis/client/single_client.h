// SingleClient: the client of one Redis that stands alone.
//
// Thread rule: one core. Tested by link_test.cc and tests/redis/redis_clients_test.cc.

#pragma once

#include "store/redis/client/link.h"
#include "store/redis/client/redis_clients.h"
#include "store/redis/client/redis_url.h"

namespace weir {

class SingleClient final : public RedisClient, LinkListener {
 public:
  SingleClient(const RedisUrl& url, const RedisSurroundings& surroundings,
               RedisStateListener& listener, Instant now)
      : listener_(listener),
        link_({.credentials = url.credentials, .database = url.database}, surroundings, *this) {
    link_.move_to(url.destinations, now);
  }

  std::optional<CallFailure> send(std::span<const std::string_view> words, std::uint16_t,
                                  Instant deadline, RedisCall& call, Instant now) override {
    return link_.send(words, deadline, call, now);
  }
  void forget(RedisCall& call) override { Conversation::forget(call); }
  const LinkState& state() const override { return link_.state(); }

 private:
  void link_changed(Link& link, Instant now) override {
    listener_.redis_changed(link.state(), now);
  }

  RedisStateListener& listener_;
  Link link_;
};

}  // namespace weir
