#include "nginx/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected_file_testing.h"
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
  for (const auto& path : yaml_files("testdata")) {
    expect_file(std::filesystem::path(path).replace_extension(".expected"),
                mistakes_in(text_of_file(path)));
  }
  EXPECT_EQ(text_of_file("testdata/taken.expected"), "");
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
