// The nodes of blocks_agree_test.cc, with the beat's script in a real Redis.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "redis/redis_server.h"
#include "store/redis/fleet/blocks_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::BlocksWorld;

#include "store/redis/fleet/beat_script.inc"

class RealRedis {
 public:
  explicit RealRedis(const testing::RedisServer& server) : connection_(server) { lose(); }

  // With the times of the server, and not of the world, in which little time passes.
  resp::Reply beat(const std::vector<std::string>& words, Instant) {
    const std::string count = std::to_string(words.size());
    std::vector<std::string_view> all = {"EVAL",   kBeatScript, "1", "weir:{fleet}:blocks",
                                         "blocks", count};
    all.insert(all.end(), words.begin(), words.end());
    return connection_.call(all).at("blocks");
  }
  void lose() { connection_.call({"FLUSHALL"}); }
  // The last act, as a replica that takes over may lack it.
  void forget() {
    connection_.call({"EVAL",
                      "local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1] "
                      "if last then redis.call('XDEL', KEYS[1], last[1]) end",
                      "1", "weir:{fleet}:blocks"});
  }

 private:
  testing::RedisConnection connection_;
};

TEST(BlocksAgreeRedis, AfterTwoBeatsAllNodesFollowTheNewestActs) {
  const testing::RedisServer server;
  for (unsigned seed = 0; seed < 100 && !HasFailure(); ++seed) {
    RealRedis redis(server);
    BlocksWorld world(redis, {.seed = seed, .step_max = 1ms, .skew_max = 5s},
                      instant_from_epoch_us(1'700'000'000'000'000));
    for (unsigned i = 0; i < 60; ++i) world.step();
    world.settle();
    world.expect_agreement();
  }
}

}  // namespace
}  // namespace weir
