#include "server/http/console/fleet_roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Change = FleetRoster::Change;
using Scope = TrafficSnapshot::Scope;
using ::testing::Contains;

// A fleet in the view of "me", second by second.
class FleetRosterTest : public ::testing::Test {
 protected:
  // The next second: these nodes were silent for so long, and others are not heard of. Redis counts
  // all of these as alive, except one that has left.
  void pass(std::vector<std::pair<std::string, std::int64_t>> nodes, std::string_view left = {},
            Scope scope = Scope::kFleet) {
    traffic_.scope = scope;
    ++traffic_.newest;
    traffic_.nodes.clear();
    std::vector<RuleHold::Node> alive;
    for (const auto& [name, silent] : nodes) {
      traffic_.nodes.push_back({.name = name, .silent_seconds = silent});
      if (name != left) alive.push_back({.name = name});
    }
    news_.clear();
    for (const auto& one : roster_.look(traffic_, others_, alive)) {
      news_.emplace_back(one.change, one.node);
      titles_.push_back(one.title);
    }
  }
  // "other" is silent until it is taken out of the sums.
  void fall_silent(std::string_view left = {}) {
    for (int silent = 1; silent < FleetRoster::kGoneSeconds; ++silent) {
      pass({{"me", 0}, {"other", silent}}, left);
      EXPECT_TRUE(news_.empty());
    }
    pass({{"me", 0}});
    EXPECT_TRUE(news_.empty());
    pass({{"me", 0}});
  }
  std::vector<FleetRoster::Absent> absent() const { return roster_.absent(traffic_, "me"); }

  using News = std::vector<std::pair<Change, std::string>>;
  TrafficSnapshot traffic_{.lead = 300ms};
  FleetRoster roster_;
  std::vector<NodeAbout> others_;
  News news_;
  std::vector<std::string> titles_;  // of all news
};

TEST_F(FleetRosterTest, ANodeThatHasDiedStays) {
  pass({{"me", 0}, {"other", 0}});
  EXPECT_TRUE(news_.empty()) << "they were there before";
  const Instant seen = Instant(std::chrono::seconds(traffic_.newest + 1)) - 300ms;
  fall_silent();
  EXPECT_EQ(news_, (News{{Change::kGone, "other"}}));
  for (int second = 0; second < 100; ++second) {
    pass({{"me", 0}});
    EXPECT_TRUE(news_.empty()) << "it is told once";
  }
  ASSERT_EQ(absent().size(), 1u);
  EXPECT_EQ(absent()[0].name, "other");
  EXPECT_EQ(absent()[0].seen, seen);
  EXPECT_TRUE(absent()[0].is_gone);
  pass({{"me", 0}, {"other", 0}});
  EXPECT_EQ(news_, (News{{Change::kReturned, "other"}}));
  EXPECT_TRUE(absent().empty());
}

TEST_F(FleetRosterTest, ANodeThatSaidGoodbyeDoesNot) {
  pass({{"me", 0}, {"other", 0}});
  fall_silent("other");
  EXPECT_EQ(news_, (News{{Change::kLeft, "other"}}));
  EXPECT_TRUE(absent().empty());
  for (int second = 1; second < FleetRoster::kGoneSeconds; ++second) {
    pass({{"me", 0}, {"third", 0}});
    EXPECT_TRUE(news_.empty()) << "it may say its name";
  }
  pass({{"me", 0}, {"third", 0}});
  EXPECT_EQ(news_, (News{{Change::kJoined, "third"}}));
}

TEST_F(FleetRosterTest, ANodeThatSaidGoodbyeBeforeAnybodyListenedDoesNotEither) {
  pass({{"me", 0}, {"other", 3}}, "other");
  pass({{"me", 0}, {"other", 4}}, "other");
  for (int second = 0; second < 10; ++second) {
    pass({{"me", 0}});
    EXPECT_TRUE(absent().empty() || !absent().front().is_gone);
  }
}

// As at any restart: Redis counts the new node before anybody reads its figures.
TEST_F(FleetRosterTest, ANodeThatSaidGoodbyeDoesNotWhileAnotherComes) {
  pass({{"me", 0}, {"other", 0}});
  pass({{"me", 0}, {"other", 1}, {"third", 1}}, "other");
  for (int silent = 2; silent < FleetRoster::kGoneSeconds; ++silent) {
    pass({{"me", 0}, {"other", silent}, {"third", 0}}, "other");
  }
  pass({{"me", 0}, {"third", 0}});
  pass({{"me", 0}, {"third", 0}});
  EXPECT_THAT(news_, Contains(std::pair(Change::kLeft, std::string("other"))));
  EXPECT_TRUE(absent().empty());
}

TEST_F(FleetRosterTest, ANodeThatStartedAgainReplacesItself) {
  const auto about = [](const char* id, const char* address = "http://10.0.0.2:8080") {
    return NodeAbout{.id = id, .title = "web-2", .address = address};
  };
  others_ = {about("other")};
  pass({{"me", 0}, {"other", 0}});
  fall_silent();
  EXPECT_EQ(news_, (News{{Change::kGone, "other"}}));
  others_ = {about("reborn"), about("third", "http://10.0.0.3:8080")};
  pass({{"me", 0}, {"reborn", 0}, {"third", 0}});
  EXPECT_EQ(news_, (News{{Change::kRestarted, "reborn"}, {Change::kJoined, "third"}}));
  EXPECT_TRUE(absent().empty());
  pass({{"me", 0}, {"reborn", 1}, {"third", 0}});
  others_ = {about("fast"), about("third", "http://10.0.0.3:8080")};
  pass({{"me", 0}, {"reborn", 2}, {"third", 0}, {"fast", 0}});
  EXPECT_EQ(news_, (News{{Change::kRestarted, "fast"}})) << "before anybody missed it";
  for (int silent = 3; silent < FleetRoster::kGoneSeconds; ++silent) {
    pass({{"me", 0}, {"reborn", silent}, {"third", 0}, {"fast", 0}});
  }
  for (int second = 0; second < 10; ++second) {
    pass({{"me", 0}, {"third", 0}, {"fast", 0}});
    EXPECT_TRUE(news_.empty()) << "it did not die";
    EXPECT_TRUE(absent().empty());
  }
}

TEST_F(FleetRosterTest, WithoutAddressesANodeThatIsNewReplacesOneOfItsTitle) {
  others_ = {
      {.id = "me", .title = "web"}, {.id = "a", .title = "web"}, {.id = "b", .title = "web"}};
  pass({{"me", 0}, {"a", 0}, {"b", 0}});
  for (int second = 0; second < 10; ++second) pass({{"me", 0}});
  EXPECT_EQ(absent().size(), 2u) << "\"me\" was there before they fell silent";
  others_ = {{.id = "c", .title = "web"}};
  pass({{"me", 0}, {"c", 0}});
  EXPECT_EQ(news_, (News{{Change::kRestarted, "c"}}));
  pass({{"me", 0}, {"c", 0}});
  EXPECT_EQ(absent().size(), 1u) << "one that came stands for one";
}

TEST_F(FleetRosterTest, WhileRedisIsAwayNobodyDies) {
  pass({{"me", 0}, {"other", 0}});
  for (int second = 0; second < 100; ++second) {
    pass({{"", 0}}, {}, Scope::kNode);
    EXPECT_TRUE(news_.empty());
    ASSERT_EQ(absent().size(), 1u);
    EXPECT_EQ(absent()[0].name, "other");
    EXPECT_FALSE(absent()[0].is_gone);
  }
  pass({{"me", 0}});
  EXPECT_TRUE(news_.empty()) << "it may be slower to come back";
  pass({{"me", 0}, {"other", 0}});
  EXPECT_TRUE(news_.empty());
  EXPECT_TRUE(absent().empty());
}

TEST_F(FleetRosterTest, NewsHaveTheNamesThatNodesSay) {
  pass({{"me", 0}});
  pass({{"me", 0}, {"other", 0}});
  EXPECT_TRUE(news_.empty()) << "what it says of itself comes after its first figures";
  others_ = {{.id = "other", .title = "web-2", .address = "http://10.0.0.2:8080"}};
  pass({{"me", 0}, {"other", 0}});
  others_.clear();
  fall_silent();
  pass({{"me", 0}, {"other", 0}});
  EXPECT_EQ(titles_, std::vector<std::string>(3, "web-2"));
  fall_silent("other");
  EXPECT_EQ(titles_.back(), "web-2");
  for (int second = 0; second < FleetRoster::kGoneSeconds; ++second) {
    pass({{"me", 0}, {"third", 0}});
  }
  EXPECT_EQ(titles_.back(), "") << "of another version";
}

TEST_F(FleetRosterTest, ASecondThatIsHeardTwiceIsOne) {
  pass({{"me", 0}, {"other", 0}});
  pass({{"me", 0}, {"other", 1}});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(roster_.look(traffic_, others_, {}).empty());
}

TEST_F(FleetRosterTest, HoldsSoManyOfTheDead) {
  pass({{"me", 0}});
  for (std::size_t i = 0; i < 2 * FleetRoster::kGoneMax; ++i) {
    pass({{"me", 0}, {"node" + std::to_string(1000 + i), 0}});
  }
  for (int second = 0; second < 10; ++second) pass({{"me", 0}});
  ASSERT_EQ(absent().size(), FleetRoster::kGoneMax);
  EXPECT_EQ(absent().front().name, "node1064");
}

}  // namespace
}  // namespace weir
