#include "cli/rule_docs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

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
  const std::variant<Config, ConfigErrors> config_ = parse_config(text_, "docs.yaml");
  const std::vector<RuleSource> sources_ = config_sources(text_).rules;
};

TEST_F(RuleDocs, AreAsInTheGoldenFiles) {
  if (const auto* errors = std::get_if<ConfigErrors>(&config_))
    FAIL() << errors->front().to_string();
  const auto& rules = std::get<Config>(config_).rules;
  EXPECT_EQ(docs_as_markdown(rules, sources_), file("docs.md"));
  EXPECT_EQ(docs_as_openapi(rules, sources_), file("docs.json"));
}

}  // namespace
}  // namespace weir
