#include "observe/keys/fleet_keys.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(60'000'000'000);

std::vector<FleetKeys::Node> two_nodes() {
  const KeyReport report{.total = 5, .keys = {{1, 3, 3, "alice"}}};
  return {{.name = "a", .rules = {{.rule = "api", .asked = report, .denied = {}}}},
          {.name = "b", .rules = {{.rule = "other", .asked = {}, .denied = report}}}};
}

TEST(FleetKeys, AreThoseOfTheNodesThatKnowTheRule) {
  FleetKeys keys(KeyTexts::kShown);
  keys.replace(two_nodes(), kNow);
  const auto said = keys.of("api", KeysBy::kAsked, kNow);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said.front().node, "a");
  EXPECT_EQ(said.front().report.keys.front().text, "alice");
  EXPECT_EQ(keys.of("other", KeysBy::kDenied, kNow).front().report.total, 5u);
  keys.replace({}, kNow);
  EXPECT_TRUE(keys.of("api", KeysBy::kAsked, kNow).empty());
}

TEST(FleetKeys, AreForgottenWhenNobodyIsHeardForLong) {
  FleetKeys keys(KeyTexts::kShown);
  EXPECT_TRUE(keys.of("api", KeysBy::kAsked, kNow).empty());
  keys.replace(two_nodes(), kNow);
  EXPECT_EQ(keys.of("api", KeysBy::kAsked, kNow + FleetKeys::kKeptMax).size(), 1u);
  EXPECT_TRUE(keys.of("api", KeysBy::kAsked, kNow + FleetKeys::kKeptMax + 1s).empty());
}

TEST(FleetKeys, WhoHidesKeysForgetsTheTextsThatOthersShow) {
  FleetKeys keys(KeyTexts::kHidden);
  keys.replace(two_nodes(), kNow);
  EXPECT_EQ(keys.of("api", KeysBy::kAsked, kNow).front().report.keys.front().text, "");
}

TEST(FleetKeys, TroubleLastsUntilTheyAreHeard) {
  FleetKeys keys(KeyTexts::kHidden);
  keys.set_trouble("WRONGTYPE");
  EXPECT_EQ(keys.trouble(), "WRONGTYPE");
  keys.replace({}, kNow);
  EXPECT_EQ(keys.trouble(), "");
}

}  // namespace
}  // namespace weir
