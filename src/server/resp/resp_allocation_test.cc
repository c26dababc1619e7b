// A check allocates nothing once its connection is warm. This program counts.

#include <gtest/gtest.h>

#include <string>

#include "base/allocation_testing.h"
#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

void expect_no_allocation(const std::string& commands) {
  const auto quota = Quota::make({.limit = 100, .window = 1min});
  RespTestDoor door({.rules = {{.id = "r", .quota = *quota}}, .access = {}});
  RespTestClient client(door);
  std::size_t warm = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 100) warm = allocations();
    door.now += 700ms;
    for (std::string_view rest = commands; !rest.empty();) rest.remove_prefix(client.feed(rest));
    Session& session = client.session();
    ASSERT_GT(session.output().size(), 0u);
    while (!session.output().empty()) session.sent(session.output().size(), door.now);
  }
  EXPECT_EQ(allocations() - warm, 0u);
  EXPECT_FALSE(client.finished());
}

TEST(RespAllocation, AThrottleAllocatesNothing) {
  std::string commands;
  for (int i = 0; i < 40; ++i) {
    commands += command({"CL.THROTTLE", "user_" + std::to_string(i), "15", "30", "60"});
    commands += command({"THROTTLE", "user_" + std::to_string(i), "15", "30", "60"});
  }
  expect_no_allocation(commands);
}

TEST(RespAllocation, AHitAllocatesNothing) {
  std::string commands;
  for (int i = 0; i < 40; ++i) {
    const std::string key = "user_" + std::to_string(i);
    commands += command({"WEIR.HIT", "r", key}) + command({"WEIR.LOOK", "r", key}) +
                command({"WEIR.MHIT", "ALL", "r", key, "1", "r", "other", "1"});
  }
  expect_no_allocation(commands);
}

TEST(RespAllocation, NorDoesAPing) { expect_no_allocation("PING\r\n" + command({"ECHO", "hi"})); }

}  // namespace
}  // namespace weir
