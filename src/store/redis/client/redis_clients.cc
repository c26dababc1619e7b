#include "store/redis/client/cluster_client.h"
#include "store/redis/client/link.h"
#include "store/redis/client/redis_client.h"
#include "store/redis/client/redis_url.h"
#include "store/redis/client/sentinel_client.h"

namespace weir {
namespace {

// The client of one Redis that stands alone.
class SingleClient final : public RedisClient {
 public:
  SingleClient(const RedisUrl& url, const RedisSurroundings& surroundings, RedisListener& listener,
               Instant now)
      : link_({.credentials = url.credentials, .database = url.database}, surroundings,
              [&listener](const LinkState& state, Instant at) {
                listener.redis_changed(state, at);
              }) {
    link_.move_to(url.destinations, now);
  }

  std::optional<RedisFailure> send(std::span<const std::string_view> words, std::uint16_t,
                                   Instant deadline, RedisCall& call, Instant now) override {
    return link_.send(words, deadline, call, now);
  }
  void forget(RedisCall& call) override { Conversation::forget(call); }
  const LinkState& state() const override { return link_.state(); }

 private:
  Link link_;
};

}  // namespace

std::unique_ptr<RedisClient> make_redis_client(const RedisUrl& url,
                                               const RedisSurroundings& surroundings,
                                               RedisListener& listener, Instant now) {
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
