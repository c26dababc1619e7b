#include "rules/key_choices.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

using Texts = std::vector<std::string>;

constexpr auto kHeader = KeyPart::Property::kHeader;

Rule rule_by(std::vector<KeyPart> parts) { return {.id = "r", .key_parts = std::move(parts)}; }

TEST(KeyChoices, AreAllKeysThatTheValuesMakeAndTheOneThatCounts) {
  const std::vector<NameValue> headers = {{"A", "x, y"}, {"B", "1"}, {"B", "2"}, {"B", "1"}};
  const Request request{.headers = headers};
  const auto keys = [&](std::vector<KeyPart> parts) {
    return key_choices(rule_by(std::move(parts)), request)->keys;
  };
  EXPECT_EQ(keys({{.property = kHeader, .name = "A"}}), (Texts{"x", "y", ""}));
  EXPECT_EQ(keys({{.property = kHeader, .name = "A"}, {.property = kHeader, .name = "b"}}),
            (Texts{"1:x1:1", "1:x1:2", "1:y1:1", "1:y1:2", "0:0:"}));
  EXPECT_EQ(keys({{.property = kHeader, .name = "A"}, {.property = kHeader, .name = "none"}}),
            (Texts{"1:x0:", "1:y0:", "0:0:"}));
}

TEST(KeyChoices, OfWhatSomebodyNamesInsteadIsTheOne) {
  const std::vector<NameValue> headers = {{"A", "x, y"}};
  Rule rule = rule_by({{.property = kHeader, .name = "A"}});
  rule.tier = KeyPart{.property = kHeader, .name = "A"};
  const auto key = key_choices(rule, {.headers = headers, .named_key = "ada"});
  EXPECT_EQ(key->keys, Texts{"ada"});
  EXPECT_EQ(key->tiers, (Texts{"x", "y", ""}));
  const auto tier = key_choices(rule, {.headers = headers, .named_tier = "gold"});
  EXPECT_EQ(tier->keys, (Texts{"x", "y", ""}));
  EXPECT_EQ(tier->tiers, Texts{"gold"});
}

TEST(KeyChoices, AreBounded) {
  std::string values = "0";
  for (std::size_t i = 1; i < KeyChoices::kChoicesMax; ++i) values += "," + std::to_string(i);
  const auto choices = [](const std::string& a, const std::string& b) {
    const std::vector<NameValue> headers = {{"A", a}, {"B", b}};
    const Rule rule =
        rule_by({{.property = kHeader, .name = "A"}, {.property = kHeader, .name = "B"}});
    return key_choices(rule, {.headers = headers});
  };
  EXPECT_EQ(choices(values, "1")->keys.size(), KeyChoices::kChoicesMax + 1);
  EXPECT_TRUE(choices(values + ",more", "1")->are_too_many());
  EXPECT_TRUE(choices(values, "1,2")->are_too_many());
  EXPECT_FALSE(choices(values + "," + values, "1,1")->are_too_many());
  EXPECT_TRUE(choices(values, std::string(KeyChoices::kBytesMax / 256, 'x'))->are_too_many());
}

}  // namespace
}  // namespace weir
