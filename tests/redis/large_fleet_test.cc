// What nodes of a large fleet hear of each other, by the beat's script in a real Redis.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "redis/redis_server.h"

namespace weir {
namespace {

#include "store/redis/fleet/beat_script.inc"

constexpr int kNodes = 600;
constexpr std::size_t kHeardMax = 128;

class LargeFleet : public ::testing::Test {
 protected:
  LargeFleet() {
    for (int i = 0; i < kNodes; ++i) about(i, "I am " + std::to_string(i));
  }
  // The names and words of others that it hears.
  std::vector<std::string> about(int node, const std::string& word) {
    const std::string name = "node" + std::to_string(node);
    const resp::Reply told = redis_.call({"EVAL", kBeatScript, "1", kKey, "about", "5", name, "15",
                                          std::to_string(kHeardMax), "100", word});
    std::vector<std::string> texts;
    for (const resp::Reply text : told.at("about")) texts.emplace_back(text.text());
    return texts;
  }
  std::string count() { return std::to_string(*redis_.call({"HLEN", kKey}).integer()); }

  static constexpr std::string_view kKey = "weir:{fleet}:about";
  const testing::RedisServer server_;
  testing::RedisConnection redis_{server_};
};

// The words of all were thrown away at each beat, and each node looked at all names.
TEST_F(LargeFleet, NodesHearOthersInTurnAndTogetherOfAll) {
  std::set<std::string> heard;
  for (int i = 0; i < kNodes; i += 10) {
    const auto texts = about(i, "again");
    ASSERT_EQ(texts.size(), 2 * kHeardMax);
    for (std::size_t at = 0; at < texts.size(); at += 2) {
      EXPECT_NE(texts[at], "node" + std::to_string(i));
      EXPECT_TRUE(texts[at + 1] == "again" || texts[at + 1] == "I am " + texts[at].substr(4));
      heard.insert(texts[at]);
    }
  }
  EXPECT_EQ(heard.size(), static_cast<std::size_t>(kNodes));
  EXPECT_EQ(count(), std::to_string(kNodes));
}

TEST_F(LargeFleet, WhatNoNodeSaysGoesWhereverItStands) {
  for (int i = 0; i < 50; ++i) {
    redis_.call({"HSET", kKey, "old" + std::to_string(i), "1 of long ago"});
    redis_.call({"HSET", kKey, "garbage" + std::to_string(i), "garbage"});
    redis_.call({"HSET", kKey, "long" + std::to_string(i), "1 " + std::string(1000, 'x')});
  }
  for (int i = 0; i < kNodes; ++i) about(i, "again");
  EXPECT_EQ(count(), std::to_string(kNodes));
}

TEST_F(LargeFleet, MoreNamesThanAFleetHasAllGo) {
  for (int i = 0; i < 4096; ++i) redis_.call({"HSET", kKey, "x" + std::to_string(i), "x"});
  about(0, "again");
  EXPECT_EQ(count(), "0");
}

}  // namespace
}  // namespace weir
