#include "engine/block_list.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

Block block(std::string key, Duration length, std::string rule = "login") {
  return {.rule = std::move(rule), .key = std::move(key), .since = kNow, .until = kNow + length};
}

Block by_hand(std::string key, Duration length, std::string rule = "login") {
  Block made = block(std::move(key), length, std::move(rule));
  made.reason = BlockReason::kManual;
  return made;
}

class BlockListTest : public testing::Test {
 protected:
  bool is_blocked(std::string_view key, Instant now = kNow, std::string_view rule = "login") {
    return list_.until(rule, key, now).has_value();
  }
  bool is_client_blocked(std::string_view address, std::string_view rule = "login") {
    return list_.until(rule, "somebody", IpAddress::parse(address), kNow).has_value();
  }
  std::string keys(std::string_view rule = "", std::size_t max = 10, Instant now = kNow) {
    std::string text;
    for (const Block& listed : list_.list(rule, max, now)) text += listed.key + " ";
    return text;
  }

  KeyHasher hasher_{HashSecret{}};
  BlockList list_{hasher_, 64};
};

TEST_F(BlockListTest, BlocksAKeyOfARuleUntilItsEnd) {
  EXPECT_TRUE(list_.empty());
  EXPECT_TRUE(list_.add(block("a", 5min), kNow));
  EXPECT_FALSE(list_.empty());
  EXPECT_EQ(list_.until("login", "a", kNow), kNow + 5min);
  EXPECT_TRUE(is_blocked("a", kNow + 5min - 1us));
  EXPECT_FALSE(is_blocked("a", kNow + 5min));
  EXPECT_FALSE(is_blocked("b"));
  EXPECT_FALSE(is_blocked("a", kNow, "other"));
  EXPECT_FALSE(is_blocked("na", kNow, "logi"));
}

TEST_F(BlockListTest, FindsABlockByHashesOfItsNames) {
  ASSERT_TRUE(list_.add(block("a", 1min), kNow));
  const auto until = [&](const KeyName& name) {
    return list_.until(hasher_.hash_names(name), name.rule, name.key, std::nullopt, kNow);
  };
  EXPECT_EQ(until({.rule = "login", .bucket = {}, .key = "a"}), kNow + 1min);
  EXPECT_EQ(until({.rule = "login", .bucket = "of a counter", .key = "a"}), kNow + 1min);
  EXPECT_EQ(until({.rule = "login", .bucket = {}, .key = "b"}), std::nullopt);
  EXPECT_EQ(until({.rule = "other", .bucket = {}, .key = "a"}), std::nullopt);
}

// Regression: another node's rule ended a block by hand for a day after five minutes.
TEST_F(BlockListTest, ARuleShortensNoBlock) {
  list_.add(by_hand("a", 24h), kNow);
  list_.learn(block("a", 5min), BlockList::Audience::kFleet, kNow);
  EXPECT_TRUE(list_.add(block("a", 5min), kNow));
  EXPECT_EQ(list_.until("login", "a", kNow), kNow + 24h);
  EXPECT_EQ(list_.list("", 1, kNow).front().reason, BlockReason::kManual);
  list_.add(block("b", 1h), kNow);
  list_.learn(block("b", 5min), BlockList::Audience::kFleet, kNow);
  EXPECT_EQ(list_.until("login", "b", kNow), kNow + 1h);
  list_.learn(by_hand("b", 1min), BlockList::Audience::kFleet, kNow);
  EXPECT_EQ(list_.until("login", "b", kNow), kNow + 1min);
}

TEST_F(BlockListTest, WhatOneAudienceTellsIsNewToTheOther) {
  using enum BlockList::Audience;
  list_.add(block("a", 5min), kNow);
  list_.share(kFleet);
  list_.share(kProcesses, std::span<const Block>());
  EXPECT_EQ(list_.take_news(kFleet, 9).size(), 1u);
  EXPECT_FALSE(list_.has_news(kProcesses));
  list_.learn(block("b", 5min), kFleet, kNow);
  EXPECT_FALSE(list_.has_news(kFleet));
  EXPECT_EQ(list_.take_news(kProcesses, 9).size(), 1u);
  list_.learn(block("b", 5min), kProcesses, kNow);  // known, or they would tell each other for ever
  EXPECT_FALSE(list_.has_news(kFleet));
  Block lift = block("b", 1h);
  lift.reason = BlockReason::kLifted;
  list_.learn(lift, kProcesses, kNow);
  EXPECT_EQ(list_.take_news(kFleet, 9).size(), 1u);
  list_.tell_again(kFleet);
  EXPECT_EQ(list_.take_news(kFleet, 9).size(), 2u) << "a, and the lift of b";
  list_.tell_again(kFleet);
  list_.learn(block("a", 5min), kFleet, kNow);
  list_.learn(lift, kFleet, kNow);
  EXPECT_FALSE(list_.has_news(kFleet)) << "it knows";
  list_.forget("login", "a");
  EXPECT_TRUE(list_.empty());
  EXPECT_FALSE(list_.has_news(kFleet));
  list_.stop_sharing(kFleet);
  list_.add(block("c", 5min), kNow);
  EXPECT_FALSE(list_.has_news(kFleet));
  EXPECT_TRUE(list_.has_news(kProcesses));
}

// Another node had heard of the lift before, or sent the block again later.
TEST_F(BlockListTest, ALiftEndsOlderBlocksOfWhichItIsHeardLaterAndNoNewerOnes) {
  Block lift = by_hand("a", 0s);
  lift.reason = BlockReason::kLifted;
  lift.since = kNow + 2s;
  const auto learn = [&](Block told, Duration since) {
    told.since = kNow + since;
    list_.learn(std::move(told), BlockList::Audience::kFleet, kNow + 3s);
  };
  learn(block("a", 5min), 1s);
  learn(lift, 2s);
  EXPECT_FALSE(is_blocked("a"));
  EXPECT_TRUE(list_.empty());
  learn(block("a", 9min), 1s);
  learn(by_hand("a", 24h), 2s);
  EXPECT_FALSE(is_blocked("a"));
  EXPECT_EQ(list_.lifts(kNow).size(), 1u);
  learn(block("a", 9min), 3s);
  EXPECT_EQ(list_.until("login", "a", kNow), kNow + 9min);
  learn(lift, 2s);
  EXPECT_TRUE(is_blocked("a"));
}

// The rule had blocked again before the block by hand was lifted, and the acts came in this order.
TEST_F(BlockListTest, ABlockByTheRuleOutlivesTheHandsThatIsLiftedBehindIt) {
  list_.learn(block("a", 5min), BlockList::Audience::kFleet, kNow);
  Block hand = by_hand("a", 24h);
  hand.since = kNow - 2s;
  list_.learn(hand, BlockList::Audience::kFleet, kNow);
  EXPECT_EQ(list_.until("login", "a", kNow), kNow + 24h);
  hand.reason = BlockReason::kLifted;
  hand.since = kNow - 1s;
  list_.learn(hand, BlockList::Audience::kFleet, kNow);
  EXPECT_EQ(list_.until("login", "a", kNow), kNow + 5min);
}

TEST_F(BlockListTest, AHandThatShortensABlockHasDoneSoWhenItsOwnHasEnded) {
  list_.add(block("a", 48h), kNow);
  list_.add(by_hand("a", 1min), kNow + 1s);
  list_.expire(kNow + 2min);
  EXPECT_TRUE(list_.empty());
  list_.learn(block("a", 48h), BlockList::Audience::kFleet, kNow + 47h);
  EXPECT_FALSE(is_blocked("a", kNow + 47h));
  EXPECT_TRUE(list_.lifts(kNow + 48h).empty());
}

// Regression: a console said that a person had lifted a block that ended while Redis was away.
TEST_F(BlockListTest, WhatEndsUnheardIsNoLiftByAHand) {
  constexpr auto kFleet = BlockList::Audience::kFleet;
  list_.learn(by_hand("a", 20s), kFleet, kNow + 21s);
  EXPECT_TRUE(list_.take_acts().empty());
  EXPECT_TRUE(list_.add(by_hand("b", 1h), kNow + 59min));
  list_.share(kFleet);
  list_.expire(kNow + 1h);
  const auto news = list_.take_news(kFleet, 9);
  ASSERT_EQ(news.size(), 2u);
  BlockList other(hasher_, 64);
  for (const Block& act : news) other.learn(act, kFleet, kNow + 1h);
  EXPECT_TRUE(other.take_acts().empty());
}

TEST_F(BlockListTest, PeopleHearOfEachActByAHandInItsOrder) {
  list_.add(block("rule", 1h), kNow);
  list_.add(by_hand("a", 1h), kNow);
  list_.lift("login", "a", kNow + 1us);
  list_.learn(by_hand("b", 1h), BlockList::Audience::kFleet, kNow + 2us, "web-2");
  const auto acts = list_.take_acts();
  ASSERT_EQ(acts.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(is_lift(acts[i].block), i == 1);
    EXPECT_EQ(acts[i].teller, i < 2 ? std::nullopt : std::optional<std::string>("web-2"));
    EXPECT_EQ(acts[i].block.began, kNow + (i == 1 ? 1us : 0us));
  }
}

// An attacker whose keys are lifted must not drive out blocks.
TEST_F(BlockListTest, LiftsTakeNoPlaceThatABlockNeeds) {
  for (int i = 0; i < 64; ++i) {
    list_.add(block("k" + std::to_string(i), 1h), kNow);
    list_.lift("login", "k" + std::to_string(i), kNow);
  }
  EXPECT_EQ(list_.lifts(kNow).size(), 64u);
  for (int i = 0; i < 64; ++i) list_.add(block("new" + std::to_string(i), 1min), kNow);
  EXPECT_EQ(list_.size(), 64u);
  EXPECT_TRUE(list_.lifts(kNow).empty());
  EXPECT_EQ(list_.dropped(), 0u);
}

TEST_F(BlockListTest, ListsByTheOrderOfTheirEnds) {
  list_.add(block("late", 3min), kNow);
  list_.add(block("early", 1min), kNow);
  list_.add(block("middle", 2min, "search"), kNow);
  EXPECT_EQ(keys(), "early middle late ");
  EXPECT_EQ(keys("login"), "early late ");
  EXPECT_EQ(keys("", 1), "early ");
  EXPECT_EQ(keys("", 10, kNow + 2min), "late ");
  EXPECT_EQ(list_.size(), 1u);
}

TEST_F(BlockListTest, WhenFullOfTheLaterHalfTheOneNearestToItsEndMakesRoom) {
  for (int i = 0; i < 64; ++i) list_.add(block("k" + std::to_string(i), 1min + i * 1s), kNow);
  list_.add(block("new", 10min), kNow);
  EXPECT_EQ(list_.size(), 64u);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(is_blocked("k" + std::to_string(i)), i != 32) << i;
  EXPECT_TRUE(is_blocked("new"));
  EXPECT_EQ(list_.dropped(), 1u);
}

// An attacker has as many keys blocked as possible, each for longer than the victims.
TEST_F(BlockListTest, AFloodLiftsNoBlockThatWasThereBefore) {
  for (int i = 0; i < 30; ++i) list_.add(block("victim" + std::to_string(i), 1h), kNow);
  for (int i = 0; i < 6'400; ++i) list_.add(block("flood" + std::to_string(i), 24h), kNow);
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(is_blocked("victim" + std::to_string(i))) << i;
  EXPECT_EQ(list_.size(), 64u);
  EXPECT_EQ(list_.dropped(), 6'400u + 30 - 64);
}

TEST_F(BlockListTest, APlaceThatWasKeptIsFreeWhenItsBlockEnds) {
  for (int i = 0; i < 32; ++i) list_.add(block("early" + std::to_string(i), 1min), kNow);
  for (int i = 0; i < 16; ++i) {
    list_.add({.rule = "login", .key = "late" + std::to_string(i), .until = kNow + 1h},
              kNow + 2min);
  }
  for (int i = 0; i < 640; ++i) list_.add(block("flood" + std::to_string(i), 24h), kNow + 2min);
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(is_blocked("late" + std::to_string(i), kNow + 2min));
}

// One /48 has 65,536 networks of 64 bits, and one /16 as many addresses.
TEST_F(BlockListTest, AFloodOfOneNetworkLiftsNoBlockOfAnother) {
  for (const std::string prefix : {"2001:db8:1:", "198.51."}) {
    const bool is_v6 = prefix.find(':') != std::string::npos;
    for (int i = 0; i < 1'000; ++i) {
      const std::string low = std::to_string(i % 250);
      const std::string address = prefix + (is_v6 ? std::to_string(1'000 + i) + "::/64"
                                                  : std::to_string(i / 250) + "." + low);
      list_.add(block(address, 24h), kNow);
    }
  }
  EXPECT_EQ(list_.size(), 8u) << "a sixteenth of the list for each";
  for (int i = 0; i < 40; ++i) {
    list_.add(block(std::to_string(100 + i) + ".0.2.1", 1min), kNow);
    list_.add(block("10:198.51.0.1" + std::to_string(6) + ":/login", 24h), kNow);
  }
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(is_blocked(std::to_string(100 + i) + ".0.2.1")) << i;
}

TEST_F(BlockListTest, KnowsTheNetworkOfAKeyOfSeveralParts) {
  for (int i = 100; i < 200; ++i) {
    list_.add(block("4:POST13:203.0.113." + std::to_string(i), 24h), kNow);
  }
  EXPECT_EQ(list_.size(), 4u);
  // These are no lists of parts: their lengths are wrong.
  const std::string keys[] = {"4:POST13:203.0.113.1", "4:POST", "4", "99:203.0.113.1", ":", ""};
  for (const std::string& key : keys) list_.add(block(key, 24h), kNow);
  EXPECT_EQ(list_.size(), 10u);
}

TEST_F(BlockListTest, WhatIsBlockedByHandIsTheLastToGo) {
  for (int i = 0; i < 64; ++i) list_.add(block("first" + std::to_string(i), 24h), kNow);
  list_.add(by_hand("10.0.0.1", 1s), kNow);
  for (int i = 0; i < 640; ++i) list_.add(block("flood" + std::to_string(i), 48h), kNow);
  for (int i = 0; i < 640; ++i) list_.add(block("10.0.1." + std::to_string(i % 250), 48h), kNow);
  EXPECT_TRUE(is_blocked("10.0.0.1"));
  for (int i = 0; i < 63; ++i) {
    EXPECT_TRUE(list_.add(by_hand("hand" + std::to_string(i), 1h), kNow));
  }
  EXPECT_FALSE(list_.add(by_hand("one more", 2h), kNow)) << "another hand's would go";
  EXPECT_TRUE(is_blocked("10.0.0.1"));
  EXPECT_FALSE(list_.add(block("other", 24h), kNow)) << "all others are worth more";
  EXPECT_FALSE(is_blocked("other"));
}

// Regression: it answered success, and blocked only the key with exactly this text.
TEST_F(BlockListTest, ANetworkIsBlockedForClientsAndKeysInIt) {
  EXPECT_TRUE(list_.add(by_hand("203.0.113.0/24", 1h), kNow));
  EXPECT_TRUE(list_.add(by_hand("2001:db8::/32", 2h), kNow));
  EXPECT_EQ(list_.until("login", "alice", IpAddress::parse("203.0.113.9"), kNow), kNow + 1h);
  EXPECT_EQ(list_.until("login", "alice", IpAddress::parse("2001:db8:7::1"), kNow), kNow + 2h);
  for (const char* key : {"203.0.113.0", "203.0.113.255", "203.0.113.0/24", "203.0.113.128/25",
                          "::ffff:203.0.113.7", "2001:db8::1", "2001:db8:ffff::/48"}) {
    EXPECT_TRUE(is_blocked(key)) << key;
    EXPECT_FALSE(is_blocked(key, kNow, "other")) << key;
    EXPECT_FALSE(is_blocked(key, kNow + 2h)) << key;
  }
  for (const char* key : {"203.0.112.255", "203.0.114.0", "203.0.0.0/16", "2001:db9::1", "alice",
                          "203.0.113.7:80", "203.0.113.7/x", ""}) {
    EXPECT_FALSE(is_blocked(key)) << key;
  }
  EXPECT_FALSE(is_client_blocked("203.0.114.9"));
  EXPECT_EQ(keys(), "203.0.113.0/24 2001:db8::/32 ");
}

TEST_F(BlockListTest, AnAddressIsBlockedHoweverItIsSpelled) {
  list_.add(by_hand("2001:DB8:0::1", 1h), kNow);
  list_.add(by_hand("::ffff:203.0.113.7", 1h), kNow);
  EXPECT_TRUE(is_blocked("2001:db8::1"));
  EXPECT_TRUE(is_client_blocked("2001:db8::1"));
  EXPECT_TRUE(is_client_blocked("203.0.113.7"));
  EXPECT_FALSE(is_client_blocked("203.0.113.8"));
  EXPECT_TRUE(list_.lift("login", "2001:db8::1/128", kNow));
  EXPECT_TRUE(list_.lift("login", "203.0.113.7", kNow));
  EXPECT_FALSE(is_client_blocked("203.0.113.7"));
  EXPECT_TRUE(list_.empty());
}

TEST_F(BlockListTest, ABlockOfNoRuleIsOfAll) {
  list_.add(by_hand("alice", 1h, ""), kNow);
  list_.add(by_hand("203.0.113.0/24", 1h, ""), kNow);
  for (const char* rule : {"login", "other", ""}) {
    EXPECT_TRUE(is_blocked("alice", kNow, rule)) << rule;
    EXPECT_TRUE(is_client_blocked("203.0.113.9", rule)) << rule;
    EXPECT_FALSE(is_blocked("bob", kNow, rule)) << rule;
  }
  list_.add(by_hand("bob", 1h), kNow);
  EXPECT_FALSE(is_blocked("bob", kNow, ""));
  EXPECT_TRUE(list_.lift("", "alice", kNow));
  EXPECT_TRUE(list_.lift("", "203.0.113.0/24", kNow));
  EXPECT_FALSE(is_blocked("alice"));
  EXPECT_FALSE(is_client_blocked("203.0.113.9"));
}

TEST_F(BlockListTest, OfSeveralNetworksTheLastToEndCounts) {
  list_.add(by_hand("203.0.113.0/24", 1h), kNow);
  list_.add(by_hand("203.0.0.0/16", 3h, ""), kNow);
  list_.add(by_hand("203.0.113.9", 2h), kNow);
  EXPECT_EQ(list_.until("login", "203.0.113.9", kNow), kNow + 3h);
  list_.lift("", "203.0.0.0/16", kNow);
  EXPECT_EQ(list_.until("login", "203.0.113.9", kNow), kNow + 2h);
  list_.lift("login", "203.0.113.9", kNow);
  EXPECT_EQ(list_.until("login", "203.0.113.9", kNow), kNow + 1h);
}

// A client may choose such a key, if the rule's key is a header.
TEST_F(BlockListTest, ARuleBlocksAKeyAndNoNetwork) {
  list_.add(by_hand("198.51.100.0/24", 1h), kNow);
  list_.add(block("203.0.113.0/24", 1h), kNow);
  EXPECT_TRUE(is_blocked("203.0.113.0/24"));
  EXPECT_FALSE(is_blocked("203.0.113.9"));
  EXPECT_FALSE(is_client_blocked("203.0.113.9"));
}

TEST_F(BlockListTest, ARuleAndAHandBlockOneAddressOnce) {
  list_.add(block("203.0.113.9", 5min), kNow);
  list_.add(by_hand("203.0.113.9", 1min), kNow);
  EXPECT_EQ(list_.until("login", "203.0.113.9", kNow), kNow + 1min);
  EXPECT_EQ(list_.size(), 1u);
  list_.add(block("203.0.113.9", 30s), kNow);
  EXPECT_EQ(list_.size(), 1u);
  list_.add(block("203.0.113.9", 10min), kNow);
  EXPECT_FALSE(list_.lift_unless_by_hand("login", "203.0.113.9", kNow));
  EXPECT_EQ(list_.until("login", "203.0.113.9", kNow), kNow + 10min);
  EXPECT_TRUE(list_.lift("login", "203.0.113.9", kNow));
  EXPECT_FALSE(is_blocked("203.0.113.9"));
  EXPECT_TRUE(list_.empty());
}

TEST_F(BlockListTest, AllBlocksOfAKeyAreLiftedTogether) {
  list_.share(BlockList::Audience::kFleet);
  list_.add(block("alice", 1h), kNow);
  list_.add(by_hand("alice", 1h, "other"), kNow);
  list_.add(by_hand("alice", 1h, ""), kNow);
  list_.add(by_hand("bob", 1h), kNow);
  list_.take_news(BlockList::Audience::kFleet, 10);
  EXPECT_EQ(list_.lift_all("alice", kNow), 3u);
  EXPECT_EQ(keys(), "bob ");
  EXPECT_EQ(list_.take_news(BlockList::Audience::kFleet, 10).size(), 3u);
  EXPECT_EQ(list_.lift_all("alice", kNow), 0u);
}

TEST_F(BlockListTest, NetworksAreOfSixteenLengthsAtMost) {
  for (unsigned bits = 32; bits > 16; --bits) {
    ASSERT_TRUE(list_.add(by_hand("10.0.0.0/" + std::to_string(bits), 1h), kNow)) << bits;
  }
  EXPECT_FALSE(list_.add(by_hand("10.0.0.0/9", 1h), kNow));
  EXPECT_TRUE(list_.add(by_hand("11.0.0.0/24", 1h), kNow));
  EXPECT_TRUE(list_.add(by_hand("2001:db8::/32", 1h), kNow));
  EXPECT_TRUE(list_.lift("login", "10.0.0.0/20", kNow));
  EXPECT_TRUE(list_.add(by_hand("10.0.0.0/9", 1h), kNow));
  EXPECT_TRUE(is_blocked("10.127.0.1"));
  list_.expire(kNow + 1h);
  EXPECT_TRUE(list_.add(by_hand("10.0.0.0/9", 2h), kNow + 1h));
  EXPECT_TRUE(is_blocked("10.127.0.1", kNow + 1h));
}

TEST_F(BlockListTest, NetworksAgreeWithALookAtEach) {
  std::mt19937 random(7);
  const auto address = [&] {
    return "10.0." + std::to_string(random() % 4) + "." + std::to_string(random() % 256);
  };
  std::map<std::string, Instant> blocked;
  for (int i = 0; i < 2'000; ++i) {
    const auto bits = static_cast<unsigned>(22 + random() % 11);
    const auto inside = IpAddress::parse(address())->network(bits);
    const auto network = IpPrefix(inside, bits).short_text();
    if (random() % 3 == 0) {
      EXPECT_EQ(list_.lift("login", network, kNow), blocked.erase(network) > 0);
    } else if (blocked.size() < 40 || blocked.contains(network)) {
      blocked[network] = kNow + std::chrono::minutes(1 + random() % 60);
      ASSERT_TRUE(list_.add(by_hand(network, blocked[network] - kNow), kNow));
    }
    const auto client = IpAddress::parse(address());
    std::optional<Instant> expected;
    for (const auto& [text, until] : blocked) {
      if (IpPrefix::parse(text)->contains(*client)) expected = std::max(expected, {until});
    }
    ASSERT_EQ(list_.until("login", "k", client, kNow), expected) << client->to_string();
    ASSERT_EQ(list_.until("login", client->to_string(), kNow), expected);
  }
}

TEST_F(BlockListTest, KeepsWhoseABlockIsAndWhatForWithinBounds) {
  Block made = by_hand("alice", 1h);
  made.by = "carol";
  made.why = std::string(1'000, 'x');
  list_.add(made, kNow);
  const auto listed = list_.list("", 1, kNow);
  EXPECT_EQ(listed.front().by, "carol");
  EXPECT_EQ(listed.front().why.size(), Block::kWhyMax);
}

TEST_F(BlockListTest, BlocksAKeyOfAnyLength) {
  const std::string key(4'096, 'x');
  EXPECT_TRUE(list_.add(block(key, 5min), kNow));
  EXPECT_TRUE(is_blocked(key));
  EXPECT_FALSE(is_blocked(key + "y"));
  EXPECT_FALSE(is_blocked(key.substr(0, 2'000)));
  const std::string listed = list_.list("", 1, kNow).front().key;
  EXPECT_LT(listed.size(), 256u);
  EXPECT_TRUE(listed.starts_with("xxxx"));

  // A file, or another node, sends the listed block again.
  BlockList other(hasher_, 64);
  other.add(list_.list("", 1, kNow).front(), kNow);
  EXPECT_TRUE(other.until("login", key, kNow).has_value());
  EXPECT_TRUE(other.lift("login", listed, kNow));
  EXPECT_TRUE(list_.lift("login", key, kNow));
  EXPECT_TRUE(list_.empty());
}

// After any adds and lifts, the blocked clients are those of the model, and no others.
TEST_F(BlockListTest, AgreesWithAMap) {
  std::mt19937 random(7);
  std::map<std::string, Instant> model;
  Instant now = kNow;
  for (int step = 0; step < 20'000; ++step) {
    now += Duration(random() % 200'000);
    const std::string key = std::to_string(random() % 60);
    list_.expire(now);
    std::erase_if(model, [&](const auto& entry) { return entry.second <= now; });
    if (random() % 3 == 0) {
      EXPECT_EQ(list_.lift("login", key, now), model.erase(key) == 1);
    } else {
      const Instant until = now + Duration(1 + random() % 5'000'000);
      list_.add({.rule = "login", .key = key, .since = now, .until = until}, now);
      model[key] = std::max(model[key], until);
    }
    const auto asked = std::to_string(random() % 60);
    const auto found = model.find(asked);
    ASSERT_EQ(list_.until("login", asked, now),
              found == model.end() ? std::nullopt : std::optional(found->second))
        << step;
  }
}

// Readers never see a key blocked that nobody blocked, nor a key free that stays blocked.
TEST_F(BlockListTest, IsReadWhileItChanges) {
  list_.add(block("always", 1h), kNow);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      if (!is_blocked("always") || is_blocked("never")) wrong.fetch_add(1);
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    list_.add(block(std::to_string(i % 40), 5min), kNow);
    if (i % 3 == 0) list_.lift("login", std::to_string(i % 50), kNow);
  }
  stop.store(true, std::memory_order_relaxed);
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace weir
