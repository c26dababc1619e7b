// Makes the client that a URL asks for.
//
// Thread rule: the core that the client is for. Tested by tests/redis/redis_clients_test.cc.

#pragma once

#include <memory>

#include "store/redis/client/link.h"
#include "store/redis/client/redis_client.h"
#include "store/redis/client/redis_url.h"

namespace weir {

// Hears (for the log, say) that a client's state has changed.
class RedisStateListener {
 public:
  virtual void redis_changed(const LinkState& state, Instant now) = 0;

 protected:
  ~RedisStateListener() = default;
};

// Starts connecting at once, and never stops trying. The parts of `surroundings`, and
// `listener`, must outlive the client; calls in flight when it goes fail: kDisconnected.
std::unique_ptr<RedisClient> make_redis_client(const RedisUrl& url,
                                               const RedisSurroundings& surroundings,
                                               RedisStateListener& listener, Instant now);

}  // namespace weir
