#include "rls/json_text.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rls/rate_limit_service.h"
#include "weir/memory_store.h"

namespace weir::rls {
namespace {

constexpr Instant kNow = instant_from_epoch_us(1'600'000'043'000'000);

std::vector<Rule> rules() {
  return {
      {.id = "r",
       .quota = *Quota::make(
           {.algorithm = Algorithm::kFixedWindow, .limit = 1, .window = std::chrono::minutes(1)}),
       .descriptor = DescriptorMatch{.domain = "edge", .entries = {{.key = "user"}}}}};
}

class Json : public testing::Test {
 protected:
  JsonAnswer ask(std::string_view question) {
    const auto call = service_.new_call();
    if (auto refusal = read_json(question, call->request)) return *std::move(refusal);
    EXPECT_EQ(call->decide(kNow), Asks::Progress::kAnswered);
    return to_json(*call);
  }

 private:
  std::unique_ptr<MemoryStore> store_ = make_memory_store({.max_keys = 1024}, kNow);
  KeyHasher hasher_{HashSecret{}};
  Traffic traffic_;
  Engine engine_{*store_, hasher_, traffic_.add_core()};
  BlockList blocks_{hasher_};
  RateLimitService service_{engine_, blocks_, std::make_shared<const RuleSet>(rules()), {}};
};

TEST_F(Json, AnswersInTheProtocolsNames) {
  constexpr std::string_view kQuestion =
      R"({"domain":"edge","descriptors":[{"entries":[{"key":"user","value":"a"}]}]})";
  const JsonAnswer ok = ask(kQuestion);
  EXPECT_EQ(ok.status, 200);
  EXPECT_EQ(ok.content_type, "application/json");
  EXPECT_EQ(ok.body, R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":)"
                     R"({"requestsPerUnit":1,"unit":"MINUTE"},"durationUntilReset":"37s"}]})");
  const JsonAnswer over = ask(kQuestion);
  EXPECT_EQ(over.status, 429);
  EXPECT_NE(over.body.find(R"("overallCode":"OVER_LIMIT")"), std::string_view::npos);
}

TEST_F(Json, TakesSnakeCaseAndNumbersOfEnumerations) {
  const JsonAnswer answer = ask(R"({"domain":"edge","hits_addend":3,"descriptors":[{"entries":)"
                                R"([{"key":"x","value":"y"}],"hits_addend":"2","limit":)"
                                R"({"requests_per_unit":5,"unit":3}}]})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find(R"("limitRemaining":3)"), std::string_view::npos) << answer.body;
  EXPECT_NE(answer.body.find(R"("unit":"HOUR")"), std::string_view::npos);
}

TEST_F(Json, WhatHasNoAnswerIs400InPlainText) {
  for (const std::string_view bad :
       {"", "{", "[]", "7", R"({"domain":"edge"})", R"({"domain":"edge","unknown":1})",
        R"({"descriptors":[{}]})", R"({"domain":7,"descriptors":[{}]})", "\xff"}) {
    const JsonAnswer answer = ask(bad);
    EXPECT_EQ(answer.status, 400) << bad;
    EXPECT_EQ(answer.content_type, "text/plain; charset=utf-8");
    EXPECT_TRUE(answer.body.ends_with('\n'));
  }
  const std::string deep(100'000, '[');
  EXPECT_EQ(ask(deep).status, 400);
}

}  // namespace
}  // namespace weir::rls
