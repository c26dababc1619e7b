#include "cli/rule_docs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string_view>

#include "config/config.h"

namespace weir {
namespace {

std::string file(const std::string& name) {
  auto stream = std::ifstream("testdata/" + name);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class RuleDocs : public testing::Test {
 protected:
  const std::string text_ = file("docs.yaml");
  const Result<Config, ConfigErrors> config_ = parse_config(text_, "docs.yaml");
  const std::vector<RuleSource> sources_ = config_sources(text_).rules;
};

TEST_F(RuleDocs, AreAsInTheGoldenFiles) {
  if (!config_) FAIL() << config_.error().front().to_string();
  const auto& rules = config_->rules;
  EXPECT_EQ(docs_as_markdown(rules, sources_), file("docs.md"));
  EXPECT_EQ(docs_as_openapi(rules, sources_), file("docs.json"));
}

TEST(RuleDocsWithPromises, SayHowFarLimitsMayBeOff) {
  constexpr std::string_view kRules = R"(
store: {redis: 'redis://127.0.0.1', mode: leased}
rules:
  - {id: some, match: {path: /a}, limit: 5, window: 1m, enforce: 10%,
     more_limits: [{limit: 30, window: 1h}]}
  - {id: each, match: {path: /b}, limit: 7, window: 1m, mode: local}
  - {id: lent, match: {path: /c}, limit: 5, window: 1m, overdraft: true}
)";
  const auto config = parse_config(kRules, "weir.yaml");
  if (!config) FAIL() << config.error().front().to_string();
  const auto sources = config_sources(kRules).rules;
  const auto promise = [&](const Rule& rule, const Quota& quota) {
    return promise_in(*config->settings, rule, quota, 3);
  };
  const auto text = docs_as_markdown(config->rules, sources, promise);
  EXPECT_NE(text.find("and 30 per 1h, off by 4, 29 above or 5, 30 below at worst | only 10 %"),
            text.npos)
      << text;
  EXPECT_NE(text.find("7 per 1m, off by 32 above or 7 below at worst |"), text.npos) << text;
  EXPECT_NE(text.find("| 5 per 1m |"), text.npos) << text;
  const auto json = docs_as_openapi(config->rules, sources, promise);
  EXPECT_NE(json.find(R"("limit":7,"window_seconds":60,"burst":7,"algorithm":"sliding_window",)"
                      R"("over_max":32,"under_max":7)"),
            json.npos)
      << json;
  EXPECT_EQ(docs_as_openapi(config->rules, sources).find("over_max"), json.npos);
}

TEST(RuleDocsOfAGateway, SayWhatIsCountedAndWhoWaits) {
  constexpr std::string_view kRules = R"(rules:
  - {id: failed, match: {path: /a}, limit: 5, window: 1m, count_if: {status: [401, 5xx]}}
  - {id: held, match: {path: /b}, limit: 20, of: concurrency}
  - id: paced
    match: {path: /c}
    algorithm: token_bucket
    limit: 20
    window: 2s
    on_deny: {delay_up_to: 2s}
)";
  const auto config = parse_config(kRules, "rules.yaml", ServedBy::kGateway);
  const auto text = docs_as_markdown(config->rules, config_sources(kRules).rules);
  EXPECT_NE(text.find("5 per 1m, of responses with status 401, 500 to 599, unknown"), text.npos)
      << text;
  EXPECT_NE(text.find("20 under way at once"), text.npos) << text;
  EXPECT_NE(text.find("after a wait of up to 2s"), text.npos) << text;
}

}  // namespace
}  // namespace weir
