// Requests whose bodies say how much to hold until their cost is known.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nginx/judge_testing.h"
#include "nginx/stay.h"

namespace weir::nginx {
namespace {

constexpr std::string_view kRules = R"(rules:
  - id: asked
    match: {path: "/asked*"}
    limit: 100
    window: 1m
    more_limits: [{limit: 1000, window: day}]
    cost: usage
    reserve: 40
    reserve_from: max_tokens
    allow: [192.0.2.9]
  - id: asked-own-path
    group: all
    match: {path: /asked/twice}
    limit: 50
    window: 1m
    cost: usage
    reserve: 10
    reserve_from: request:json:options.most
  - id: other
    match: {path: /other}
    limit: 100
    window: 1m
    cost: usage
    reserve: 30
  - id: tokens
    match: {path: "/paid*"}
    limit: 100
    window: 1m
    cost: usage
    reserve: 40
    reserve_from: max_tokens
  - id: dollars
    group: dollars
    match: {path: "/paid*"}
    limit: 900
    window: month
    cost: usage:dollars
    reserve: 300
    reserve_from: max_tokens
prices:
  - {model: small, input: 0.5, output: 2}
  - {model: "large*", input: 5, cached_input: 0.1, output: 10}
)";

// Requests whose bodies say how many tokens they may cost.
class Asked : public Workers {
 protected:
  Asked() : Workers(kRules) {}

  // Null: the request is denied.
  std::unique_ptr<Stay> go(Judge& judge, std::string_view body, std::string_view path = "/asked") {
    const BodyStart said{.bytes = body};
    if (ask(judge, path, "192.0.2.1", &said).is_denied()) return nullptr;
    return judge.take_stay();
  }
  std::unique_ptr<Stay> go(std::string_view body) { return go(*judge_, body); }
  std::int64_t left() {
    const BodyStart none;
    return ask(*judge_, "/asked", "192.0.2.1", &none).said->answer->decision.remaining;
  }

  std::unique_ptr<Judge> judge_ = worker();
  const ResponseHead silent_{.status = 200};
};

TEST_F(Asked, HoldAndCostWhatTheySay) {
  const auto other = worker();
  std::vector<std::unique_ptr<Stay>> stays;
  const auto passes = [&](Judge& judge, std::string_view body) {
    auto stay = go(judge, body);
    if (stay == nullptr) return false;
    stays.push_back(std::move(stay));
    return true;
  };
  EXPECT_TRUE(passes(*judge_, R"({"max_tokens":30})"));
  EXPECT_TRUE(passes(*other, R"({"max_tokens":5})"));
  EXPECT_TRUE(passes(*judge_, R"({})")) << "40, as the rule says";
  EXPECT_FALSE(passes(*other, R"({"max_tokens":26})"));
  EXPECT_FALSE(passes(*other, "no JSON"));
  EXPECT_TRUE(passes(*other, R"({"max_tokens":25})"));
  EXPECT_FALSE(passes(*judge_, R"({"max_tokens":1})"));

  judge_->charge(*stays[0], silent_);
  EXPECT_FALSE(passes(*judge_, R"({"max_tokens":1})")) << "it has cost what it held";
  stays.erase(stays.begin(), stays.begin() + 2);
  EXPECT_TRUE(passes(*judge_, R"({"max_tokens":5})")) << "one was given up";
  EXPECT_FALSE(passes(*judge_, R"({"max_tokens":1})"));
  stays.clear();
  EXPECT_EQ(left(), 70);
}

TEST_F(Asked, HoldAllOfTheLimitIfTheySayMore) {
  auto all = go(R"({"max_tokens":999999999999999})");
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(go(R"({"max_tokens":1})"), nullptr);
  all.reset();
  const auto one = go(R"({"max_tokens":1})");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(go(R"({"max_tokens":999999999999999})"), nullptr);
  EXPECT_NE(go(R"({"max_tokens":99})"), nullptr);
  judge_->charge(*one, silent_);
  EXPECT_EQ(left(), 99);
  EXPECT_EQ(go(R"({"max_tokens":100})"), nullptr) << "so many are never left";
}

TEST_F(Asked, CostNoMoreThanTheLimitIfNothingIsReported) {
  judge_->charge(*go(R"({"max_tokens":5000})"), silent_);
  EXPECT_EQ(left(), 0);
  clock_.time += std::chrono::minutes(2);
  EXPECT_EQ(left(), 100);
}

TEST_F(Asked, OfEachRuleHoldWhatIsSaidForIt) {
  const auto go_twice = [&](std::string_view body) { return go(*judge_, body, "/asked/twice"); };
  const auto first = go_twice(R"({"max_tokens":50,"options":{"most":20}})");
  ASSERT_NE(first, nullptr);
  const auto second = go_twice(R"({"max_tokens":1,"options":{"most":30}})");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(go_twice(R"({"max_tokens":1,"options":{"most":1}})"), nullptr);
  EXPECT_NE(go(R"({"max_tokens":49})"), nullptr) << "who was denied holds nothing";
}

class Paid : public Asked {
 protected:
  std::optional<std::string> pay(std::string_view asked, std::string_view answer) {
    const auto stay = go(*judge_, asked, "/paid");
    EXPECT_NE(stay, nullptr);
    judge_->charge(*stay, {.status = 200, .body = UsageReader::Form::kJson});
    stay->read(answer);
    return judge_->charge_for_body(*stay);
  }
  // Tokens, and millionths of a dollar.
  std::pair<std::int64_t, std::int64_t> paid() {
    const BodyStart none;
    const auto items = ask(*judge_, "/paid", "192.0.2.1", &none).said->limit.items;
    return {100 - items[0].decision.remaining, 900 - items[1].decision.remaining};
  }
};

TEST_F(Paid, HoldAndCostDollarsNextToTokens) {
  using Spent = std::pair<std::int64_t, std::int64_t>;
  {
    const auto dear = go(*judge_, R"({"model":"large-1","max_tokens":70})", "/paid");
    ASSERT_NE(dear, nullptr);
    EXPECT_EQ(go(*judge_, R"({"model":"large","max_tokens":21})", "/paid"), nullptr) << "dollars";
    EXPECT_EQ(go(*judge_, R"({"model":"small","max_tokens":31})", "/paid"), nullptr) << "tokens";
    EXPECT_NE(go(*judge_, R"({"model":"large","max_tokens":20})", "/paid"), nullptr);
  }
  const auto held = go(*judge_, R"({"model":"small","max_tokens":30})", "/paid");
  ASSERT_NE(held, nullptr);
  EXPECT_NE(go(*judge_, R"({"messages":[]})", "/paid"), nullptr) << "40 of 70, and 300 of 840";
  judge_->charge(*held, silent_);
  EXPECT_EQ(paid(), Spent(30, 60)) << "it has cost what it held";
  pay(R"({"model":"small"})", R"({"model":"small","usage":{"input_tokens":5,"output_tokens":4}})");
  EXPECT_EQ(paid(), Spent(39, 60 + 3 + 8));
  pay(R"({"model":"small"})", R"({"model":"large-2","usage":{"prompt_tokens":20,
        "prompt_tokens_details":{"cached_tokens":10},"total_tokens":21}})");
  EXPECT_EQ(paid(), Spent(60, 71 + 50 + 1 + 10)) << "the answer says what has answered";
}

TEST_F(Paid, AsTheDearestWhereNobodyNamesAKnownModel) {
  const auto by_asked = pay(R"({"model":"small","max_tokens":9})",
                            R"({"model":"s-2025","usage":{"output_tokens":2}})");
  EXPECT_EQ(paid().second, 4) << "the request does";
  EXPECT_EQ(by_asked, std::nullopt);
  const auto unknown =
      pay(R"({"model":"s","max_tokens":9})", R"({"model":"s-2025","usage":{"output_tokens":2}})");
  EXPECT_EQ(paid().second, 4 + 20);
  EXPECT_EQ(unknown, "s-2025");
  EXPECT_EQ(go(*judge_, R"({"model":"s","max_tokens":98})", "/paid"), nullptr) << "tokens";
}

TEST_F(Asked, AreJudgedWhenTheirBodyIsThere) {
  EXPECT_EQ(ask(*judge_, "/asked").kind, Judgement::Kind::kNeedsBody);
  EXPECT_EQ(judge_->take_stay(), nullptr);
  EXPECT_EQ(ask(*judge_, "/asked/twice").kind, Judgement::Kind::kNeedsBody);
  EXPECT_NE(ask(*judge_, "/asked", "192.0.2.9").kind, Judgement::Kind::kNeedsBody)
      << "nobody counts it";
  EXPECT_NE(ask(*judge_, "/other").kind, Judgement::Kind::kNeedsBody);
  EXPECT_NE(go(R"({"max_tokens":100})"), nullptr) << "nothing was asked, and nothing held";
  EXPECT_EQ(left(), 100);
}

}  // namespace
}  // namespace weir::nginx
