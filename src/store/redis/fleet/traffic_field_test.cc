// The field speaks and reads answers; in tests/e2e/traffic_test.py the script answers.

#include "store/redis/fleet/traffic_field.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "proto/resp/reply_reader.h"
#include "store/redis/fleet/fleet_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using namespace weir::testing;
using Scope = TrafficSnapshot::Scope;

std::string bytes_of(std::uint64_t requests, std::string_view rule = {}) {
  TrafficWord word{.all = {requests, 0}};
  if (!rule.empty()) word.rules = {{.hash = rule_hash(rule), .counts = {requests, 0}}};
  return to_bytes(word);
}

class TrafficFieldTest : public ::testing::Test {
 protected:
  // By Redis's clock; the node's is far behind.
  static constexpr std::int64_t kRedisSecond = 1'795'000'000;

  void requests(int times, std::string_view rule = "login") {
    for (int i = 0; i < times; ++i) {
      core_.record({.verdict = Verdict::kAllowed}, Algorithm::kSlidingWindow, now_);
      core_.record_rule(traffic_.rules().number_of(rule), RuleOutcome::kAllowed, 1, now_);
    }
  }
  void advance(Duration by) { now_ += by; }
  std::int64_t redis_us() const { return kRedisSecond * 1'000'000 + (now_ - kStart) / Duration(1); }

  // The field's words now: its counts.
  std::string say() {
    words_.clear();
    field_.say(words_, now_);
    EXPECT_GE(words_.size(), 4u);
    EXPECT_EQ(words_[0], "me");
    return words_[1];
  }
  void hear(const std::string& reply) {
    resp::ReplyReader reader;
    ASSERT_EQ(reader.read(reply), resp::ReplyReader::Status::kReply);
    EXPECT_EQ(field_.hear(reader.reply(), now_), "");
  }
  void hear_taken(const std::string& taken = resp_integer(1)) {
    hear(resp_list({resp_integer(redis_us()), taken, resp_list({})}));
  }
  void hear_second(std::int64_t second, const std::vector<std::string>& names_and_counts) {
    hear(resp_list({resp_integer(redis_us()), resp_integer(1), resp_list({}), resp_integer(second),
                    resp_list(names_and_counts)}));
  }

  static constexpr Instant kStart = instant_from_epoch_us(1'000'000'000'000);
  Instant now_ = kStart;
  Traffic traffic_;
  CoreTraffic& core_ = traffic_.add_core();
  RecentTraffic recent_{traffic_, now_};
  NotedFleet warnings_;
  TrafficField field_{"me", recent_, warnings_};
  std::vector<std::string> words_;
};

TEST_F(TrafficFieldTest, SaysEachSecondOnce) {
  EXPECT_EQ(say(), "");  // asks which time it is
  EXPECT_EQ(words_[2], "0");
  hear_taken(resp_integer(0));
  EXPECT_GT(field_.due(), now_);
  requests(3);
  advance(1005ms);
  const auto word = traffic_word(say());
  ASSERT_TRUE(word);
  EXPECT_EQ(word->all, (TrafficCounts{3, 0}));
  EXPECT_EQ(word->totals.requests(), 3u);
  ASSERT_EQ(word->rules.size(), 1u);
  EXPECT_EQ(word->rules[0].hash, rule_hash("login"));
  hear_taken();
  EXPECT_GT(field_.due(), now_);
  EXPECT_EQ(say(), "");
}

TEST_F(TrafficFieldTest, WhatRedisHasNotTakenIsNotAddedToTheNextSecond) {
  requests(3);
  advance(1005ms);
  say();
  hear_taken(resp_integer(0));
  EXPECT_GT(field_.due(), now_) << "not before";
  requests(4);
  advance(1s);
  EXPECT_EQ(traffic_word(say())->all.requests, 4u);
}

TEST_F(TrafficFieldTest, WhatNobodyAnsweredIsNotSaidTwice) {
  requests(3);
  advance(1005ms);
  say();
  requests(4);
  advance(1s);
  EXPECT_EQ(traffic_word(say())->all.requests, 4u);
}

TEST_F(TrafficFieldTest, SaysOfAnOutageItsLastSecondAlone) {
  advance(5ms);
  say();
  hear_taken();
  for (int i = 0; i < 60; ++i) {
    requests(10);
    advance(1s);
    recent_.tick(now_);
  }
  EXPECT_EQ(traffic_word(say())->all.requests, 10u);
}

TEST_F(TrafficFieldTest, FollowsTheClockOfRedis) {
  advance(300ms);  // of a second there
  hear_taken();
  EXPECT_EQ(recent_.next_tick(), kStart + 1005ms);
  advance(1s);
  now_ -= 250ms;  // ours is slow
  say();
  hear(resp_list({resp_integer(kRedisSecond * 1'000'000 + 1'300'000), resp_integer(1)}));
  EXPECT_EQ(recent_.next_tick(), kStart + 1050ms + 700ms + 5ms);
}

TEST_F(TrafficFieldTest, AnAnswerThatTookLongDoesNotMoveTheSeconds) {
  hear_taken();
  EXPECT_EQ(recent_.next_tick(), kStart + 1005ms);
  now_ += 400ms;
  hear(
      resp_list({resp_integer(kRedisSecond * 1'000'000 + 20'000), resp_integer(1)}));  // 380 ms ago
  EXPECT_EQ(recent_.next_tick(), kStart + 1006ms);
  now_ += 2h;  // the clock was set
  hear(resp_list({resp_integer(kRedisSecond * 1'000'000 + 30'000), resp_integer(1)}));
  recent_.tick(now_);
  EXPECT_EQ(recent_.next_tick(), now_ + 970ms + 5ms);
}

TEST_F(TrafficFieldTest, AddsUpWhatNodesSayOfASecond) {
  const RuleNumber login = traffic_.rules().number_of("login");
  hear_second(kRedisSecond - 2,
              {resp_text("me"), resp_text(bytes_of(5, "login")), resp_text("other"),
               resp_text(bytes_of(7, "login")), resp_text("third"),
               resp_text(bytes_of(9, "of another configuration"))});
  const auto snapshot = recent_.snapshot();
  EXPECT_EQ(snapshot->scope, Scope::kFleet);
  EXPECT_EQ(snapshot->newest, kRedisSecond - 2);
  EXPECT_EQ(snapshot->sum.all(), (TrafficCounts{21, 0}));
  EXPECT_EQ(snapshot->sum.of(login), (TrafficCounts{12, 0}));
  EXPECT_EQ(snapshot->sum.rules().size(), 1u);
  EXPECT_TRUE(warnings_.said.empty());
  say();
  EXPECT_EQ(words_[2], std::to_string(kRedisSecond - 2));
}

TEST_F(TrafficFieldTest, ReadsTheRestAtOnce) {
  hear_second(kRedisSecond - 11, {resp_text("me"), resp_text(bytes_of(5))});
  EXPECT_LE(field_.due(), now_);
  say();
  hear_second(kRedisSecond - 2, {resp_text("me"), resp_text(bytes_of(5))});
  EXPECT_GT(field_.due(), now_);
}

TEST_F(TrafficFieldTest, GarbageCountsAsNothingAndIsNamedOnce) {
  std::string later = bytes_of(5);
  later[0] = '3';
  const std::vector<std::string> garbage = {
      resp_text("me"),   resp_text(bytes_of(5)), resp_text("a"),  resp_text(later),
      resp_text("b"),    resp_text("rubbish"),   resp_integer(7), resp_list({}),
      resp_text("d"),    resp_text(""),          resp_text("me"), resp_text(bytes_of(6)),
      resp_text("alone")};
  hear_second(kRedisSecond - 3, garbage);
  hear_second(kRedisSecond - 2, garbage);
  EXPECT_EQ(recent_.snapshot()->sum.all(2), (TrafficCounts{10, 0}));
  EXPECT_EQ(recent_.snapshot()->nodes.size(), 1u);
  EXPECT_EQ(warnings_.said.size(), 1u);
}

TEST_F(TrafficFieldTest, WhatRedisRefusesIsNamedOnceAndTheNodeStandsForItself) {
  requests(3);
  advance(1005ms);
  say();
  for (int i = 0; i < 2; ++i) {
    hear(resp_list({resp_integer(redis_us()), resp_text("WRONGTYPE it is"), resp_list({}),
                    resp_integer(kRedisSecond - 2), resp_text("NOPERM you may not")}));
  }
  ASSERT_EQ(warnings_.said.size(), 1u);
  EXPECT_TRUE(warnings_.said[0].ends_with("WRONGTYPE it is")) << warnings_.said[0];
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kNode);
  EXPECT_EQ(recent_.snapshot()->sum.all(), (TrafficCounts{3, 0}));
}

TEST_F(TrafficFieldTest, AnAnswerOfAnotherShapeIsNone) {
  hear(resp_integer(1));
  hear(resp_list({resp_text("now"), resp_integer(1)}));
  hear(resp_list({resp_integer(redis_us()), resp_integer(1), resp_list({}), resp_text("one"),
                  resp_list({}), resp_integer(kRedisSecond - 2)}));
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kNode);
}

TEST_F(TrafficFieldTest, AClockThatWasSetBackBeginsAnew) {
  hear_second(kRedisSecond - 2, {resp_text("me"), resp_text(bytes_of(5))});
  hear(resp_list({resp_integer((kRedisSecond - 3600) * 1'000'000), resp_integer(1)}));
  say();
  EXPECT_EQ(words_[2], "0");
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kNode);
}

// ---- a large fleet ----

TEST_F(TrafficFieldTest, AddsUpASecondOfALargeFleetPieceByPiece) {
  const std::string second = std::to_string(kRedisSecond - 2);
  const auto piece = [&](const char* next, const std::string& name, std::uint64_t requests) {
    return resp_list({resp_integer(kRedisSecond - 2), resp_text(next), resp_text(name),
                      resp_text(bytes_of(requests, "login"))});
  };
  hear(resp_list({resp_integer(redis_us()), resp_integer(1), piece("96", "a", 5)}));
  EXPECT_LE(field_.due(), now_) << "at once";
  say();
  EXPECT_EQ(std::vector(words_.begin() + 4, words_.end()),
            (std::vector<std::string>{second, "96", ""}));
  say();
  EXPECT_EQ(words_[5], "96") << "nobody has answered";
  hear(resp_list({resp_integer(redis_us()), resp_integer(0), piece("0", "b", 7)}));
  hear(resp_list({resp_integer(redis_us()), resp_integer(0), piece("0", "b", 7)}));
  EXPECT_LE(field_.due(), now_);
  say();
  ASSERT_EQ(words_.size(), 7u);
  EXPECT_EQ(words_[4], second);
  EXPECT_EQ(words_[5], "");
  const auto sum = traffic_sum(words_[6]);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->nodes, 2u);
  const auto add = [](std::uint64_t all, const TrafficWord& one) { return all + one.all.requests; };
  EXPECT_EQ(std::accumulate(sum->groups.begin(), sum->groups.end(), std::uint64_t{0}, add), 12u);
  hear_taken(resp_integer(0));
  EXPECT_GT(field_.due(), now_);
  say();
  EXPECT_EQ(words_.size(), 4u) << "it is done";
}

TEST_F(TrafficFieldTest, AsksAgainForASecondThatNobodyHasAddedUp) {
  hear_second(kRedisSecond - 3, {resp_text("me"), resp_text(bytes_of(5))});
  say();
  hear_taken(resp_integer(0));
  EXPECT_LT(field_.due(), recent_.next_tick());
  EXPECT_GT(field_.due(), now_);
  hear_second(kRedisSecond - 2, {resp_text("me"), resp_text(bytes_of(5))});
  EXPECT_EQ(field_.due(), recent_.next_tick());
}

TEST_F(TrafficFieldTest, WhoTookTooLongAddsUpTheNextSecondFromItsStart) {
  const auto piece = [&](std::int64_t second, const char* next, const std::string& name) {
    return resp_list(
        {resp_integer(second), resp_text(next), resp_text(name), resp_text(bytes_of(1))});
  };
  hear(resp_list({resp_integer(redis_us()), resp_integer(1), piece(kRedisSecond - 2, "96", "a")}));
  hear(resp_list({resp_integer(redis_us()), resp_integer(1), piece(kRedisSecond - 1, "0", "b")}));
  say();
  const auto sum = traffic_sum(words_.back());
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->nodes, 1u);
  EXPECT_EQ(sum->first, "b");
}

TEST_F(TrafficFieldTest, HearsWhatALargeFleetComesTo) {
  const RuleNumber login = traffic_.rules().number_of("login");
  TrafficAdder adder;
  for (int i = 0; i < 500; ++i) {
    adder.add("node-" + std::to_string(i), *traffic_word(bytes_of(2, "login")));
  }
  const std::string sum = to_bytes(adder.sum());
  // Redis has taken this node's word for the second before its clock's.
  hear_taken();
  hear_second(kRedisSecond - 1, {resp_text(""), resp_text(sum)});
  const auto snapshot = recent_.snapshot();
  EXPECT_EQ(snapshot->scope, Scope::kFleet);
  EXPECT_EQ(snapshot->node_count(), 500u);
  ASSERT_TRUE(snapshot->large);
  EXPECT_EQ(snapshot->large->first, "node-0");
  EXPECT_EQ(snapshot->nodes.size(), TrafficSum::kGroups);
  EXPECT_EQ(snapshot->sum.of(login), (TrafficCounts{1000, 0}));
  hear_second(kRedisSecond, {resp_text(""), resp_text("rubbish")});
  hear_second(kRedisSecond, {resp_text(""), resp_text(sum.substr(1))});
  EXPECT_EQ(recent_.snapshot()->sum.of(login), (TrafficCounts{1000, 0}));
  EXPECT_EQ(warnings_.said.size(), 1u);
}

TEST_F(TrafficFieldTest, SumsWithoutThisNodesWordDoNotStandForTheFleet) {
  TrafficAdder adder;
  adder.add("other", *traffic_word(bytes_of(2)));
  hear(resp_list({resp_integer(redis_us()), resp_integer(0), resp_list({}),
                  resp_integer(kRedisSecond - 2),
                  resp_list({resp_text(""), resp_text(to_bytes(adder.sum()))})}));
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kNode);
}

// Rules that are busy in the fleet and not here.
TEST_F(TrafficFieldTest, SaysTheBusiestRulesOfItsOwnAndOfTheFleet) {
  const auto rule = [](int i) { return "rule" + std::to_string(i); };
  for (int i = 0; i < 300; ++i) requests(i < 150 ? 1 : 2 + i % 3, rule(i));
  hear_second(kRedisSecond - 2, {resp_text("me"), resp_text(bytes_of(1)), resp_text("other"),
                                 resp_text(bytes_of(1000, rule(0)))});
  advance(1005ms);
  const auto word = traffic_word(say());
  ASSERT_TRUE(word);
  EXPECT_EQ(word->all.requests, 150u + 150u * 3);
  EXPECT_EQ(word->rules.size(), TrafficField::kBusiestMax + 1);
  const auto has = [&](int i) {
    return std::ranges::find(word->rules, rule_hash(rule(i)), &TrafficWord::Rule::hash) !=
           word->rules.end();
  };
  EXPECT_TRUE(has(0));
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(299));  // 299 % 3 is 2
}

}  // namespace
}  // namespace weir
