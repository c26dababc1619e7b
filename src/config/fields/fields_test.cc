#include "config/fields/fields.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "config/fields/field_value.h"
#include "weir/quota.h"

namespace weir {
namespace {

// Adds the sections of the whole file, each once.
void add_sections(const Section& section, std::vector<const Section*>& found) {
  if (std::ranges::count(found, &section) != 0) return;
  found.push_back(&section);
  for (const Field& field : section.fields) {
    if (field.section != nullptr) add_sections(*field.section, found);
  }
}

std::vector<const Section*> all_sections() {
  std::vector<const Section*> found;
  add_sections(kConfigSection, found);
  return found;
}

TEST(ConfigFields, AreDescribedAndNamedOnce) {
  for (const Section* section : all_sections()) {
    EXPECT_FALSE(section->description.empty()) << section->name;
    std::set<std::string_view> names;
    for (const Field& field : section->fields) {
      EXPECT_FALSE(field.description.empty()) << field.name;
      EXPECT_TRUE(names.insert(field.name).second) << field.name;
      EXPECT_EQ(section->find(field.name), &field);
    }
  }
}

TEST(ConfigFields, HaveWhatTheirTypeNeeds) {
  for (const Section* section : all_sections()) {
    for (const Field& field : section->fields) {
      const bool bounded = field.type == FieldType::kInteger || field.type == FieldType::kNumber ||
                           field.type == FieldType::kDuration;
      const bool nested =
          field.type == FieldType::kSection || field.type == FieldType::kSectionList;
      EXPECT_EQ(field.range.min < field.range.max, bounded) << field.name;
      EXPECT_EQ(field.section != nullptr, nested) << field.name;
      const bool may_choose = field.type == FieldType::kDuration && !field.choices.empty();
      EXPECT_EQ(!field.choices.empty(), field.type == FieldType::kChoice || may_choose)
          << field.name;
    }
  }
}

TEST(ConfigFields, HaveDefaultsThatAreValid) {
  for (const Section* section : all_sections()) {
    for (const Field& field : section->fields) {
      if (field.default_text.empty()) continue;
      YamlNode node;
      node.kind = YamlNode::Kind::kText;
      node.text = field.default_text;
      EXPECT_EQ(check_value(field, node).mistake, "");
      EXPECT_EQ(field.presence, Field::Presence::kOptional) << field.name;
    }
  }
}

TEST(ConfigFields, DependOnlyOnChoicesOfTheirSection) {
  for (const Section* section : all_sections()) {
    for (const Field& field : section->fields) {
      if (field.condition.field.empty()) continue;
      const Field* decider = section->find(field.condition.field);
      ASSERT_NE(decider, nullptr) << field.name;
      EXPECT_EQ(decider->type, FieldType::kChoice) << field.name;
    }
  }
}

TEST(ConfigFields, OfferEveryAlgorithmByItsName) {
  const Field& algorithm = *kRuleSection.find("algorithm");
  ASSERT_EQ(algorithm.choices.size(), static_cast<std::size_t>(kAlgorithmCount));
  for (std::size_t i = 0; i < algorithm.choices.size(); ++i) {
    EXPECT_EQ(algorithm.choices[i], algorithm_name(static_cast<Algorithm>(i)));
  }
  EXPECT_EQ(algorithm.default_text, algorithm_name(QuotaSpec{}.algorithm));
}

TEST(ConfigFields, AreFoundByTheirExactName) {
  EXPECT_NE(kRuleSection.find("limit"), nullptr);
  EXPECT_EQ(kRuleSection.find("Limit"), nullptr);
  EXPECT_EQ(kConfigSection.find("limit"), nullptr);
}

}  // namespace
}  // namespace weir
