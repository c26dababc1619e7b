#include "nginx/stay.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "nginx/judge_testing.h"

namespace weir::nginx {
namespace {

constexpr std::string_view kResponseRules = R"(rules:
  - id: failed
    match: {path: /login}
    key: client
    limit: 2
    window: 1m
    count_if: {status: [401, 403]}
    on_deny: {block: 5m}
  - id: lenient
    match: {path: /lenient}
    limit: 2
    window: 1m
    count_if: {status: [401, 502], unknown: skip}
  - id: all
    group: all
    match: {path: /login}
    limit: 100
    window: 1m
  - id: work
    match: {path: /work}
    limit: 10
    window: 1m
    cost: response:X-Cost
  - id: tokens
    match: {path: /tokens}
    limit: 100
    window: 1m
    cost: response:X-Cost
    reserve: 30
  - id: usage
    match: {path: /usage}
    limit: 100
    window: 1m
    cost: usage
    reserve: 30
  - id: own-path
    group: all
    match: {path: /usage}
    limit: 1000
    window: 1m
    cost: response:json:meta.units
    reserve: false
    count_if: {status: 2xx}
  - id: watched
    match: {path: /watched}
    limit: 1
    window: 1m
    shadow: true
    count_if: {status: 401}
  - id: pages
    match: {path: /page}
    limit: 2
    window: 1m
    count_if: {status: 404}
    reserve: false
    on_deny: {block: 5m}
  - id: at-once
    match: {path: "/stream*"}
    key: client
    of: concurrency
    limit: 2
    allow: [192.0.2.9]
    deny: [192.0.2.10]
  - id: paced
    match: {path: /paced}
    key: client
    algorithm: token_bucket
    limit: 10
    window: 1s
    burst: 1
    on_deny: {delay_up_to: 1s, waiting_max: 2}
  - id: rate
    group: all
    match: {path: /stream/limited}
    limit: 3
    window: 1m
)";

class Stays : public Workers {
 protected:
  Stays() : Workers(kResponseRules) {}

  // One request, from its decision to its response.
  bool pass(std::string_view path, const ResponseHead& response) {
    if (ask(*judge_, path).is_denied()) {
      EXPECT_EQ(judge_->take_stay(), nullptr);
      return false;
    }
    const auto stay = judge_->take_stay();
    if (stay != nullptr) judge_->charge(*stay, response);
    return true;
  }
  bool pass(std::string_view path, int status) { return pass(path, {.status = status}); }
  // How many of so many requests pass.
  int passing(int requests, std::string_view path, const ResponseHead& response) {
    int passed = 0;
    for (int i = 0; i < requests; ++i) passed += pass(path, response) ? 1 : 0;
    return passed;
  }
  int passing(int requests, std::string_view path, int status) {
    return passing(requests, path, {.status = status});
  }
  static ResponseHead priced(std::string_view price) {
    return {.status = 200, .field = [price](std::string_view name) {
              return name == "X-Cost" ? price : std::string_view();
            }};
  }
  std::int64_t left(std::string_view path) {
    return ask(*judge_, path).said->answer->decision.remaining;
  }

  std::unique_ptr<Judge> judge_ = worker();
};

TEST_F(Stays, FailedLoginsAloneAreCounted) {
  EXPECT_EQ(passing(20, "/login", 200), 20);
  EXPECT_EQ(passing(20, "/login", 401), 2);
  EXPECT_FALSE(pass("/login", 200)) << "blocked";
}

// The requests that are under way at once pass. They pay their costs before the next one.
TEST_F(Stays, RequestsThatReserveNothingAreChargedWhenTheirResponsesCome) {
  std::vector<std::unique_ptr<Stay>> stays;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(ask(*judge_, "/page").is_denied());
    stays.push_back(judge_->take_stay());
  }
  for (const auto& stay : stays) judge_->charge(*stay, {.status = 404});
  EXPECT_EQ(ask(*judge_, "/page").said->answer->cause, Answer::Cause::kBlocked)
      << "by the third charge";
}

TEST_F(Stays, OfAHundredAtOnceNoMorePassThanMayCount) {
  const auto other = worker();
  std::vector<std::unique_ptr<Stay>> stays;
  const auto go = [&](Judge& judge) {
    const Judgement judgement = ask(judge);
    if (!judgement.is_denied()) stays.push_back(judge.take_stay());
    return judgement;
  };
  for (int i = 0; i < 50; ++i) {
    go(*judge_);
    go(*other);
  }
  EXPECT_EQ(stays.size(), 2u);
  const Judgement denied = go(*other);
  ASSERT_TRUE(denied.is_denied());
  EXPECT_EQ(denied.said->answer->cause, Answer::Cause::kUnderWay) << "which blocks nobody";
  EXPECT_EQ(denied.said->answer->decision.retry_after, std::chrono::seconds(1));
  EXPECT_FALSE(ask(*other, "/login", "192.0.2.2").is_denied());

  judge_->charge(*stays.front(), {.status = 200});
  EXPECT_FALSE(go(*judge_).is_denied()) << "the unit has come back";
  EXPECT_TRUE(go(*judge_).is_denied());
  other->charge(*stays[1], {.status = 401});
  EXPECT_TRUE(go(*other).is_denied()) << "one is counted, one under way";
  judge_->charge(*stays[2], {.status = 200});
  EXPECT_FALSE(go(*other).is_denied());
  stays.clear();
  EXPECT_FALSE(go(*other).is_denied()) << "one is left";
}

TEST_F(Stays, ARuleInShadowReservesNothingForWhatItWouldHaveDenied) {
  std::vector<std::unique_ptr<Stay>> stays;
  for (int i = 0; i < 3; ++i) {
    ask(*judge_, "/watched");
    stays.push_back(judge_->take_stay());
  }
  EXPECT_EQ(stays[1], nullptr);
  const RuleCounts& rules = judge_->traffic().rules();
  const auto over = [&] {
    const RuleFigures figures = rules.figures(rules.number_with(rule_hash("watched")));
    return figures[static_cast<std::size_t>(RuleOutcome::kShadow)];
  };
  EXPECT_EQ(over(), 2u);
  stays.clear();
  ask(*judge_, "/watched");
  EXPECT_EQ(over(), 2u);
}

TEST_F(Stays, AResponseIsChargedOnce) {
  ask(*judge_);
  const auto stay = judge_->take_stay();
  ASSERT_NE(stay, nullptr);
  for (int i = 0; i < 5; ++i) judge_->charge(*stay, {.status = 401});
  EXPECT_FALSE(stay->owes());
  EXPECT_FALSE(ask(*judge_).is_denied());
}

TEST_F(Stays, WhatPassesIsCountedByOtherRulesAsEver) {
  EXPECT_EQ(passing(20, "/login", 401), 2);
  clock_.time += std::chrono::minutes(6);
  EXPECT_EQ(judge_->traffic().summary(clock_.time).total_denied(), 18u);
  EXPECT_EQ(passing(120, "/login", 200), 100);
}

TEST_F(Stays, AResponseSaysWhatItsWorkHasCost) {
  EXPECT_EQ(left("/work"), 10);
  EXPECT_TRUE(pass("/work", priced("4")));
  EXPECT_EQ(left("/work"), 6);
  EXPECT_TRUE(pass("/work", priced("0")));
  EXPECT_TRUE(pass("/work", priced("")));
  EXPECT_EQ(left("/work"), 5);
  EXPECT_TRUE(pass("/work", priced("12"))) << "there was something left";
  EXPECT_FALSE(pass("/work", priced("1"))) << "it owes 7";
}

TEST_F(Stays, WhoGoesWithoutAResponsePaysAtTheEnd) {
  const ResponseHead unknown{.is_known = false};
  EXPECT_TRUE(pass("/work", unknown));
  EXPECT_EQ(left("/work"), 9);
  EXPECT_EQ(passing(5, "/login", ResponseHead::kNoResponse), 5) << "an origin says so";
  EXPECT_EQ(passing(5, "/login", unknown), 2);
}

TEST_F(Stays, ARuleMaySkipWhatNobodyHasSeen) {
  EXPECT_EQ(passing(5, "/lenient", {.is_known = false}), 5);
  EXPECT_EQ(passing(5, "/lenient", {.status = 502, .is_known = false}), 2) << "as nginx says";
}

// No more than limit / reserve pass, whatever each will cost.
TEST_F(Stays, OfAHundredOfUnknownCostAtOnceAsManyPassAsTheirReservesFit) {
  const auto other = worker();
  std::vector<std::unique_ptr<Stay>> stays;
  for (int i = 0; i < 50; ++i) {
    for (Judge* const judge : {judge_.get(), other.get()}) {
      const Judgement judgement = ask(*judge, "/tokens");
      if (!judgement.is_denied()) {
        stays.push_back(judge->take_stay());
        continue;
      }
      EXPECT_EQ(judgement.said->answer->cause, Answer::Cause::kUnderWay);
    }
  }
  ASSERT_EQ(stays.size(), 3u);
  judge_->charge(*stays[0], priced("10"));
  EXPECT_FALSE(ask(*other, "/tokens").is_denied()) << "90 are left, and two are under way";
  for (std::size_t i = 1; i < 3; ++i) judge_->charge(*stays[i], priced("31"));
  EXPECT_TRUE(ask(*other, "/tokens").is_denied()) << "28 are left";
}

TEST_F(Stays, WhoGoesWithoutAResponsePaysWhatWasReserved) {
  EXPECT_TRUE(pass("/tokens", {.is_known = false}));
  EXPECT_EQ(left("/tokens"), 70);
  EXPECT_TRUE(pass("/tokens", priced("")));
  EXPECT_EQ(left("/tokens"), 69);
  EXPECT_TRUE(pass("/tokens", {.status = ResponseHead::kNoResponse, .field = priced("5").field}));
  EXPECT_EQ(left("/tokens"), 64);
}

// A request whose body has come up to here.
class Bodies : public Stays {
 protected:
  using Form = UsageReader::Form;

  std::unique_ptr<Stay> answered(const ResponseHead& head) {
    EXPECT_FALSE(ask(*judge_, "/usage").is_denied());
    auto stay = judge_->take_stay();
    EXPECT_TRUE(stay->wants_body());
    judge_->charge(*stay, head);
    return stay;
  }
  void read(const ResponseHead& head, std::string_view body) {
    const auto stay = answered(head);
    ASSERT_TRUE(stay->reads_body());
    for (const char& byte : body) stay->read({&byte, 1});
    judge_->charge_for_body(*stay);
    EXPECT_FALSE(stay->owes());
  }
  // What is left of both rules.
  std::vector<std::int64_t> left() {
    const auto items = ask(*judge_, "/usage").said->limit.items;
    std::vector<std::int64_t> remaining;
    for (const auto& item : items) remaining.push_back(item.decision.remaining);
    return remaining;
  }
  using Left = std::vector<std::int64_t>;

  const ResponseHead json_{.status = 200, .body = Form::kJson};
};

TEST_F(Bodies, SayWhatTheirWorkHasCost) {
  EXPECT_EQ(left(), (Left{100, 1000}));
  read(json_, R"({"usage":{"total_tokens":12},"meta":{"units":7}})");
  EXPECT_EQ(left(), (Left{88, 993}));
  read({.status = 200, .body = Form::kEvents}, "data: {\"usage\":{\"total_tokens\":3}}\n\n");
  EXPECT_EQ(left(), (Left{85, 992})) << "where a body says nothing, the estimate";
  read(json_, R"({"usage":{"total_tokens":0},"meta":{"units":0}})");
  EXPECT_EQ(left(), (Left{85, 992})) << "it says so";
  read(json_, R"({"usage":{"total_tokens":200},"meta":{"units":0}})");
  EXPECT_TRUE(ask(*judge_, "/usage").is_denied()) << "it owes";
}

TEST_F(Bodies, ThatSayNothingOrCannotBeReadCostTheEstimate) {
  read(json_, R"({"choices":[]})");
  EXPECT_EQ(left(), (Left{70, 999}));
  EXPECT_FALSE(answered({.status = 200})->owes()) << "compressed, or of another type";
  EXPECT_EQ(left(), (Left{40, 998}));
  EXPECT_FALSE(answered({.status = 504, .is_known = false, .body = Form::kJson})->owes());
  EXPECT_EQ(left(), (Left{10, 997})) << "of the 10 that are left nobody can reserve 30";
}

TEST_F(Bodies, OfErrorsCostNothingUnlessTheySaySo) {
  const ResponseHead error{.status = 529, .body = Form::kJson};
  EXPECT_FALSE(answered({.status = 400})->owes());
  read(error, R"({"error":{"type":"overloaded_error"}})");
  EXPECT_EQ(left(), (Left{100, 1000}));
  read(error, R"({"usage":{"input_tokens":9}})");
  EXPECT_EQ(left(), (Left{91, 1000}));
}

TEST_F(Bodies, HoldTheirSharesUntilTheirEnd) {
  std::vector<std::unique_ptr<Stay>> stays;
  for (int i = 0; i < 3; ++i) stays.push_back(answered(json_));
  EXPECT_EQ(ask(*judge_, "/usage").said->answer->cause, Answer::Cause::kUnderWay);
  stays[0]->read(R"({"usage":{"input_tokens":5},)");
  judge_->charge_for_body(*stays[0]);
  EXPECT_FALSE(ask(*judge_, "/usage").is_denied()) << "95 are left, and two are under way";
  stays.clear();
  EXPECT_EQ(left(), (Left{95, 999}));
}

TEST_F(Stays, ARuleInShadowCountsWhatItWouldHaveLetPass) {
  const auto pass_failing = [&] {
    EXPECT_EQ(ask(*judge_, "/watched").kind, Judgement::Kind::kNothing);
    if (const auto stay = judge_->take_stay()) judge_->charge(*stay, {.status = 401});
  };
  const auto left_to_spend = [&] {
    Asks look(judge_->engine(), judge_->blocks().list());
    look.begin(Operation::kLook);
    const Rule* const rule = loaded_.gateway->sets().front()->find("watched");
    EXPECT_TRUE(look.add({.rule = rule, .key = {}, .cost = 0}));
    look.decide(clock_.time);
    return look.answer(0).decision;
  };
  EXPECT_EQ(left_to_spend().remaining, 1);
  for (int i = 0; i < 9; ++i) pass_failing();
  EXPECT_EQ(left_to_spend().remaining, 0);
  EXPECT_TRUE(left_to_spend().allowed()) << "it owes nothing for those that it would have denied";
}

TEST_F(Stays, AsManyAsTheLimitAreUnderWayInAllWorkersTogether) {
  const auto other = worker();
  const auto go = [](Judge& judge, std::string_view client = "192.0.2.1") {
    const bool is_denied = ask(judge, "/stream", client).is_denied();
    auto stay = judge.take_stay();
    EXPECT_EQ(stay == nullptr, is_denied);
    return stay;
  };
  auto first = go(*judge_);
  const auto second = go(*other);
  EXPECT_EQ(go(*judge_), nullptr);
  EXPECT_EQ(go(*other), nullptr);
  EXPECT_NE(go(*judge_, "192.0.2.2"), nullptr);
  first.reset();
  first = go(*other);
  EXPECT_NE(first, nullptr);
  const Judgement denied = ask(*judge_, "/stream");
  ASSERT_TRUE(denied.is_denied());
  EXPECT_EQ(denied.said->answer->cause, Answer::Cause::kUnderWay);
  EXPECT_EQ(denied.said->answer->decision.limit, 2);
  EXPECT_EQ(denied.said->answer->decision.retry_after, std::chrono::seconds(1));
  EXPECT_EQ(judge_->traffic().summary(clock_.time).total_denied(), 3u);
}

TEST_F(Stays, WhoIsOnAListIsNotUnderWay) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(ask(*judge_, "/stream", "192.0.2.9").is_denied());
    EXPECT_EQ(judge_->take_stay(), nullptr);
    EXPECT_TRUE(ask(*judge_, "/stream", "192.0.2.10").is_denied());
    EXPECT_EQ(judge_->take_stay(), nullptr);
  }
}

// Each rule denies without a trace in the other's counter.
TEST_F(Stays, ADeniedRequestIsNeitherUnderWayNorCharged) {
  const auto limited = [&] { return ask(*judge_, "/stream/limited").is_denied(); };
  std::vector<std::unique_ptr<Stay>> stays;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(limited());
    stays.push_back(judge_->take_stay());
  }
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limited()) << "two are under way";
  stays.clear();
  EXPECT_FALSE(limited());
  judge_->take_stay();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limited()) << "three were charged";
  clock_.time += std::chrono::minutes(2);
  EXPECT_FALSE(limited());
  stays.push_back(judge_->take_stay());
  EXPECT_FALSE(limited());
}

TEST_F(Stays, WhoWouldBeDeniedWaitsIfThereIsAPlace) {
  const auto other = worker();
  EXPECT_EQ(ask(*judge_, "/paced").wait, Duration{0});
  EXPECT_EQ(judge_->take_stay(), nullptr) << "it has no place, as it needs none";
  std::vector<std::unique_ptr<Stay>> waiting;
  for (const int turn : {1, 2}) {
    const Judgement judgement = ask(*judge_, "/paced");
    EXPECT_FALSE(judgement.is_denied());
    EXPECT_EQ(judgement.wait, turn * std::chrono::milliseconds(100));
    waiting.push_back(judge_->take_stay());
  }
  for (const std::string_view client : {"192.0.2.1", "192.0.2.2", "192.0.2.2"}) {
    const Judgement judgement = ask(*other, "/paced", client);
    EXPECT_EQ(judgement.is_denied(),
              client == "192.0.2.1" || judgement.wait > Duration{0} ||
                  judgement.said->answer->decision.retry_after > Duration{0});
    EXPECT_EQ(other->take_stay(), nullptr);
  }
  EXPECT_EQ(ask(*other, "/paced").said->answer->decision.retry_after,
            std::chrono::milliseconds(300));
  waiting.front()->go_on();
  EXPECT_EQ(ask(*other, "/paced").wait, std::chrono::milliseconds(300));
  const auto third = other->take_stay();
  EXPECT_TRUE(ask(*judge_, "/paced").is_denied());
}

}  // namespace
}  // namespace weir::nginx
