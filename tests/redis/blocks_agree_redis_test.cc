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

// What a node with nothing to say is answered, if it knows these news.
class Quiet {
 public:
  explicit Quiet(const testing::RedisServer& server) : redis_(server) {}

  std::string beat(const std::string& known) {
    const resp::Reply told = redis_.call({"EVAL",
                                          kBeatScript,
                                          "5",
                                          kNodes,
                                          "weir:{fleet}:news",
                                          "weir:{fleet}:secret",
                                          "weir:{fleet}:blocks",
                                          "weir:{fleet}:rules",
                                          "nodes",
                                          "4",
                                          "me",
                                          "5",
                                          "60",
                                          "beats",
                                          "news",
                                          "1",
                                          known,
                                          "secret",
                                          "2",
                                          "sesame",
                                          "",
                                          "blocks",
                                          "2",
                                          "me",
                                          "0-0",
                                          "rules",
                                          "4",
                                          "me",
                                          "word",
                                          "0 0",
                                          "0"});
    news_ = told.at("news").text();
    std::string names;
    for (const std::string_view name : {"nodes", "secret", "blocks", "rules"}) {
      if (!told.at(name).is_null()) names += std::string(name) + ' ';
    }
    return names;
  }
  void change(const std::vector<std::string_view>& command) { redis_.call(command); }
  void block() {
    redis_.call({"EVAL", kBeatScript, "2", "weir:{fleet}:blocks", "weir:{fleet}:news", "blocks",
                 "5", "other", "0-0", "bytes", "60000", "60000", "news", "1", ""});
  }
  void change_rules() {
    redis_.call({"EVAL", kBeatScript, "2", "weir:{fleet}:rules", "weir:{fleet}:news", "rules", "7",
                 "other", "word", "0 0", "0", "1", "1 77", "bytes", "news", "1", ""});
  }
  const std::string& news() const { return news_; }

 private:
  static constexpr std::string_view kNodes = "weir:{fleet}:nodes";
  testing::RedisConnection redis_;
  std::string news_;
};

// Each beat was answered in full, whatever it knew.
TEST(BeatNews, WhatNobodyHasChangedIsPassedOver) {
  const testing::RedisServer server;
  Quiet node(server);
  const std::string all = "nodes secret blocks rules ";
  const std::string long_one = "17 " + std::string(300, 'r');
  EXPECT_EQ(node.beat(""), all);
  const std::string first = node.news();
  EXPECT_EQ(node.beat(first), "nodes ");
  EXPECT_EQ(node.news(), first);
  node.block();
  EXPECT_EQ(node.beat(first), "nodes blocks ");
  const std::string second = node.news();
  EXPECT_NE(second, first);
  EXPECT_EQ(node.beat(second), "nodes ");
  node.block();
  node.change_rules();
  EXPECT_EQ(node.beat(second), "nodes blocks rules ");
  EXPECT_EQ(node.beat(first), "nodes blocks rules ") << "another has missed more";
  for (const std::vector<std::string_view>& loss : {std::vector<std::string_view>{"FLUSHALL"},
                                                    {"DEL", "weir:{fleet}:news"},
                                                    {"SET", "weir:{fleet}:news", "rain"},
                                                    {"SET", "weir:{fleet}:news", ""},
                                                    {"SET", "weir:{fleet}:news", long_one}}) {
    const std::string before = node.news();
    node.change(loss);
    EXPECT_EQ(node.beat(loss[0] == "SET" ? std::string(loss[2]) : before), all) << loss[0];
    EXPECT_EQ(node.beat(node.news()), "nodes ") << loss[0];
  }
  node.change({"DEL", "weir:{fleet}:news"});
  node.change({"HSET", "weir:{fleet}:news", "another", "type"});
  EXPECT_EQ(node.beat("1"), all);
  EXPECT_EQ(node.beat(node.news()), "nodes ");
}

}  // namespace
}  // namespace weir
