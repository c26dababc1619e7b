#include "store/redis/client/redis_clients.h"

#include "store/redis/client/cluster_client.h"
#include "store/redis/client/sentinel_client.h"
#include "store/redis/client/single_client.h"

namespace weir {

std::unique_ptr<RedisClient> make_redis_client(const RedisUrl& url,
                                               const RedisSurroundings& surroundings,
                                               RedisStateListener& listener, Instant now) {
  switch (url.topology) {
    case RedisUrl::Topology::kSentinel:
      return std::make_unique<SentinelClient>(url, surroundings, listener, now);
    case RedisUrl::Topology::kCluster:
      return std::make_unique<ClusterClient>(url, surroundings, listener, now);
    case RedisUrl::Topology::kSingle: break;
  }
  return std::make_unique<SingleClient>(url, surroundings, listener, now);
}

}  // namespace weir
