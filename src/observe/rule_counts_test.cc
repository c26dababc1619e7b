#include "observe/rule_counts.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "observe/traffic.h"

namespace weir {
namespace {

using enum RuleOutcome;
using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(0);

TEST(RuleCounts, AddsUpTheCoresByRuleAndOutcome) {
  Traffic traffic;
  RuleCounts& counts = traffic.rules();
  const RuleNumber login = counts.number_of("login");
  CoreTraffic& one = traffic.add_core();
  CoreTraffic& other = traffic.add_core();
  const RuleNumber api = counts.number_of("api");
  one.record_rule(login, kAllowed, 1, kNow);
  other.record_rule(login, kAllowed, 1, kNow);
  other.record_rule(login, kDenied, 1, kNow);
  one.record_rule(api, kBlocked, 1, kNow);
  one.record_rule(api, kShadow, 1, kNow);
  EXPECT_EQ(counts.figures(login), (RuleFigures{2, 1, 0, 0}));
  EXPECT_EQ(counts.figures(api), (RuleFigures{0, 0, 1, 1}));
  EXPECT_EQ(counts.all_figures(),
            (std::vector<RuleFigures>{counts.figures(login), counts.figures(api)}));
}

TEST(RuleCounts, TimeWhatWasRecordedSinceTheLastAnswer) {
  Traffic traffic;
  RuleCounts& counts = traffic.rules();
  const RuleNumber login = counts.number_of("login");
  const RuleNumber api = counts.number_of("api");
  CoreTraffic& core = traffic.add_core();
  core.record_rule(login, kAllowed, 1, kNow);
  core.record_rule(api, kAllowed, 1, kNow);
  core.record_latency(10us);
  core.record_rule(api, kAllowed, 1, kNow);
  core.record_latency(100us);
  core.record_latency(1s);
  EXPECT_EQ(counts.latency(login).total(), 1u);
  EXPECT_EQ(counts.latency(api).total(), 2u);
  EXPECT_EQ(counts.latency(api).quantile(0.5), 16us);
  EXPECT_EQ(counts.latency(api).quantile(1), 128us);
  for (int i = 0; i < 100; ++i) core.record_rule(login, kAllowed, 1, kNow);
  core.record_latency(1us);
  EXPECT_EQ(counts.latency(login).total(), 17u);
  EXPECT_EQ(counts.latency(kNoRuleNumber).total(), 0u);
}

TEST(RuleCounts, AHashNamesARuleOnEveryNode) {
  EXPECT_EQ(rule_hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(rule_hash("foobar"), 0x85944171f73967e8U);  // as published
  Traffic traffic;
  RuleCounts& counts = traffic.rules();
  counts.number_of("api");
  const RuleNumber login = counts.number_of("login");
  EXPECT_EQ(counts.hash_of(login), rule_hash("login"));
  EXPECT_EQ(counts.number_with(rule_hash("login")), login);
  EXPECT_EQ(counts.number_with(rule_hash("unknown")), kNoRuleNumber);
}

TEST(RuleCounts, AreBounded) {
  Traffic traffic;
  RuleCounts& counts = traffic.rules();
  CoreTraffic& core = traffic.add_core();
  for (std::size_t i = 0; i < RuleCounts::kRulesMax; ++i) {
    core.record_rule(counts.number_of(std::to_string(i)), kAllowed, 1, kNow);
  }
  EXPECT_EQ(counts.number_of("one too many"), kNoRuleNumber);
  core.record_rule(kNoRuleNumber, kAllowed, 1, kNow);
  EXPECT_EQ(counts.figures(kNoRuleNumber), RuleFigures{});
  EXPECT_EQ(counts.figures(counts.number_of("32767")), (RuleFigures{1, 0, 0, 0}));
}

TEST(RuleCounts, AreReadAndNumberedWhileTheyAreCounted) {
  Traffic traffic;
  RuleCounts& counts = traffic.rules();
  const RuleNumber rule = counts.number_of("r");
  CoreTraffic& core = traffic.add_core();
  constexpr std::uint64_t kRecords = 10'000;
  std::thread recording([&] {
    for (std::uint64_t i = 0; i < kRecords; ++i) core.record_rule(rule, kAllowed, 1, kNow);
  });
  std::uint64_t seen = 0;
  for (int i = 0; i < 1'000; ++i) {
    counts.number_of(std::to_string(i));
    const std::uint64_t now = counts.figures(rule)[0];
    EXPECT_GE(now, seen);
    seen = now;
  }
  recording.join();
  EXPECT_EQ(counts.figures(rule)[0], kRecords);
}

}  // namespace
}  // namespace weir
