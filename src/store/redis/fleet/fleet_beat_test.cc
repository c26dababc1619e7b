// When a node beats, and its words.

#include "store/redis/fleet/fleet_beat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/block_bytes.h"
#include "store/redis/calls/calls_testing.h"
#include "store/redis/client/client_testing.h"
#include "store/redis/fleet/fleet_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::resp_integer;
using testing::resp_list;
using testing::resp_text;
using Words = std::vector<std::string>;

const std::set<std::string> kWaiting = {"secret", "blocks", "switches", "rules", "tenants"};

class FleetBeatTest : public ::testing::Test {
 protected:
  void begin(const std::string& name) {
    FleetBeat::World world = node_.world(client_, reactor_);
    world.topics.rules = &rules_;
    world.topics.tenants = &tenants_;
    beat_.emplace(FleetBeat::Options{.prefix = "weir:", .interval = 100ms, .node = name}, world,
                  reactor_.now());
  }
  // The words of the next beat.
  Words next() {
    while (client_.sent.empty()) reactor_.advance(1ms);
    return client_.sent.front().words;
  }
  // Answers that so many nodes are alive.
  void answer(std::int64_t nodes) {
    client_.reply(resp_list({resp_text("nodes"),
                             resp_list({resp_integer(nodes), resp_integer(0), resp_integer(0)})}),
                  reactor_.now());
  }
  // Answers as a Redis with those news, except for one field.
  void answer_all(std::string_view news, std::string_view lacking = {});
  // The news that the next beat knows, and the fields that wait for others.
  using Waiting = std::pair<std::string, std::set<std::string>>;
  Waiting waiting();

  int beats_in_10s(std::int64_t nodes) {
    next();
    answer(nodes);
    int beats = 0;
    for (const Instant end = reactor_.now() + 10s; reactor_.now() < end; ++beats) {
      next();
      answer(nodes);
    }
    return beats;
  }

  std::int64_t nodes_ = 2;   // that are alive
  std::string taken_ = "7";  // the second in which Redis took the secret
  std::string blocks_told_ = resp_list({});
  std::string tenants_told_ =
      resp_list({resp_text(""), resp_text(""), resp_integer(0), resp_integer(1)});

  FakeReactor reactor_;
  FakeClient client_;
  testing::FleetNode node_{reactor_.now()};
  SharedRules rules_{"me", [](Instant) {}};
  SharedTenants tenants_{[](Instant) {}};
  std::optional<FleetBeat> beat_;
};

// Each field with its words, in beat.lua's order.
std::vector<std::pair<std::string, Words>> fields_of(const Words& words) {
  const std::size_t count = std::stoul(words[2]);
  std::vector<std::pair<std::string, Words>> fields;
  for (std::size_t at = 3 + count; fields.size() < count; at += 2 + fields.back().second.size()) {
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(at) + 2;
    fields.push_back({words[at], Words(first, first + std::stol(words[at + 1]))});
  }
  return fields;
}

void FleetBeatTest::answer_all(std::string_view news, std::string_view lacking) {
  const std::string secret(HashSecret{}.bytes.size(), 's');
  std::vector<std::string> told;
  bool passes_over = false;
  for (const auto& [name, words] : fields_of(client_.sent.front().words)) {
    if (passes_over || name == lacking) continue;
    passes_over = name == "news" && words[0] == news;
    told.push_back(resp_text(name));
    told.push_back(name == "nodes"     ? resp_list({resp_integer(nodes_)})
                   : name == "secret"  ? resp_text(secret + taken_ + " 7")
                   : name == "news"    ? resp_text(news)
                   : name == "blocks"  ? blocks_told_
                   : name == "rules"   ? resp_list({resp_text(""), resp_text("")})
                   : name == "tenants" ? tenants_told_
                                       : resp_list({}));
  }
  client_.reply(resp_list(told), reactor_.now());
}

FleetBeatTest::Waiting FleetBeatTest::waiting() {
  Waiting waiting("none", {});
  bool is_behind_news = false;
  for (const auto& [name, words] : fields_of(next())) {
    if (is_behind_news) waiting.second.insert(name);
    if (name == "news") std::tie(is_behind_news, waiting.first) = std::pair(true, words[0]);
  }
  return waiting;
}

bool speaks_of_traffic(const Words& words) { return std::ranges::count(words, "traffic") > 0; }

// Once each beat carried 13.8 KB of script, which Redis hashed.
TEST_F(FleetBeatTest, SendsItsScriptOnlyToARedisThatDoesNotKnowIt) {
  begin("me");
  const Words by_hash = next();
  EXPECT_EQ(by_hash[0], "EVALSHA");
  client_.reply("-NOSCRIPT No matching script. Please use EVAL.\r\n", reactor_.now());
  ASSERT_EQ(client_.sent.size(), 1u);
  const Words by_text = next();
  EXPECT_EQ(by_text[0], "EVAL");
  EXPECT_NE(by_text[1].find("redis.call"), std::string::npos);
  EXPECT_TRUE(
      std::ranges::equal(by_hash.begin() + 2, by_hash.end(), by_text.begin() + 2, by_text.end()));
  answer(2);
  EXPECT_EQ(node_.state.live_nodes(), 2);
  EXPECT_EQ(next()[0], "EVALSHA");
  for (int i = 0; i < 2; ++i) client_.reply("-NOSCRIPT\r\n", reactor_.now());
  EXPECT_TRUE(client_.sent.empty());
  EXPECT_NE(node_.state.beat_failure().find("NOSCRIPT"), std::string::npos);
}

TEST_F(FleetBeatTest, IsRarerInALargeFleet) {
  begin("me");
  EXPECT_GE(beats_in_10s(200), 100);
  EXPECT_LE(beats_in_10s(1000), 30) << "two turns a second, and one when the second ends";
  EXPECT_LE(beats_in_10s(100'000), 11);
  EXPECT_GE(beats_in_10s(100'000), 10) << "to be alive";
  EXPECT_GE(beats_in_10s(3), 90);
}

// Once each beat asked for all fields, which took Redis three times as long.
TEST_F(FleetBeatTest, FieldsWithNothingToSayWaitForNews) {
  begin("me");
  EXPECT_EQ(waiting(), Waiting());
  for (int i = 0; i < 5; ++i) {
    answer_all("17");
    next();
  }
  EXPECT_EQ(waiting(), Waiting("17", kWaiting));
  node_.blocks.add({.rule = "r", .key = "k", .since = reactor_.now(), .until = reactor_.now() + 1h},
                   reactor_.now());
  answer_all("17");
  EXPECT_EQ(waiting().second, (std::set<std::string>{"secret", "switches", "rules", "tenants"}));
  answer_all("18");  // of all fields
  EXPECT_EQ(waiting().first, "18");
  bool asked_all = false;  // now and then
  for (const Instant end = reactor_.now() + 1s; reactor_.now() < end;) {
    asked_all = waiting().first.empty() || asked_all;
    answer_all("18");
  }
  EXPECT_TRUE(asked_all);
}

// The id of the last act then differed, and the same was asked again. Redis is so near that its
// answer comes before the field's turn. Beats went on at once, and none asked for the field.
TEST_F(FleetBeatTest, WhatComesInPartsIsAskedForInEachBeat) {
  begin("me");
  const std::string secret(HashSecret{}.bytes.size(), 's');
  nodes_ = 10;
  tenants_told_ = resp_list({resp_text("1 5"), resp_text(secret), resp_integer(0), resp_integer(0),
                             resp_text("65536"), resp_text("0"), resp_text("")});
  for (int part = 0; part < 5; ++part) {
    const Words words = next();
    EXPECT_EQ(std::ranges::count(words, "tenants"), 1) << part;
    answer_all("17");
  }
}

TEST_F(FleetBeatTest, WhoHasHeardOfABlockWaitsForTheNext) {
  begin("me");
  for (int i = 0; i < 5; ++i) {
    next();
    answer_all("17");
  }
  ASSERT_TRUE(waiting().second.contains("blocks"));
  const Block block{.rule = "r", .key = "k", .since = reactor_.now(), .until = reactor_.now() + 1h};
  blocks_told_ = resp_list({resp_integer(1000), resp_integer(7), resp_text("900-0"),
                            resp_text("other"), resp_text(to_bytes(block)), resp_text("5000")});
  answer_all("18");
  EXPECT_TRUE(node_.blocks.until("r", "k", reactor_.now()));
  EXPECT_TRUE(waiting().second.contains("blocks"));
  EXPECT_EQ(waiting().first, "18");
}

// Once nodes missed a change of rules for a second.
TEST_F(FleetBeatTest, WhoWasSilentWhenNewsCameDoesNotWaitForOthers) {
  begin("me");
  const auto speak = [&] {
    return std::ranges::count(fields_of(next()), "rules", &std::pair<std::string, Words>::first);
  };
  const auto is_settled = [&] { return waiting() == Waiting("17", kWaiting); };
  int beats = 0;
  for (next(); beats < 5 || !is_settled(); ++beats, next()) {
    ASSERT_LT(beats, 100);
    answer_all("17");
  }
  for (beats = 0; speak() > 0; ++beats) {
    ASSERT_LT(beats, 100);
    answer_all("17");
  }
  answer_all("18");
  for (; speak() == 0; ++beats) {
    ASSERT_LT(beats, 100);
    answer_all("18");
  }
  EXPECT_FALSE(waiting().second.contains("rules"));
}

// Once keys got the same names again with each beat, or the log often said that Redis had lost all.
TEST_F(FleetBeatTest, TheSecretIsFoundOnceAndLostOnce) {
  begin("me");
  for (int i = 0; i < 5; ++i) {
    next();
    answer_all("17");
  }
  EXPECT_EQ(node_.listener.secrets.size(), 1u);
  node_.listener.said.clear();
  taken_ = "8";
  for (int i = 0; i < 5; ++i) {
    next();
    answer_all("18");
  }
  EXPECT_EQ(node_.listener.secrets.size(), 1u);
  EXPECT_EQ(node_.listener.said.size(), 1u);
}

// Once a load of tenants waited a second for a word of Redis.
TEST_F(FleetBeatTest, WhoIsPassedOverKnowsThatRedisHasNothingNew) {
  begin("me");
  for (int i = 0; i < 5; ++i) {
    next();
    answer_all("17");
  }
  tenants_.fail();
  EXPECT_TRUE(tenants_.await_word(0s)) << "it has failed";
  ASSERT_TRUE(waiting().second.contains("tenants"));
  answer_all("17");
  EXPECT_FALSE(tenants_.await_word(0s));
}

// Else a node would not hear of changes until it asks for all.
TEST_F(FleetBeatTest, NewsDoNotCountWithoutTheAnswersThatTheyComeWith) {
  begin("me");
  const auto settle = [&] {
    for (int i = 0; i < 5 || waiting().second != kWaiting || waiting().first.empty(); ++i) {
      ASSERT_LT(i, 100);
      next();
      answer_all("17");
    }
  };
  settle();
  answer_all("18", "news");
  EXPECT_EQ(waiting().first, "");
  answer_all("18", "secret");
  EXPECT_EQ(waiting().first, "") << "it asked for all, and was passed over";
  settle();
  node_.blocks.add({.rule = "r", .key = "k", .since = reactor_.now(), .until = reactor_.now() + 1h},
                   reactor_.now());
  answer_all("17");
  ASSERT_FALSE(waiting().second.contains("blocks"));
  answer_all("18", "blocks");
  EXPECT_EQ(waiting().first, "") << "it has asked for its blocks";
}

// The clocks of all nodes end their seconds together, and once Redis had all their words at once.
TEST_F(FleetBeatTest, NodesOfALargeFleetSpeakOfASecondOneAfterTheOther) {
  std::vector<Duration> said;
  for (int i = 0; i < 20; ++i) {
    begin("node" + std::to_string(i));
    next();
    answer(2000);
    const Instant end = node_.recent_traffic.next_tick();
    while (!speaks_of_traffic(next())) answer(2000);
    said.push_back(reactor_.now() - end);
    answer(2000);
    beat_.reset();
  }
  std::ranges::sort(said);
  EXPECT_GE(said.front(), 0ms);
  EXPECT_LT(said.front(), 150ms);
  EXPECT_GT(said.back(), 600ms);
  EXPECT_LT(said.back(), 751ms);
  EXPECT_EQ(std::ranges::adjacent_find(said), said.end());
}

}  // namespace
}  // namespace weir
