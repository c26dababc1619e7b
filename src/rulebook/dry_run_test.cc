#include "rulebook/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/prng.h"
#include "config/config.h"
#include "rulebook/court.h"
#include "rulebook/rulebook.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);

Quota quota(Algorithm algorithm, std::int64_t limit, Duration window, std::int64_t burst = 0) {
  return *Quota::make({.algorithm = algorithm, .limit = limit, .window = window, .burst = burst});
}
Quota quota(std::int64_t limit, Duration window = 1min) {
  return quota(Algorithm::kFixedWindow, limit, window);
}
Rule rule(const Quota& limit) { return {.id = "r", .quota = limit, .number = 3}; }

class DryRunTest : public testing::Test {
 protected:
  void ask(std::uint64_t key, std::int64_t cost = 1, std::string_view tier = {}) {
    const RecentAsk ask{.key = key << 41,
                        .tier = RecentAsk::tier_named(tier),
                        .place = static_cast<std::uint16_t>(key % 100),
                        .rule = 3,
                        .cost = cost,
                        .at = now_};
    asked_.push_back(ask);
    asks_.core(0).add(ask);
  }
  DryRun run(const Rule& before, const Rule& after, Duration over = 1h) {
    return dry_run(asks_, before, after,
                   {.over = over, .precise_keys = precise_keys_, .curve = curve_}, now_);
  }

  Instant now_ = kStart;
  std::size_t precise_keys_ = 0;
  DryRunTerms::Curve curve_ = DryRunTerms::Curve::kAroundTheLimits;
  RecentAsks asks_{RecentAsks::kBytesMin, 1, kStart};
  std::vector<RecentAsk> asked_;
};

TEST_F(DryRunTest, SaysWhomALowerLimitWouldHaveDenied) {
  for (int i = 0; i < 90; ++i) ask(1);
  for (int i = 0; i < 50; ++i) ask(2);
  for (int i = 0; i < 110; ++i) ask(3);
  now_ += 90s;
  const auto run = this->run(rule(quota(100)), rule(quota(80)));
  EXPECT_EQ(run.unknown, "");
  EXPECT_EQ(run.over, 90s);
  EXPECT_EQ(run.asked.requests, 250u);
  EXPECT_EQ(run.asked.keys, 3u);
  EXPECT_EQ(run.in_force.denied.requests, 10u);
  EXPECT_EQ(run.in_force.denied.keys, 1u);
  EXPECT_EQ(run.wanted.denied.requests, 10u + 30u);
  EXPECT_EQ(run.wanted.denied.keys, 2u);
  EXPECT_EQ(run.newly_denied.requests, 30u);
  EXPECT_EQ(run.newly_denied.keys, 2u);
  EXPECT_EQ(run.newly_allowed.requests, 0u);
  std::map<std::int64_t, std::uint64_t> denied;
  for (const auto& point : run.curve) denied[point.limit] = point.denied.requests;
  EXPECT_EQ(denied.size(), 16u);
  EXPECT_EQ(denied[10], 250u - 30u);
  EXPECT_EQ(denied[80], 40u);
  EXPECT_EQ(denied[100], 10u);
  EXPECT_EQ(denied[125], 0u);
}

// They said that nobody would newly be denied: they took a rule in shadow for one that denies.
TEST_F(DryRunTest, ShadowAndEnforceAreChanges) {
  for (int i = 0; i < 12; ++i) {
    for (const std::uint64_t key : {1, 5, 50}) ask(key);
  }
  now_ += 90s;
  const Rule all = rule(quota(10));
  Rule none = all;
  none.shadow = true;
  Rule some = all;
  some.enforced_percent = 10;
  const auto counts = [](const DryRun::Count& count) {
    return std::pair(count.requests, count.keys);
  };
  using Counts = std::pair<std::uint64_t, std::uint64_t>;
  const auto begun = run(none, all);
  EXPECT_EQ(counts(begun.in_force.denied), Counts(0, 0));
  EXPECT_EQ(counts(begun.in_force.spared), Counts(6, 3));
  EXPECT_EQ(counts(begun.wanted.denied), Counts(6, 3));
  EXPECT_EQ(counts(begun.wanted.spared), Counts(0, 0));
  EXPECT_EQ(counts(begun.newly_denied), Counts(6, 3));
  EXPECT_EQ(counts(run(none, some).newly_denied), Counts(4, 2));
  EXPECT_EQ(counts(run(none, some).wanted.spared), Counts(2, 1));
  EXPECT_EQ(counts(run(some, all).newly_denied), Counts(2, 1));
  EXPECT_EQ(counts(run(all, some).newly_allowed), Counts(2, 1));
  EXPECT_EQ(counts(run(all, none).newly_allowed), Counts(6, 3));
  EXPECT_EQ(counts(run(some, some).newly_denied), Counts(0, 0));
  const auto still = run(none, none);
  EXPECT_EQ(still.curve.front().limit, 1);
  EXPECT_EQ(counts(still.curve.front().spared), Counts(33, 3))
      << "the curve shows whom it would hit";
}

TEST_F(DryRunTest, ARuleOfAHourIsNotKnownAfterSevenMinutes) {
  for (int i = 0; i < 10; ++i) ask(1);
  now_ += 7min;
  const auto hour = run(rule(quota(9)), rule(quota(5, 1h)));
  EXPECT_EQ(hour.unknown, "Its windows reach back 1h, and the memory 7m.");
  EXPECT_EQ(run(rule(quota(9)), rule(quota(5, 6min))).newly_denied.requests, 4u);
}

TEST_F(DryRunTest, LimitsOfSingleKeysAreFoundByTheirHashes) {
  const KeyHasher hasher{HashSecret{}};
  RecentAsks asks(RecentAsks::kBytesMin, 1, kStart, &hasher);
  for (const std::string_view key : {"alice", "bob"}) {
    const HashedName name = hasher.hash_names({.rule = {}, .bucket = {}, .key = key});
    for (int i = 0; i < 10; ++i) {
      asks.core(0).add({.key = name.key.low + name.bucket.low, .rule = 3, .cost = 1, .at = now_});
    }
  }
  now_ += 90s;
  Rule special = rule(quota(5));
  special.overrides["alice"] = {quota(8)};
  const auto run = dry_run(asks, rule(quota(5)), special, {.over = 1h}, now_);
  EXPECT_EQ(run.newly_allowed.requests, 3u);
  EXPECT_EQ(run.wanted.denied.requests, 2u + 5u);
  EXPECT_EQ(dry_run(asks, special, rule(quota(6)), {.over = 1h}, now_).newly_denied.requests, 2u);
}

TEST_F(DryRunTest, TheSameRuleChangesNothing) {
  Prng random(1);
  for (int i = 0; i < 2'000; ++i) {
    now_ += Duration{random.below(200'000)};
    ask(random.below(5) + 1);
  }
  const auto run = this->run(rule(quota(Algorithm::kSlidingWindow, 20, 30s)),
                             rule(quota(Algorithm::kSlidingWindow, 20, 30s)));
  EXPECT_GT(run.in_force.denied.requests, 100u);
  EXPECT_EQ(run.wanted.denied.requests, run.in_force.denied.requests);
  EXPECT_EQ(run.newly_denied.requests + run.newly_allowed.requests, 0u);
}

// It said that a limit denied 24 requests of which the node had denied 20.
TEST_F(DryRunTest, CountsPreciselyWhatTheNodeDoes) {
  for (int i = 0; i < 400; ++i) {
    now_ += 770ms;
    ask(1);
  }
  const Rule ten = rule(quota(Algorithm::kSlidingWindow, 10, 10s));
  const auto plain = run(ten, ten).in_force;
  precise_keys_ = 1;
  const auto precise = run(ten, ten).in_force;
  EXPECT_GT(precise.denied.requests, 0u);
  EXPECT_LT(precise.denied.requests, plain.denied.requests);
}

// By the definition of an exact log: what was allowed within the window counts.
TEST_F(DryRunTest, AnExactRuleIsARecount) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Prng random(seed);
    asks_.~RecentAsks();
    new (&asks_) RecentAsks(RecentAsks::kBytesMin, 1, now_);
    asked_.clear();
    const Duration window{random.below(20'000'000) + 1'000'000};
    const std::int64_t limit = random.below(30) + 5;
    for (int i = 0; i < 1'000; ++i) {
      now_ += Duration{random.below(100'000)};
      ask(random.below(6) + 1, random.below(3) + 1);
    }
    std::map<std::uint64_t, std::vector<RecentAsk>> allowed;
    std::set<std::uint64_t> keys;
    std::uint64_t denied = 0;
    for (const RecentAsk& one : asked_) {
      auto& log = allowed[one.key];
      std::erase_if(log, [&](const RecentAsk& old) { return old.at <= one.at - window; });
      std::int64_t spent = one.cost;
      for (const RecentAsk& old : log) spent += old.cost;
      if (spent <= limit) {
        log.push_back(one);
      } else {
        ++denied;
        keys.insert(one.key);
      }
    }
    const auto run =
        this->run(rule(quota(limit, 10s)), rule(quota(Algorithm::kSlidingLog, limit, window)));
    EXPECT_EQ(run.wanted.denied.requests, denied) << seed;
    EXPECT_EQ(run.wanted.denied.keys, keys.size()) << seed;
    EXPECT_EQ(run.wanted.too_early, 0u) << seed;
  }
}

TEST_F(DryRunTest, AnyRulesDifferByWhatTheyDenyApart) {
  constexpr std::array kAlgorithms = {Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                      Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                      Algorithm::kExponentialBackoff};
  Prng random(9);
  curve_ = DryRunTerms::Curve::kNone;
  for (int i = 0; i < 3'000; ++i) {
    now_ += Duration{random.below(50'000)};
    ask(random.below(40) + 1, random.below(3) + 1);
  }
  now_ += 1h;  // any bucket fills meanwhile
  const auto any = [&] {
    const Algorithm algorithm = kAlgorithms[random.below(kAlgorithms.size())];
    const std::int64_t burst = algorithm == Algorithm::kTokenBucket ? random.below(20) : 0;
    return rule(
        quota(algorithm, random.below(60) + 1, Duration{random.below(20'000'000) + 1'000}, burst));
  };
  const auto ask_court = [&](const Rule& one) {
    Court court(std::make_shared<const RuleSet>(std::vector{one}), {.max_keys = 4096}, kStart);
    std::vector<bool> denied;
    for (const RecentAsk& each : asked_) {
      Asks& asks = court.begin();
      asks.add({.rule = &court.rules().rules().front(),
                .key = std::to_string(each.key),
                .cost = each.cost});
      asks.decide(each.at);
      denied.push_back(!asks.answer(0).allowed());
    }
    return denied;
  };
  for (int round = 0; round < 30; ++round) {
    const Rule before = any();
    const Rule after = any();
    const auto run = this->run(before, after, 2h);
    const auto was = ask_court(before);
    const auto is = ask_court(after);
    std::uint64_t newly_denied = 0;
    std::uint64_t newly_allowed = 0;
    for (std::size_t i = 0; i < is.size(); ++i) {
      newly_denied += is[i] && !was[i];
      newly_allowed += was[i] && !is[i];
    }
    EXPECT_EQ(run.newly_denied.requests, newly_denied) << round;
    EXPECT_EQ(run.newly_allowed.requests, newly_allowed) << round;
  }
}

TEST_F(DryRunTest, SaysWhatAnExactLogWouldHaveAllowed) {
  now_ = kStart - kStart.time_since_epoch() % 1min + 59s;
  for (int i = 0; i < 10; ++i) ask(1);
  now_ += 2s;  // in the next window
  for (int i = 0; i < 10; ++i) ask(1);
  now_ += 90s;
  const auto fixed = this->run(rule(quota(10)), rule(quota(10)));
  EXPECT_EQ(fixed.wanted.denied.requests, 0u);
  EXPECT_EQ(fixed.wanted.too_early, 0u);
  const auto bucket = this->run(rule(quota(10)), rule(quota(Algorithm::kTokenBucket, 20, 1min, 5)));
  EXPECT_EQ(bucket.wanted.too_early, bucket.wanted.denied.requests);
}

TEST_F(DryRunTest, TiersHaveTheirLimitsAndKeepThemAlongTheCurve) {
  for (int i = 0; i < 10; ++i) {
    ask(1, 1, "gold");
    ask(2, 1, "none that it has");
    ask(3);
  }
  now_ += 90s;
  Rule tiered = rule(quota(4));
  tiered.tiers["gold"] = {quota(8)};
  const auto run = this->run(rule(quota(10)), tiered);
  EXPECT_EQ(run.wanted.denied.requests, 2u + 6u + 6u);
  EXPECT_EQ(run.curve.front().limit, 1);
  EXPECT_EQ(run.curve.front().denied.requests, 2u + 9u + 9u);
}

TEST_F(DryRunTest, BlocksFollowFromDenials) {
  Rule blocks = rule(quota(5, 1s));
  blocks.denial.blocks = {10s};
  for (int i = 0; i < 20; ++i, now_ += 100ms) ask(1);
  now_ += 3s;
  ask(1);
  EXPECT_EQ(run(rule(quota(5, 1s)), blocks).wanted.denied.requests, 16u);
  now_ += 20s;
  ask(1);
  EXPECT_EQ(run(rule(quota(5, 1s)), blocks).wanted.denied.requests, 16u);
  blocks.shadow = true;
  EXPECT_EQ(run(blocks, blocks).wanted.spared.requests,
            run(blocks, rule(quota(5, 1s))).newly_denied.requests)
      << "shadow blocks nobody";
}

// Sixteen times the limit: each window, the plain rule lets its first requests pass, the other one
// every sixteenth.
TEST_F(DryRunTest, AProportionalRuleDeniesTheShareAboveItsLimit) {
  now_ = kStart - kStart.time_since_epoch() % 1s;
  for (int i = 0; i < 16'000; ++i, now_ += 625us) ask(1);
  Rule proportional = rule(quota(100, 1s));
  proportional.is_proportional = true;
  const auto run = this->run(rule(quota(100, 1s)), proportional);
  EXPECT_EQ(run.in_force.denied.requests, 15'000u);
  EXPECT_NEAR(static_cast<double>(run.wanted.denied.requests), 15'000, 20);
  EXPECT_GT(run.newly_denied.requests, 800u);
  EXPECT_GT(run.newly_allowed.requests, 800u);
  EXPECT_EQ(this->run(proportional, proportional).newly_denied.requests, 0u);
  for (const auto& point : run.curve) {
    if (point.limit >= 1600) continue;
    EXPECT_NEAR(static_cast<double>(point.denied.requests),
                16'000 - 10 * static_cast<double>(point.limit), 20)
        << point.limit;
  }
}

TEST_F(DryRunTest, CountersBeforeTheMemoryAreNotKnown) {
  now_ += 1h;
  for (int i = 0; i < 40'000; ++i) {  // more than it holds, within 20 minutes
    now_ += 30ms;
    ask(1);
  }
  const auto hour = run(rule(quota(9, 1h)), rule(quota(9)));
  EXPECT_THAT(hour.unknown, HasSubstr("Its windows reach back 1h, and the memory "));
  const auto minute = run(rule(quota(9, 1min)), rule(quota(9, 2min)));
  EXPECT_EQ(minute.unknown, "");
  EXPECT_GT(minute.over, 10min);
  EXPECT_LT(minute.over, 18min) << "two minutes are for the windows";
  const auto bucket = run(rule(quota(9)), rule(quota(Algorithm::kTokenBucket, 1, 1min, 100)));
  EXPECT_THAT(bucket.unknown, HasSubstr("Its windows reach back 1h40m"));
}

TEST_F(DryRunTest, WhatWasAskedOtherwiseIsLeftOut) {
  for (int i = 0; i < 20; ++i, now_ += 1s) ask(1);
  const auto since = [&](Duration ago) {
    return dry_run(asks_, rule(quota(1, 3s)), rule(quota(1, 2s)), {.over = 1h, .since = now_ - ago},
                   now_);
  };
  EXPECT_EQ(since(8s).asked.requests, 5u);
  EXPECT_EQ(since(8s).over, 5s);
  EXPECT_THAT(since(2s).unknown, HasSubstr("reach back 3s, and the memory 2s"));
}

TEST_F(DryRunTest, ARuleOfManyAsksIsJudgedByFewerKeys) {
  for (int i = 0; i < 4'000; ++i, now_ += 1ms) {
    asks_.core(0).add(
        {.key = static_cast<std::uint64_t>(i % 64), .rule = 3, .cost = 1, .at = now_});
  }
  now_ += 1min;
  const auto run =
      dry_run(asks_, rule(quota(100)), rule(quota(50)), {.over = 1h, .asks_max = 400}, now_);
  EXPECT_EQ(run.one_key_of, 16u);
  EXPECT_EQ(run.asked.keys, 4u);
  EXPECT_EQ(run.newly_denied.keys, 4u);
  EXPECT_TRUE(run.curve.empty());
}

// A node that has remembered ten requests of one key, to the rule `login`, within a second.
class TriedRulesTest : public testing::Test {
 protected:
  TriedRulesTest() {
    book_.load(*parse_config("rules: [{id: login, limit: 5, window: 1m}, {id: search, limit: 10, "
                             "window: 1m}]",
                             "weir.yaml"),
               kStart);
    for (int i = 0; i < 10; ++i) {
      asks_.core(0).add(
          {.key = 1, .rule = 0, .cost = 1, .at = kStart + std::chrono::milliseconds(i)});
    }
  }
  std::vector<DryRun> judge(RuleTrial trial, Duration later = std::chrono::seconds(90)) {
    trial.over = std::chrono::minutes(5);
    return book_.judge(trial, &asks_, kStart + later).dry_runs;
  }
  std::string why_not(const std::string& id, const std::string& text) {
    const auto runs = judge({.id = id, .text = text});
    return runs.size() == 1 ? runs.front().unknown : "there is none";
  }

  RecentAsks asks_{RecentAsks::kBytesMin, 1, kStart};
  Rulebook book_{{},
                 [](std::vector<Rule> rules, RequestSources) {
                   RuleNumber number = 0;
                   for (Rule& rule : rules) rule.number = number++;
                   return std::make_shared<const RuleSet>(std::move(rules));
                 },
                 [] {}};
};

TEST_F(TriedRulesTest, JudgeOtherLimitsOfARuleOrOfAFile) {
  const auto runs = judge({.id = "login", .text = "{id: login, limit: 3, window: 1m}"});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].unknown, "");
  EXPECT_EQ(runs[0].in_force.denied.requests, 5u);
  EXPECT_EQ(runs[0].wanted.denied.requests, 7u);
  EXPECT_FALSE(runs[0].curve.empty());
  const auto of_file =
      judge({.id = {},
             .text = "rules: [{id: login, limit: 8, window: 1m, name: People}, {id: search, "
                     "limit: 10, window: 1m}, {id: new, limit: 1, window: 1m}]"});
  ASSERT_EQ(of_file.size(), 2u) << "search stays as it is";
  EXPECT_EQ(of_file[0].newly_allowed.requests, 3u);
  EXPECT_EQ(of_file[1].unknown, "The rule is not in force, so no request has asked for it.");
  EXPECT_TRUE(book_.judge({.id = {}, .text = "rules: []"}, &asks_, kStart).dry_runs.empty());
}

TEST_F(TriedRulesTest, DoNotKnowWhatOtherRequestsWouldCome) {
  for (const auto& [fields, text] :
       {std::pair("match", "match: {path: /x}"),
        {"match, key", "key: client, match: {}"},
        {"allow", "allow: [alice]"},
        {"deny", "deny: [alice]"},
        {"overrides", "overrides: [{key: a, limit: 1, window: 1m}]"}}) {
    EXPECT_EQ(
        why_not("login", "{id: login, limit: 3, window: 1m, " + std::string(text) + "}"),
        "It differs in " + std::string(fields) +
            ". The node remembers hashed key, tier, cost and time of what the limits decided, "
            "so nobody knows which requests would count.");
  }
  EXPECT_THAT(why_not("x", "{id: x, limit: 3, window: 1m}"), HasSubstr("is not in force"));
}

TEST_F(TriedRulesTest, JudgeABoundAndWhichKeysAreDenied) {
  for (const char* const more : {"bound: never_over", "shadow: true", "enforce: 10%"}) {
    EXPECT_EQ(why_not("login", "{id: login, limit: 3, window: 1m, " + std::string(more) + "}"), "")
        << more;
  }
}

TEST_F(TriedRulesTest, ForgetWhatWasAskedBeforeTheRuleWasAskedOtherwise) {
  const auto later = std::chrono::minutes(3);
  book_.change({.kind = RuleChange::Kind::kPatch, .id = "login", .text = R"({"limit":4})"},
               kStart + later);
  const auto asked = [&](Duration at) {
    return judge({.id = "login", .text = "{id: login, limit: 3, window: 1m}"}, at).front();
  };
  EXPECT_EQ(asked(later).asked.requests, 10u) << "another limit asks alike";
  book_.change(
      {.kind = RuleChange::Kind::kPatch, .id = "login", .text = R"({"match":{},"key":"client"})"},
      kStart + later);
  book_.change(
      {.kind = RuleChange::Kind::kPatch, .id = "login", .text = R"({"match":null,"key":null})"},
      kStart + later);
  EXPECT_THAT(asked(later).unknown, HasSubstr("reach back 1m, and the memory 0s"));
  EXPECT_EQ(asked(later + std::chrono::seconds(61)).asked.requests, 0u);
}

TEST_F(TriedRulesTest, WithoutAMemoryNothingIsKnown) {
  const RuleTrial trial{
      .id = "login", .text = "{id: login, limit: 3, window: 1m}", .over = std::chrono::minutes(5)};
  const auto verdict = book_.judge(trial, nullptr, kStart);
  ASSERT_EQ(verdict.dry_runs.size(), 1u);
  EXPECT_EQ(verdict.dry_runs[0].unknown, "This node remembers no requests; see --remember.");
}

}  // namespace
}  // namespace weir
