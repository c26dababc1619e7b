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
