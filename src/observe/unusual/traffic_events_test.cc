#include "observe/unusual/traffic_events.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using enum TrafficEvent::Kind;

TEST(TrafficEvents, NumbersThemFromOne) {
  TrafficEvents events;
  EXPECT_EQ(events.since(0).last, 0u);
  EXPECT_TRUE(events.since(0).events.empty());
  EXPECT_EQ(events.add({.kind = kBegan, .rule = "login"})->number, 1u);
  EXPECT_EQ(events.add({.kind = kEnded, .rule = "login"})->number, 2u);
  const auto reply = events.since(1);
  EXPECT_EQ(reply.last, 2u);
  ASSERT_EQ(reply.events.size(), 1u);
  EXPECT_EQ(reply.events.front()->rule, "login");
  EXPECT_EQ(reply.events.front()->kind, kEnded);
  EXPECT_TRUE(events.since(2).events.empty());
}

TEST(TrafficEvents, KeepsTheNewest) {
  TrafficEvents events;
  for (std::size_t i = 0; i < TrafficEvents::kEventsMax + 10; ++i) events.add({.rule = "login"});
  const auto reply = events.since(0);
  EXPECT_EQ(reply.events.size(), TrafficEvents::kEventsMax);
  EXPECT_EQ(reply.events.front()->number, 11u);
  EXPECT_EQ(reply.events.back()->number, reply.last);
}

// A reader that knows numbers from before the node's restart.
TEST(TrafficEvents, ShowsAllToWhoHasSeenMoreThanThereAre) {
  TrafficEvents events;
  events.add({.rule = "login"});
  EXPECT_EQ(events.since(50).events.size(), 1u);
}

TEST(TrafficEvents, CountsThoseThatAreOpen) {
  TrafficEvents events;
  events.add({.kind = kBegan});
  events.add({.kind = kBegan});
  events.add({.kind = kEnded});
  EXPECT_EQ(events.figures().began, 2u);
  EXPECT_EQ(events.figures().open, 1u);
}

}  // namespace
}  // namespace weir
