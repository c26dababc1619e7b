#include "observe/keys/busiest_keys.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "observe/traffic.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum RuleOutcome;

constexpr Instant kStart = instant_from_epoch_us(60'000'000'000);  // a minute begins

// No key's hash is 0, and no two are equal.
std::uint64_t hash_of(std::size_t key) { return (key + 1) * 0x9e3779b97f4a7c15U; }

// Requests for keys, where the n-th key is 1 / n^skew as busy as the first.
std::vector<std::uint64_t> zipf(double skew, std::size_t keys, std::size_t requests) {
  std::vector<double> sums;
  double sum = 0;
  for (std::size_t i = 1; i <= keys; ++i) {
    sums.push_back(sum += std::pow(static_cast<double>(i), -skew));
  }
  Prng random(keys + requests);
  std::vector<std::uint64_t> load;
  for (std::size_t i = 0; i < requests; ++i) {
    const auto at = std::ranges::lower_bound(sums, random.unit() * sum) - sums.begin();
    load.push_back(hash_of(static_cast<std::size_t>(at)));
  }
  return load;
}

using Truth = std::map<std::uint64_t, std::uint64_t>;

Truth count(const std::vector<std::uint64_t>& load) {
  Truth truth;
  for (const std::uint64_t key : load) ++truth[key];
  return truth;
}

// Checks the paper's promise for every key.
void expect_within_bounds(const KeyReport& report, const Truth& truth, std::uint64_t requests) {
  const std::uint64_t error = requests / KeySummary::kKeys;
  EXPECT_EQ(report.total, requests);
  EXPECT_LE(report.rest, error);
  std::size_t found = 0;
  for (const auto& [hash, times] : truth) {
    const auto key = std::ranges::lower_bound(report.keys, hash, {}, &KeyEstimate::hash);
    if (key == report.keys.end() || key->hash != hash) {
      ASSERT_LE(times, report.rest);
      continue;
    }
    ++found;
    ASSERT_LE(key->low, times);
    ASSERT_GE(key->high, times);
    ASSERT_LE(key->high - key->low, error);
  }
  EXPECT_EQ(found, report.keys.size());
}

void expect_within_bounds(const std::vector<std::uint64_t>& load) {
  auto summary = std::make_unique<KeySummary>();
  for (const std::uint64_t key : load) summary->add(key, 1);
  expect_within_bounds(summary->report(), count(load), load.size());
}

TEST(KeySummary, KeepsItsBoundOnEachZipfLoadInEachOrder) {
  for (const double skew : {0.0, 0.6, 1.0, 1.4, 2.0}) {
    for (const std::size_t keys : {10u, 64u, 65u, 1'000u, 100'000u}) {
      SCOPED_TRACE(std::to_string(skew) + ", " + std::to_string(keys) + " keys");
      auto load = zipf(skew, keys, 50'000);
      expect_within_bounds(load);
      const Truth truth = count(load);
      const auto is_rarer = [&](std::uint64_t a, std::uint64_t b) {
        const auto times_a = truth.at(a);
        const auto times_b = truth.at(b);
        return times_a != times_b ? times_a < times_b : a < b;
      };
      std::ranges::sort(load, is_rarer);
      expect_within_bounds(load);
      std::ranges::reverse(load);
      expect_within_bounds(load);
    }
  }
}

// Each new key takes the least counter. In turns, that hits a key that comes as often as a key can
// that may have no summaries.
TEST(KeySummary, KeepsItsBoundAgainstKeysThatComeInTurns) {
  std::vector<std::uint64_t> turns;
  for (std::size_t i = 0; i < 60'000; ++i) turns.push_back(hash_of(i % (KeySummary::kKeys + 1)));
  expect_within_bounds(turns);
  std::vector<std::uint64_t> hidden;
  for (std::size_t i = 0; i < 60'000; ++i) {
    hidden.push_back(hash_of(i % (KeySummary::kKeys / 2) == 0 ? 0 : i));
  }
  expect_within_bounds(hidden);
  std::vector<std::uint64_t> late;
  for (std::size_t i = 0; i < 60'000; ++i) late.push_back(hash_of(i < 50'000 ? i : 0));
  expect_within_bounds(late);
}

TEST(KeySummary, RanksTheBusyKeysOfAZipfLoadRightly) {
  auto summary = std::make_unique<KeySummary>();
  for (const std::uint64_t key : zipf(1.2, 10'000, 100'000)) summary->add(key, 1);
  const auto ranked = summary->report().ranked(KeySummary::kKeys);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(ranked[i].hash, hash_of(i));
}

// ---- the rules of a core ----

constexpr RuleNumber kRule = 7;

class BusiestKeys : public ::testing::Test {
 protected:
  // Returns whether the request was sampled.
  bool ask(CoreTraffic& core, std::uint64_t hash, Instant now, RuleOutcome outcome = kAllowed,
           RuleNumber rule = kRule, std::string_view key = {}) {
    const bool is_taken = core.record_rule(rule, outcome, hash, now);
    if (is_taken) core.sample_key({rule, outcome, hash, key}, now);
    return is_taken;
  }
  KeyReport report(KeysBy by, Instant now, RuleNumber rule = kRule) const {
    return traffic_->rules().busiest_keys(rule, by, now);
  }

  std::unique_ptr<Traffic> traffic_ = std::make_unique<Traffic>();
};

TEST_F(BusiestKeys, AreThoseThatAreAskedForAndThoseThatAreDenied) {
  CoreTraffic& core = traffic_->add_core();
  for (int i = 0; i < 3; ++i) ask(core, 1, kStart);
  ask(core, 2, kStart, kDenied);
  ask(core, 2, kStart, kBlocked);
  ask(core, 3, kStart, kShadow);
  EXPECT_EQ(report(KeysBy::kAsked, kStart),
            (KeyReport{.total = 6, .keys = {{1, 3, 3}, {2, 2, 2}, {3, 1, 1}}}));
  EXPECT_EQ(report(KeysBy::kDenied, kStart),
            (KeyReport{.total = 3, .keys = {{2, 2, 2}, {3, 1, 1}}}));
  EXPECT_EQ(report(KeysBy::kAsked, kStart, 8), KeyReport{});
  EXPECT_EQ(report(KeysBy::kAsked, kStart, kNoRuleNumber), KeyReport{});
}

TEST_F(BusiestKeys, AddUpOverTheCoresAndTheMinutes) {
  CoreTraffic& one = traffic_->add_core();
  CoreTraffic& other = traffic_->add_core();
  ask(one, 1, kStart);
  ask(other, 1, kStart + 59s);
  ask(other, 2, kStart + 61s);
  EXPECT_EQ(report(KeysBy::kAsked, kStart + 61s),
            (KeyReport{.total = 3, .keys = {{1, 2, 2}, {2, 1, 1}}}));
}

TEST_F(BusiestKeys, AreOfThisMinuteAndTheOneBefore) {
  CoreTraffic& core = traffic_->add_core();
  ask(core, 1, kStart);
  EXPECT_EQ(report(KeysBy::kAsked, kStart + 119s).total, 1u);
  EXPECT_EQ(report(KeysBy::kAsked, kStart + 120s), KeyReport{});
  ask(core, 2, kStart + 120s);
  EXPECT_EQ(report(KeysBy::kAsked, kStart + 120s), (KeyReport{.total = 1, .keys = {{2, 1, 1}}}));
}

TEST_F(BusiestKeys, HaveTextsOnlyWhereTheseAreKept) {
  CoreTraffic& silent = traffic_->add_core();
  ask(silent, 1, kStart, kAllowed, kRule, "alice");
  EXPECT_EQ(report(KeysBy::kAsked, kStart).keys.front().text, "");
  traffic_->keep_key_texts();
  CoreTraffic& core = traffic_->add_core();
  ask(core, 1, kStart, kDenied, kRule, "alice");
  ask(core, 2, kStart, kAllowed, kRule, std::string(65, 'x'));
  const auto keys = report(KeysBy::kAsked, kStart).keys;
  EXPECT_EQ(keys[0].text, "alice");
  EXPECT_EQ(keys[1].text, std::string(KeyText::kBytesMax, 'x'));
  EXPECT_EQ(report(KeysBy::kDenied, kStart).keys.front().text, "alice");
}

// ---- sampling ----

// least_of() and most_of() may be wrong about a key in one of a hundred cases each.
TEST_F(BusiestKeys, AreWithinTheirBoundsAtEachRate) {
  int cases = 0;
  int outside = 0;
  for (const std::size_t rate : {50u, 1'000u, 20'000u, 200'000u}) {
    for (RuleNumber rule = 0; rule < 10; ++rule) {
      CoreTraffic& core = traffic_->add_core();
      const auto load = zipf(1.0, 1'000, rate * 2);
      for (std::size_t i = 0; i < load.size(); ++i) {
        const auto us = static_cast<std::int64_t>(i * 1'000'000 / rate);
        ask(core, load[i] + rule, kStart + std::chrono::microseconds(us), kAllowed, rule);
      }
      Truth truth = count(load);
      const KeyReport all = report(KeysBy::kAsked, kStart + 2s, rule);
      for (const KeyEstimate& key : all.keys) {
        const std::uint64_t times = truth[key.hash - rule];
        ++cases;
        outside += times < least_of(key.low, all.weight) || times > most_of(key.high, all.weight);
      }
      const auto first = std::ranges::find(all.keys, hash_of(0) + rule, &KeyEstimate::hash);
      EXPECT_NE(first, all.keys.end()) << rate;
    }
    traffic_ = std::make_unique<Traffic>();
  }
  EXPECT_GT(cases, 2'000);
  EXPECT_LT(outside, cases / 50);
}

// The sums are right on average: a request has the same chance, whatever came before it.
TEST_F(BusiestKeys, AreNotBiasedByTheSampling) {
  CoreTraffic& core = traffic_->add_core();
  constexpr std::uint64_t kRate = 5'000;
  constexpr std::uint64_t kSeconds = 59;
  for (std::uint64_t i = 0; i < kRate * kSeconds; ++i) {
    // Every other request, and the first hundred of each second, are for one key.
    const bool is_first = i % 2 == 0 || i % kRate < 100;
    ask(core, is_first ? 1 : 2, kStart + std::chrono::microseconds(i * 1'000'000 / kRate));
  }
  const KeyReport all = report(KeysBy::kAsked, kStart + 59s);
  const auto share = static_cast<double>(all.keys[0].low) / static_cast<double>(all.total);
  EXPECT_NEAR(static_cast<double>(all.total), kRate * kSeconds, 0.1 * kRate * kSeconds);
  EXPECT_NEAR(share, 0.51, 0.05);
}

TEST_F(BusiestKeys, TakeFewSamplesOfManyRequests) {
  CoreTraffic& core = traffic_->add_core();
  int taken = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    taken += ask(core, hash_of(static_cast<std::size_t>(i)), kStart + std::chrono::microseconds(i));
  }
  EXPECT_LT(taken, 1'000'000 / 256 + 600);
}

TEST_F(BusiestKeys, TakeFewSamplesOfManyRules) {
  CoreTraffic& core = traffic_->add_core();
  int taken = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const auto rule = static_cast<RuleNumber>(i % 10'000);
    taken += ask(core, 1, kStart + std::chrono::microseconds(i), kAllowed, rule);
  }
  EXPECT_LT(taken, 40'000);
}

TEST_F(BusiestKeys, AreExactForAQuietRuleBesideABusyOne) {
  CoreTraffic& core = traffic_->add_core();
  for (int i = 0; i < 300'000; ++i) {
    const Instant now = kStart + std::chrono::microseconds(i * 10);
    ask(core, 1, now);
    if (i % 10'000 == 0) ask(core, 2, now, kAllowed, 8);
  }
  EXPECT_EQ(report(KeysBy::kAsked, kStart + 3s, 8),
            (KeyReport{.total = 30, .keys = {{2, 30, 30}}}));
}

// Soon after a busy rule has calmed down, each of its requests is sampled again.
TEST_F(BusiestKeys, ARuleThatCalmsDownIsExactAgain) {
  CoreTraffic& core = traffic_->add_core();
  for (int i = 0; i < 1'000'000; ++i) ask(core, 1, kStart + std::chrono::microseconds(i));
  Instant now = kStart + 1s;
  for (int i = 0; i < 6'000; ++i) ask(core, 2, now += 100ms);
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += ask(core, 3, now += 100ms);
  EXPECT_EQ(taken, 100);
}

// ---- which rules have summaries ----

TEST_F(BusiestKeys, BusyRulesKeepTheirSummariesAmongManyThatComeOnce) {
  CoreTraffic& core = traffic_->add_core();
  for (RuleNumber round = 0; round < 100; ++round) {
    for (RuleNumber rule = 0; rule < 20; ++rule) {
      for (int i = 0; i < 20; ++i) ask(core, rule + 1, kStart, kAllowed, rule);
    }
    for (RuleNumber i = 0; i < 200; ++i) ask(core, 1, kStart, kAllowed, 1'000 + 200 * round + i);
  }
  int kept = 0;
  for (RuleNumber rule = 0; rule < 20; ++rule) {
    kept += report(KeysBy::kAsked, kStart, rule).total > 1'000;
  }
  EXPECT_GE(kept, 18);
}

// If each new rule took over from the least busy one, a later rule would lose its summaries before
// it has shown how busy it is.
TEST_F(BusiestKeys, ABusyRuleFindsSummariesAmongThoseThatAreThereAndManyThatComeOnce) {
  CoreTraffic& core = traffic_->add_core();
  const auto others = static_cast<RuleNumber>(CoreBusiestKeys::kRules);
  Instant now = kStart;
  for (RuleNumber i = 0; i < 60 * others; ++i) ask(core, 1, now += 1ms, kAllowed, 1 + i % others);
  for (RuleNumber i = 0; i < 2'000; ++i) {
    ask(core, 1, now += 10ms, kAllowed, 0);
    ask(core, 1, now, kAllowed, 1'000 + i);
  }
  EXPECT_GT(report(KeysBy::kAsked, now, 0).total, 100u);
}

TEST_F(BusiestKeys, ARuleThatIsIdleMakesRoom) {
  CoreTraffic& core = traffic_->add_core();
  const auto rules = static_cast<RuleNumber>(CoreBusiestKeys::kRules);
  for (RuleNumber rule = 0; rule < rules; ++rule) ask(core, 1, kStart, kAllowed, rule);
  ask(core, 5, kStart + 2min, kAllowed, rules);
  EXPECT_EQ(report(KeysBy::kAsked, kStart + 2min, rules).keys,
            (std::vector<KeyEstimate>{{5, 1, 1}}));
}

TEST_F(BusiestKeys, TheBusiestRulesAreNamed) {
  RuleCounts& counts = traffic_->rules();
  const RuleNumber quiet = counts.number_of("quiet");
  const RuleNumber busy = counts.number_of("busy");
  const RuleNumber idle = counts.number_of("idle");
  CoreTraffic& one = traffic_->add_core();
  CoreTraffic& other = traffic_->add_core();
  ask(one, 1, kStart, kAllowed, idle);
  const Instant now = kStart + 2min;
  ask(one, 1, now, kAllowed, quiet);
  for (std::uint64_t key = 1; key <= 3; ++key) {
    for (std::uint64_t i = 0; i < key; ++i) ask(other, key, now, kDenied, busy);
  }
  const auto rules = counts.busiest_rules({.rules = 5, .keys = 2}, now);
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].rule, "busy");
  EXPECT_EQ(rules[0].asked, (KeyReport{.total = 6, .rest = 1, .keys = {{2, 2, 2}, {3, 3, 3}}}));
  EXPECT_EQ(rules[0].denied, rules[0].asked);
  EXPECT_EQ(rules[1].rule, "quiet");
  EXPECT_EQ(counts.busiest_rules({.rules = 1, .keys = 2}, now).size(), 1u);
}

// ---- threads ----

TEST_F(BusiestKeys, AreReadWhileTheyAreCounted) {
  traffic_->keep_key_texts();
  CoreTraffic& core = traffic_->add_core();
  std::thread counting([&] {
    for (int minute = 0; minute < 200; ++minute) {
      for (std::uint64_t i = 1; i <= 200; ++i) {
        const auto rule = static_cast<RuleNumber>(i % 2 == 0 ? kRule : minute * 100 + i);
        ask(core, i, kStart + minute * 60s, kDenied, rule, "key " + std::to_string(i));
      }
    }
  });
  for (int minute = 0; minute < 200; ++minute) {
    const KeyReport all = report(KeysBy::kAsked, kStart + minute * 60s);
    EXPECT_TRUE(std::ranges::is_sorted(all.keys, {}, &KeyEstimate::hash));
    for (const KeyEstimate& key : all.keys) {
      EXPECT_LE(key.low, key.high);
      EXPECT_TRUE(key.text.empty() || key.text == "key " + std::to_string(key.hash));
    }
    EXPECT_LE(traffic_->rules().busiest_rules({.rules = 300, .keys = 1}, kStart).size(), 300u);
  }
  counting.join();
}

}  // namespace
}  // namespace weir
