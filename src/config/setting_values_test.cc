#include "config/setting_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

TEST(SettingValues, HoldWhatIsSetElseTheDefaultElseNothing) {
  SettingValues values;
  EXPECT_EQ(values.get<Duration>("store.sync_interval"), 100ms);
  EXPECT_EQ(values.get<std::string>("state_file"), "");
  EXPECT_EQ(values.get<Texts>("trusted_headers"), Texts());
  values.set("store.sync_interval", Duration(1s), {.line = 3, .column = 7});
  EXPECT_EQ(values.get<Duration>("store.sync_interval"), 1s);
  EXPECT_EQ(values.place_of("store.sync_interval"), (TextPlace{.line = 3, .column = 7}));
  EXPECT_EQ(values.text("store.sync_interval"), "1s");
  EXPECT_EQ(values.text("state_file"), "off");
}

TEST(SettingValues, GiveWayToOthers) {
  SettingValues values;
  values.set("threads", std::int64_t{2});
  values.set("watch", true);
  SettingValues others;
  others.set("threads", std::int64_t{4});
  values.override_with(others);
  EXPECT_EQ(values.text("threads"), "4");
  EXPECT_EQ(values.text("watch"), "true");
}

TEST(SettingValuesDeathTest, ANameThatTheTableLacksIsABug) {
  EXPECT_DEATH(SettingValues().text("store.sink_interval"), "");
  EXPECT_DEATH(SettingValues().text("store"), "");
}

TEST(SettingsOf, ListsEveryFieldOutsideOfRulesByItsFullName) {
  Texts names;
  for (const auto& setting : settings_of()) names.push_back(setting.name);
  EXPECT_THAT(names,
              testing::IsSupersetOf({"listen.http", "threads", "store.redis", "jwt.header"}));
  EXPECT_THAT(names, testing::Not(testing::Contains("rules")));
}

}  // namespace
}  // namespace weir
