#include "engine/switching/rule_switches.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/testing/switching.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Scope = TrafficSnapshot::Scope;
using namespace weir::testing;

TEST(RuleSwitches, ANodeAloneSwitchesEachRuleByItself) {
  Switching node;
  node.pass(10, {});
  node.burst(kLogin);
  EXPECT_EQ(node.active(kLogin), kBursting);
  EXPECT_EQ(node.active(kSearch), kCalm);
  EXPECT_EQ(node.active(kNoRuleNumber), kCalm);
  EXPECT_EQ(node.switches.of("login")->why, (RecentRequests{.all = 100, .latest = 100}));
  EXPECT_EQ(node.switches.of("login")->since, node.now);
  EXPECT_FALSE(node.switches.of("search"));
  node.pass(5, {});
  EXPECT_EQ(node.active(kLogin), kCalm);
  EXPECT_EQ(node.switches.of("login")->count, 2u);
  EXPECT_EQ(node.log, (std::vector<std::string>{"login: sliding_window -> token_bucket",
                                                "login: token_bucket -> sliding_window"}));
}

TEST(RuleSwitches, ChargesWithoutARuleSwitchTogether) {
  Switching node;
  node.pass(10, {});
  node.burst(kRuleless);
  EXPECT_EQ(node.active(kNoRuleNumber), kBursting);
  EXPECT_EQ(node.active(kLogin), kCalm);
  EXPECT_TRUE(node.switches.of(""));
  EXPECT_EQ(node.log, std::vector<std::string>{": sliding_window -> token_bucket"});
}

TEST(RuleSwitches, ARuleInShadowFollowsWhatItWouldHaveDenied) {
  Switching node;
  node.pass(20, {{.rule = kLogin, .counts = {.requests = 100, .denied = 20, .shadow = 60}}});
  EXPECT_EQ(node.active(kLogin), Algorithm::kExponentialBackoff);
  EXPECT_EQ(node.switches.of("login")->why.denied_share(), 0.8);
}

TEST(RuleSwitches, OneSecondIsDecidedAboutOnce) {
  Switching node;
  node.pass(10, {});
  node.burst(kLogin);
  node.now += 6s;  // no second has ended, so the figures do not change
  node.decide();
  EXPECT_EQ(node.active(kLogin), kBursting);
}

TEST(RuleSwitches, AReloadKeepsWhatRulesFollow) {
  Switching node;
  node.pass(10, {});
  node.burst(kLogin);
  node.use_rules({});
  node.decide();
  node.algorithms.set(kLogin, {});  // as if the process had never known it
  node.use_rules({{.id = "login", .quota = quota(Algorithm::kAdaptive), .number = kLogin}});
  node.decide();
  EXPECT_EQ(node.active(kLogin), kBursting);
}

// Regression: a node that joined a fleet followed its switches, but did not log them.
TEST(RuleSwitches, WhatWasLearnedBeforeTheRulesWereKnownIsFollowedAndSaid) {
  Switching node;
  node.switches.learn(rule_hash("login"), switched(1, node.now));
  EXPECT_TRUE(node.log.empty());
  node.decide();
  EXPECT_EQ(node.active(kLogin), kBursting);
  EXPECT_EQ(node.log, std::vector<std::string>{"login: sliding_window -> token_bucket"});
}

TEST(RuleSwitches, ALimitOfATierOrAnOverrideMakesARuleAdaptive) {
  Rule rule{.id = "r", .quota = quota(Algorithm::kFixedWindow)};
  EXPECT_FALSE(may_switch(rule));
  rule.tiers["gold"] = {quota(Algorithm::kTokenBucket), quota(Algorithm::kAdaptive)};
  EXPECT_TRUE(may_switch(rule));
  rule.tiers.clear();
  rule.overrides["ann"] = {quota(Algorithm::kAdaptive)};
  EXPECT_TRUE(may_switch(rule));
}

// ---- in a fleet ----

class InFleet : public ::testing::Test, public Switching {
 protected:
  InFleet() {
    recent.scope = Scope::kFleet;
    pass(11, {});
  }
  std::vector<RuleSwitches::Said> unsaid() { return switches.unsaid(256); }
};

TEST_F(InFleet, ItProposesAndFollowsWhatRedisHasTaken) {
  burst(kLogin);
  EXPECT_EQ(active(kLogin), kCalm);
  const auto said = unsaid();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].rule, rule_hash("login"));
  EXPECT_EQ(said[0].replaces, 0u);
  EXPECT_EQ(said[0].to.active, next_switch(0, kBursting));
  EXPECT_EQ(unsaid().size(), 1u) << "nobody has answered";
  switches.answered();
  switches.learn(said[0].rule, said[0].to);
  EXPECT_EQ(active(kLogin), kBursting);
  EXPECT_TRUE(unsaid().empty());
  EXPECT_EQ(log, std::vector<std::string>{"login: sliding_window -> token_bucket"});
}

TEST_F(InFleet, AProposalThatAnotherNodeHasForestalledIsForgotten) {
  burst(kLogin);
  switches.answered();
  switches.learn(rule_hash("login"), switched(next_switch(0, kHammered).number, now));
  EXPECT_EQ(active(kLogin), kHammered);
  EXPECT_TRUE(unsaid().empty());
  pass(4, {});
  EXPECT_TRUE(unsaid().empty()) << "the dwell is the fleet's";
  pass(1, {});
  ASSERT_EQ(unsaid().size(), 1u);
  EXPECT_EQ(unsaid()[0].to.active.algorithm, kCalm);
}

TEST_F(InFleet, WhatNobodyProposesAnyMoreIsNotSaid) {
  burst(kLogin);
  EXPECT_EQ(unsaid().size(), 1u);
  pass(2, {});
  EXPECT_TRUE(unsaid().empty());
}

TEST_F(InFleet, ALowerNumberChangesNothingAndIsReplaced) {
  switches.learn(rule_hash("login"), switched(4, now));
  switches.learn(rule_hash("login"), switched(2, now));
  EXPECT_EQ(number(kLogin), 4u);
  ASSERT_EQ(unsaid().size(), 1u);
  EXPECT_EQ(unsaid()[0].to.active.number, 4u);
  EXPECT_EQ(unsaid()[0].replaces, 3u);
  switches.learn(rule_hash("login"), switched(4, now));
  EXPECT_TRUE(unsaid().empty());
}

TEST_F(InFleet, ARedisThatHasLostItsSwitchesGetsThemBack) {
  switches.learn(rule_hash("login"), switched(4, now));
  switches.learn(rule_hash("elsewhere"), switched(7, now));
  EXPECT_TRUE(unsaid().empty());
  switches.say_all_again();
  EXPECT_EQ(unsaid().size(), 2u);
  EXPECT_EQ(switches.unsaid(1).size(), 1u);
  switches.learn(rule_hash("login"), switched(4, now));
  ASSERT_EQ(unsaid().size(), 1u);
  EXPECT_EQ(unsaid()[0].rule, rule_hash("elsewhere"));
}

TEST_F(InFleet, WhileRedisIsAwayItDecidesAloneAndAfterwardsTheGreaterNumberWins) {
  burst(kLogin);
  recent.scope = Scope::kNode;
  pass(1, {});
  EXPECT_EQ(active(kLogin), kBursting) << "the burst is among its own figures, too";
  burst(kSearch);
  EXPECT_EQ(active(kSearch), kBursting);
  EXPECT_EQ(unsaid().size(), 2u);
  recent.scope = Scope::kFleet;
  switches.learn(rule_hash("login"), switched(5, now));
  EXPECT_EQ(active(kLogin), kHammered);
  ASSERT_EQ(unsaid().size(), 1u);
  EXPECT_EQ(unsaid()[0].rule, rule_hash("search"));
}

// Regression: a steady rate looked like a burst, as the window lacks the seconds of the outage.
TEST_F(InFleet, ASteadyRateAfterAnOutageIsNoBurst) {
  recent.scope = Scope::kNode;
  pass(1, {});
  recent.scope = Scope::kFleet;
  recent.sum = {};
  recent.known_seconds = 0;
  recent.nodes.clear();
  pass(30, {{.rule = kLogin, .counts = {.requests = 100}}});
  EXPECT_TRUE(unsaid().empty());
  EXPECT_TRUE(log.empty());
}

TEST_F(InFleet, SwitchesOfUnknownRulesAreKeptAsManyAsThereMayBe) {
  for (std::uint64_t i = 0; i < RuleSwitches::kRulesMax + 10; ++i) {
    switches.learn(i, switched(1, now));
  }
  EXPECT_FALSE(switches.of("login"));
  switches.learn(rule_hash("login"), switched(1, now));
  EXPECT_EQ(number(kLogin), 0u);
  switches.learn(5, {});
  EXPECT_EQ(switches.unsaid(256).size(), 1u) << "the others are Redis's";
}

}  // namespace
}  // namespace weir
