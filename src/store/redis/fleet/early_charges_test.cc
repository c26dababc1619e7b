#include "store/redis/fleet/early_charges.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'040'000'000);  // a minute begins

class EarlyChargesTest : public ::testing::Test {
 protected:
  struct Told {
    KeyHash key;
    std::int64_t cost;
    std::uint64_t tag;
    bool operator==(const Told&) const = default;
  };
  std::vector<Told> told(Instant now) {
    std::vector<Told> all;
    early_.tell(hasher_, now, [&](const KeyName&, const Charge& charge) {
      all.push_back({charge.key, charge.cost, charge.tag});
    });
    return all;
  }

  const KeyHasher hasher_{HashSecret{}};
  const std::array<Quota, 1> minute_ = {*Quota::make({Algorithm::kFixedWindow, 10, 1min})};
  const KeyName name_{.rule = "login", .bucket = "b", .key = "k"};
  EarlyCharges early_;
};

TEST_F(EarlyChargesTest, AreToldOnceUnderTheFleetsNamesDebtsIncluded) {
  early_.note(name_, minute_, 7, kStart);
  early_.note(name_, minute_, 7, kStart);
  early_.note({.rule = "login", .bucket = "", .key = "bk"}, minute_, 1, kStart);
  EXPECT_EQ(told(kStart), (std::vector<Told>{
                              {hasher_.hash({"login", "", "bk"}, minute_[0]), 1, 0},
                              {hasher_.hash(name_, minute_[0]), 14, 0},
                          }));
  EXPECT_TRUE(told(kStart).empty());
}

TEST_F(EarlyChargesTest, OfSeveralLimitsLieTogether) {
  const std::array limits = {minute_[0], *Quota::make({Algorithm::kSlidingWindow, 50, 1h})};
  early_.note(name_, limits, 3, kStart);
  const KeyHash first = hasher_.hash(name_, limits[0]);
  EXPECT_EQ(told(kStart), (std::vector<Told>{{first, 3, first.low},
                                             {hasher_.hash(name_, limits[1]), 3, first.low}}));
}

TEST_F(EarlyChargesTest, OfAWindowThatHasEndedAreOver) {
  early_.note(name_, minute_, 14, kStart);
  early_.note(name_, minute_, 2, kStart + 1min);
  EXPECT_EQ(told(kStart + 1min).at(0).cost, 2);
  early_.note(name_, minute_, 14, kStart);
  EXPECT_TRUE(told(kStart + 1min).empty());
}

TEST_F(EarlyChargesTest, FollowARuleThatHasChanged) {
  const std::array hour = {*Quota::make({Algorithm::kFixedWindow, 10, 1h})};
  early_.note(name_, minute_, 3, kStart);
  early_.note(name_, hour, 4, kStart);
  EXPECT_EQ(told(kStart), (std::vector<Told>{{hasher_.hash(name_, hour[0]), 4, 0}}));
}

TEST_F(EarlyChargesTest, AreBoundedAndMakeRoomWhenTheirWindowHasEnded) {
  for (std::size_t i = 0; i < EarlyCharges::kKeysMax + 2; ++i) {
    early_.note({.rule = "r", .bucket = "", .key = std::to_string(i)}, minute_, 1, kStart);
  }
  EXPECT_EQ(early_.forgotten(), 2);
  early_.note(name_, minute_, 1, kStart + 1min);
  EXPECT_EQ(early_.forgotten(), 2);
  EXPECT_EQ(told(kStart + 1min).size(), 1u);
  const std::string half(EarlyCharges::kTextMax / 2, 'k');
  for (const char* rule : {"r", "s"}) {
    early_.note({.rule = rule, .bucket = "", .key = half}, minute_, 1, kStart + 1min);
  }
  EXPECT_EQ(early_.forgotten(), 3);
  EXPECT_EQ(told(kStart + 1min).size(), 1u);
}

}  // namespace
}  // namespace weir
