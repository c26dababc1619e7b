// What nodes of a large fleet hear of each other, by the beat's script in a real Redis.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/recent_traffic.h"
#include "redis/redis_server.h"
#include "store/redis/fleet/fleet_testing.h"
#include "store/redis/fleet/traffic_field.h"
#include "weir/clock.h"

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

// ---- traffic ----

// A node that counts a request each second, and speaks of nothing else.
class Member {
 public:
  Member(std::size_t number, Instant now)
      : name_("node" + std::to_string(number)), recent_(traffic_, now) {}

  // The second that this beat has asked it to add up.
  std::optional<std::int64_t> beat(testing::RedisConnection& redis, Instant now) {
    if (const auto due = field_.due(); due && *due > now) return std::nullopt;
    const std::int64_t seconds = recent_.seconds();
    std::vector<std::string> said;
    field_.say(said, now);
    if (recent_.seconds() > seconds) core_.record({}, Algorithm::kFixedWindow, now);
    const std::string count = std::to_string(said.size());
    std::vector<std::string_view> words = {"EVAL",
                                           kBeatScript,
                                           "2",
                                           "weir:{fleet}:nodes",
                                           "weir:{fleet}:traffic",
                                           "nodes",
                                           "4",
                                           name_,
                                           "5",
                                           "60",
                                           "beats",
                                           "traffic",
                                           count};
    words.insert(words.end(), said.begin(), said.end());
    const resp::Reply told = redis.call(words).at("traffic");
    EXPECT_EQ(field_.hear(told, now), "");
    return told[2][0].integer();
  }
  std::shared_ptr<const TrafficSnapshot> snapshot() const { return recent_.snapshot(); }
  const std::vector<std::string>& warnings() const { return listener_.said; }

 private:
  const std::string name_;
  Traffic traffic_;
  CoreTraffic& core_ = traffic_.add_core();
  RecentTraffic recent_;
  testing::NotedFleet listener_;
  TrafficField field_{name_, recent_, listener_};
};

// Three that are asked to add up a second hang instead: then it is another's turn.
TEST(LargeFleetTraffic, AllNodesHearTheSameSumsThoughSomeThatAddUpHang) {
  constexpr std::size_t kMembers = 150;
  constexpr std::size_t kHang = 3;
  constexpr std::size_t kSeconds = 8;
  const testing::RedisServer server;
  testing::RedisConnection redis(server);
  SystemClock clock;
  std::deque<Member> members;
  for (std::size_t i = 0; i < kMembers; ++i) members.emplace_back(i, clock.now());
  std::map<std::int64_t, std::set<std::uint64_t>> sums;  // of each second
  std::set<std::int64_t> given_up;
  std::vector<bool> hangs(kMembers);
  const Instant end = clock.now() + std::chrono::seconds(60);
  for (bool waits = true; waits && clock.now() < end;) {
    waits = false;
    for (std::size_t at = 0; at < kMembers; ++at) {
      if (hangs[at]) continue;
      const auto asked = members[at].beat(redis, clock.now());
      const auto known = members[at].snapshot();
      const std::uint64_t counted = known->sum.second(0).all.requests;
      if (known->large) sums[known->newest].insert(counted);
      const bool may_hang = known->large && counted > 0 && given_up.size() < kHang;
      if (asked && may_hang) hangs[at] = given_up.insert(*asked).second;
      waits = waits || !known->large || std::cmp_less(known->known_seconds, kSeconds);
    }
  }
  ASSERT_EQ(given_up.size(), kHang);
  std::size_t whole = 0;
  std::size_t taken_over = 0;
  for (const auto& [second, heard] : sums) {
    EXPECT_EQ(heard.size(), 1u) << "all have heard the same of second " << second;
    EXPECT_LE(*heard.begin(), kMembers) << "nothing counts twice";
    whole += *heard.begin() >= kMembers - kHang ? 1 : 0;
    taken_over += given_up.contains(second) && *heard.begin() > 0 ? 1 : 0;
  }
  EXPECT_GE(whole, kSeconds / 2) << "nothing is lost";
  EXPECT_GE(taken_over, 1u);  // a busy machine may come too late for the others
  for (const Member& one : members) EXPECT_TRUE(one.warnings().empty()) << one.warnings()[0];
}

}  // namespace
}  // namespace weir
