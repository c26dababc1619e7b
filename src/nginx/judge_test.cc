#include "nginx/judge.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "nginx/judge_testing.h"

namespace weir::nginx {
namespace {

TEST_F(Workers, WorkersCountTogether) {
  const auto one = worker();
  const auto other = worker();
  EXPECT_EQ(ask(*one).said->answer->decision.remaining, 1);
  EXPECT_EQ(ask(*other).said->answer->decision.remaining, 0);
  EXPECT_TRUE(ask(*one).is_denied());
  EXPECT_FALSE(ask(*one, "/login", "192.0.2.2").is_denied());
}

TEST_F(Workers, ABlockByOneWorkerHoldsForAll) {
  const auto one = worker();
  const auto other = worker();
  for (int i = 0; i < 3; ++i) ask(*one);
  clock_.time += std::chrono::minutes(2);  // the window is over, the block is not
  const Judgement judgement = ask(*other);
  EXPECT_EQ(judgement.said->answer->cause, Answer::Cause::kBlocked);
  EXPECT_EQ(judgement.said->answer->decision.retry_after, std::chrono::minutes(3));
}

TEST_F(Workers, ADryRunSaysWhatItWouldDoAndCountsAsShadow) {
  const auto judge = worker();
  Question question{.described = judge->scratch(), .passes = true};
  question.described.request = {.method = "POST", .client = IpAddress::parse("192.0.2.1")};
  set_target("/login", "example.com", question.described);
  for (int i = 0; i < 2; ++i) judge->judge(question, judge->catch_up());
  EXPECT_TRUE(judge->judge(question, judge->catch_up()).is_denied());
  EXPECT_EQ(judge->traffic().summary(clock_.time).total_denied(), 0u);
  EXPECT_EQ(ask(*judge).said->answer->cause, Answer::Cause::kCounted) << "nobody is blocked";
}

// It said 429, whatever `weir_status` was.
TEST_F(Workers, ADenialIsRecordedWithTheStatusOfThePlace) {
  const auto judge = worker();
  Question question{.described = judge->scratch(), .denials = {.status = 503}};
  question.described.request = {.method = "POST", .client = IpAddress::parse("192.0.2.1")};
  set_target("/login", "example.com", question.described);
  for (int i = 0; i < 3; ++i) judge->judge(question, judge->catch_up());
  const std::int64_t second = CoreDenials::second_of(clock_.time);
  std::vector<int> statuses;
  judge->traffic().each_denial(
      second, second, [&](const DenialRecord& denial) { statuses.push_back(denial.status); });
  EXPECT_EQ(statuses, std::vector{503});
}

TEST_F(Workers, WhereNoRuleAppliesNothingIsSaid) {
  const auto judge = worker();
  EXPECT_EQ(ask(*judge, "/elsewhere").kind, Judgement::Kind::kNothing);
}

TEST_F(Workers, ThePlaceMaySayKeyAndCost) {
  const auto judge = worker();
  const auto ask_for = [&](std::string_view key, std::string_view cost) {
    Question question{.described = judge->scratch(), .rules = named_, .cost = cost};
    question.described.request = {.method = "GET", .named_key = key};
    set_target("/", "example.com", question.described);
    return judge->judge(question, clock_.time);
  };
  EXPECT_EQ(ask_for("ada", "2").said->answer->decision.remaining, 1);
  EXPECT_TRUE(ask_for("ada", "2").is_denied());
  EXPECT_EQ(ask_for("bob", "1").said->answer->decision.remaining, 2);
  EXPECT_EQ(ask_for("bob", "-5").said->answer->decision.remaining, 1) << "nothing is given back";
  EXPECT_EQ(ask_for("bob", "0").said->answer->decision.remaining, 1) << "a look";
  EXPECT_EQ(judge->key_hash("named", "ada"), worker()->key_hash("named", "ada"));
  EXPECT_NE(judge->key_hash("named", "ada"), judge->key_hash("named", "bob"));
}

// Once all clients that sent no key counted together.
TEST_F(Workers, AnEmptyKeyIsTheClients) {
  const auto judge = worker();
  const auto left_for = [&](std::string_view client, std::string_view key) {
    Question question{.described = judge->scratch(), .rules = named_};
    question.described.request = {
        .method = "GET", .named_key = key, .client = IpAddress::parse(client)};
    set_target("/", "example.com", question.described);
    return judge->judge(question, clock_.time).said->answer->decision.remaining;
  };
  EXPECT_EQ(left_for("192.0.2.1", ""), 2);
  EXPECT_EQ(left_for("192.0.2.1", ""), 1);
  EXPECT_EQ(left_for("192.0.2.2", ""), 2);
  EXPECT_EQ(left_for("192.0.2.3", "client 192.0.2.1"), 2) << "somebody's own text";
}

// As Tomcat reads the path. A key from the place is the same for all readings.
TEST_F(Workers, TheRulesOfAllReadingsOfAPathApplyOnce) {
  const auto judge = worker();
  EXPECT_EQ(ask(*judge, "/login;%2f..%2fx").said->answer->decision.remaining, 1);
  EXPECT_EQ(ask(*judge, "/login;a%2fb").said->answer->decision.remaining, 0);
  EXPECT_TRUE(ask(*judge, "/login;x").is_denied());
  Question question{.described = judge->scratch(), .rules = named_};
  question.described.request = {.method = "GET", .named_key = "ada"};
  set_target("/login;%2f..%2fx", "example.com", question.described);
  EXPECT_EQ(judge->judge(question, clock_.time).said->answer->decision.remaining, 2);
}

}  // namespace
}  // namespace weir::nginx
