#include "nginx/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_warnings.h"
#include "nginx/gateway_testing.h"
#include "store/memory/shared_store.h"
#include "weir/quota.h"

namespace weir::nginx {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kRules = R"(rules:
  - id: site
    match: {path: "/*"}
    limit: 100
    window: 1m
  - id: login
    limit: 5
    window: 1m
  - id: search
    group: heavy
    match: {path: /search}
    limit: 10
    window: 1m
)";

std::vector<std::string> ids_of(const RuleSet& rules) {
  std::vector<std::string> ids;
  for (const Rule& rule : rules.rules()) ids.push_back(rule.id);
  return ids;
}

class Choices : public testing::Test {
 protected:
  using Names = std::vector<std::string_view>;

  Result<std::size_t, Fault> choose(const Names& names) { return loaded_.gateway->choose(names); }

  RuleIds ids_;
  LoadedText loaded_{kRules, ids_};
};

TEST_F(Choices, AreRulesAndGroupsByName) {
  ASSERT_NE(loaded_.gateway, nullptr) << loaded_.mistakes;
  EXPECT_EQ(*choose({"heavy", "login"}), 1u);
  EXPECT_EQ(*choose({"site"}), 2u);
  EXPECT_EQ(*choose({"heavy", "login"}), 1u) << "the same again";
  EXPECT_EQ(ids_of(*loaded_.gateway->sets()[1]), (std::vector<std::string>{"login", "search"}));
}

TEST_F(Choices, OfANamedRuleApplyEvenWithoutAMatch) {
  EXPECT_TRUE(choose({"login"}).has_value());
  Request request{.method = "GET", .path = "/anything"};
  MatchScratch scratch;
  EXPECT_EQ(loaded_.gateway->sets()[1]->match(request, scratch, Instant{}).size(), 1u);
  const auto of_all = loaded_.gateway->sets()[0]->match(request, scratch, Instant{});
  ASSERT_EQ(of_all.size(), 1u);
  EXPECT_EQ(of_all[0]->id, "site");
}

TEST_F(Choices, OfAnUnknownNameSayWhichWasPerhapsMeant) {
  EXPECT_EQ(choose({"site", "lgoin"}).error().message,
            "no rule or group is named 'lgoin'; did you mean 'login'?");
}

TEST(Gateway, RulesKeepTheirNumbersThroughReloads) {
  RuleIds ids;
  const LoadedText first(
      "rules:\n  - {id: a, limit: 1, window: 1m}\n"
      "  - {id: b, limit: 1, window: 1m}\n",
      ids);
  const LoadedText second(
      "rules:\n  - {id: c, limit: 1, window: 1m}\n"
      "  - {id: b, limit: 1, window: 1m}\n",
      ids);
  ASSERT_NE(second.gateway, nullptr) << second.mistakes;
  EXPECT_EQ(second.gateway->sets()[0]->find("b")->number,
            first.gateway->sets()[0]->find("b")->number);
  EXPECT_EQ(second.gateway->sets()[0]->find("c")->number, 2u);
  EXPECT_EQ(ids.all(), (std::vector<std::string>{"a", "b", "c"}));
}

std::string mistakes_in(std::string_view text) {
  RuleIds ids;
  return LoadedText(text, ids).mistakes;
}

TEST(Gateway, RefusesWhatWorkersCannotDoWhereItStandsWithTheRemedy) {
  constexpr std::string_view kInstead =
      "; use sliding_window, token_bucket, fixed_window or exponential_backoff\n";
  const std::string log = "nginx's workers cannot share counters of 'sliding_log'";
  const std::string adaptive = "nothing in nginx's workers switches algorithms for 'adaptive'";
  EXPECT_EQ(mistakes_in("rules:\n"
                        "  - id: a\n"
                        "    limit: 5\n    window: 1m\n"
                        "    more_limits: [{limit: 9, window: 1h, algorithm: sliding_log}]\n"
                        "    tiers:\n"
                        "      - name: gold\n        limit: 9\n        window: 1m\n"
                        "        algorithm: adaptive\n"
                        "    overrides:\n"
                        "      - {key: k, limit: 9, window: 1m, more_limits: [\n"
                        "          {limit: 9, window: 1h, algorithm: sliding_log}]}\n"
                        "    on_surge: {limit: 50%}\n"
                        "  - {id: b, algorithm: sliding_log, limit: 5, window: 1m}\n"),
            "5:53: " + log + std::string(kInstead) + "10:20: " + adaptive + std::string(kInstead) +
                "13:45: " + log + std::string(kInstead) +
                "14:15: nothing in nginx's workers watches for unusual traffic; remove it\n"
                "15:24: " +
                log + std::string(kInstead));
}

TEST(Gateway, TakesTheAlgorithmsWhoseCountersWorkersShare) {
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingLog, Algorithm::kSlidingWindow,
        Algorithm::kTokenBucket, Algorithm::kExponentialBackoff}) {
    const std::string name(algorithm_name(algorithm));
    EXPECT_EQ(
        mistakes_in("rules: [{id: a, limit: 5, window: 1m, algorithm: " + name + "}]\n") == "",
        algorithm != Algorithm::kSlidingLog)
        << name;
  }
}

TEST(Gateway, RefusesWhatIsWrongAboutResponsesWithItsPlaceAndTheRemedy) {
  EXPECT_EQ(
      mistakes_in("rules:\n"
                  "  - id: a\n    limit: 5\n    window: 1m\n"
                  "    count_if: {status: [401, 4x4]}\n"
                  "  - id: b\n    limit: 5\n    window: 1m\n    overdraft: true\n"
                  "    count_if: {status: 401}\n"
                  "  - id: c\n    limit: 5\n    window: 1m\n    match: {}\n"
                  "    cost: 'response:X Cost'\n"
                  "  - {id: d, limit: 5, window: 1m, reserve: false}\n"),
      "5:30: 'status' must be one from 100 to 599, such as 401, or 5xx for all from 500 to "
      "599, or a list of such\n"
      "9:16: what is counted when the response is known counts whether or not it fits; "
      "remove 'overdraft'\n"
      "15:11: 'cost' must name a header of the response, such as response:X-Cost\n"
      "16:44: 'reserve' is only for what is counted by the response; add 'count_if', or remove "
      "it\n");
}

TEST(Gateway, RefusesToReserveWhatNoKeyCanSpend) {
  const auto mistake = [](const std::string& reserve, const std::string& more = "") {
    return mistakes_in("rules:\n  - {id: a, limit: 5, window: 1m, match: {}, cost: 'response:C', " +
                       more + "reserve: " + reserve + "}\n");
  };
  for (const char* const right : {"true", "false", "1", "5"}) EXPECT_EQ(mistake(right), "");
  for (const char* const wrong : {"0", "-1", "6", "1.5", "some", "99999999999999999999"}) {
    EXPECT_NE(mistake(wrong).find("'reserve' must be true, false, or units from 1 to the lowest "
                                  "limit, 5, but is"),
              std::string::npos)
        << mistake(wrong);
  }
  EXPECT_NE(
      mistake("5", "overrides: [{key: ada, limit: 4, window: 1m}], ").find("limit, 4, but is"),
      std::string::npos);
}

TEST(Gateway, IsWarnedOfCostsThatNobodyKnowsBefore) {
  const auto warnings = [](const std::string& reserve) {
    const auto parsed = parse_config(
        "rules: [{id: a, limit: 100, window: 1m, match: {}, cost: 'response:C'" + reserve + "}]\n",
        "weir.yaml", ServedBy::kGateway);
    std::string lines;
    for (const auto& warning : config_warnings(*parsed, "weir.yaml")) {
      lines += warning.to_string() + "\n";
    }
    return lines;
  };
  constexpr const char* kRemedy =
      " of a key pass at once, whatever each will cost; with 'reserve: N' no more than limit / N "
      "pass\n";
  EXPECT_EQ(warnings(""),
            std::string("weir.yaml:1:58: warning: 100 requests, as many as the limit has units,") +
                kRemedy);
  EXPECT_EQ(warnings(", reserve: false"),
            std::string("weir.yaml:1:58: warning: any number of requests") + kRemedy);
  EXPECT_EQ(warnings(", reserve: 2"), "");
}

TEST(Gateway, RefusesDelaysThatNoBucketCanGiveWithTheirPlacesAndTheRemedy) {
  const auto mistake = [](const std::string& rule, const std::string& others = "") {
    return mistakes_in("rules:\n  - {id: a, limit: 5, " + rule + "}\n" + others);
  };
  EXPECT_THAT(mistake("window: 1s, on_deny: {delay_up_to: 1s}"),
              testing::AllOf(StartsWith("2:"), HasSubstr("write 'algorithm: token_bucket'")));
  const std::string bucket = "window: 1s, algorithm: token_bucket, ";
  EXPECT_EQ(mistake(bucket + "on_deny: {delay_up_to: 1s}"), "");
  EXPECT_THAT(mistake(bucket + "on_deny: {delay_up_to: 2s}"),
              HasSubstr("'delay_up_to' must be at most the window, 1s"));
  EXPECT_THAT(mistake(bucket + "on_deny: {delay_up_to: 1s}, more_limits: [{limit: 9, window: 1m}]"),
              HasSubstr("without 'more_limits'"));
  EXPECT_THAT(mistake(bucket + "on_deny: {delay_up_to: 1s}, overdraft: true"),
              HasSubstr("remove 'overdraft'"));
  EXPECT_THAT(mistake(bucket + "on_deny: {delay_up_to: 1s}, count_if: {status: 401}"),
              HasSubstr("remove 'delay_up_to'"));
  EXPECT_THAT(mistake(bucket + "on_deny: {waiting_max: 5}"), HasSubstr("add 'delay_up_to'"));
  const std::string shared = "store: {redis: 'redis://localhost', mode: leased}\n";
  EXPECT_THAT(mistake(bucket + "on_deny: {delay_up_to: 1s}", shared), HasSubstr("'mode: strict'"));
  EXPECT_EQ(mistake(bucket + "mode: strict, on_deny: {delay_up_to: 1s}", shared), "");
}

TEST(Gateway, ReadsWhichRedisItShares) {
  RuleIds ids;
  const LoadedText alone("rules: []\n", ids);
  ASSERT_NE(alone.gateway, nullptr) << alone.mistakes;
  EXPECT_FALSE(alone.gateway->fleet());
  const LoadedText shared("store:\n  redis: redis://localhost\n  mode: leased\n", ids);
  ASSERT_NE(shared.gateway, nullptr) << shared.mistakes;
  ASSERT_TRUE(shared.gateway->fleet());
  EXPECT_EQ(shared.gateway->fleet()->mode, Mode::kLeased);
}

TEST(Gateway, NamesWhatIsWrongWithItsStore) {
  EXPECT_THAT(mistakes_in("store:\n  redis: http://localhost\n"),
              testing::AllOf(StartsWith("2:"), HasSubstr("the URL of the Redis")));
  EXPECT_THAT(mistakes_in("store:\n  redis: rediss://localhost?ca_file=/nowhere\n"),
              testing::AllOf(StartsWith("2:"), HasSubstr("/nowhere")));
}

}  // namespace
}  // namespace weir::nginx
