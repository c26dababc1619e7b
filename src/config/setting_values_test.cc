#include "config/setting_values.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(SettingValues, HoldWhatIsSetElseTheDefaultElseNothing) {
  SettingValues values;
  EXPECT_EQ(values->store.sync_interval, 100ms);
  EXPECT_EQ(values->state_file, "");
  EXPECT_EQ(values->threads, std::nullopt);
  EXPECT_EQ(values->trusted_headers, Texts());
  values.set("store.sync_interval", Duration(1s), {.line = 3, .column = 7});
  EXPECT_EQ(values->store.sync_interval, 1s);
  EXPECT_EQ(values.place_of("store.sync_interval"), (TextPlace{.line = 3, .column = 7}));
  EXPECT_EQ(values.text("store.sync_interval"), "1s");
  EXPECT_EQ(values.text("state_file"), "off");
}

TEST(SettingValuesDeathTest, ANameThatTheTableLacksIsABug) {
  EXPECT_DEATH(SettingValues().text("store.sink_interval"), "");
  EXPECT_DEATH(SettingValues().text("store"), "");
}

TEST(SettingValues, FillTheMemberOfEachRow) {
  std::set<const void*> owners;
  for (const auto& [name, field, section] : all_settings()) {
    EXPECT_NE(field.member.fill, nullptr) << name;
    EXPECT_EQ(setting_name(field.member), name) << "two rows fill one member";
    owners.insert(field.member.owner);
    EXPECT_TRUE(section == nullptr || section->member.inner != nullptr) << name;
  }
  EXPECT_EQ(owners.size(), 8u);
}

TEST(AllSettings, AreTheFieldsOutsideOfRulesByTheirFullNames) {
  Texts names;
  for (const auto& setting : all_settings()) names.push_back(setting.name);
  EXPECT_THAT(names,
              testing::IsSupersetOf({"listen.http", "threads", "store.redis", "jwt.header"}));
  EXPECT_THAT(names, testing::Not(testing::Contains("rules")));
}

}  // namespace
}  // namespace weir
