// A check allocates nothing once its connection is warm. This program counts.

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "server/resp/resp_test_door.h"

namespace {

std::size_t g_allocations = 0;

void* counted_or_null(std::size_t size) noexcept {
  ++g_allocations;
  return std::malloc(size);
}

void* counted(std::size_t size) {
  if (void* const memory = counted_or_null(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir {
namespace {

using namespace std::chrono_literals;

void expect_no_allocation(const std::string& commands) {
  const auto quota = Quota::make({.limit = 100, .window = 1min});
  RespTestDoor door({.rules = {{.id = "r", .quota = *quota}}, .access = {}});
  RespTestClient client(door);
  std::size_t warm = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 100) warm = g_allocations;
    door.now += 700ms;
    for (std::string_view rest = commands; !rest.empty();) rest.remove_prefix(client.feed(rest));
    Session& session = client.session();
    ASSERT_GT(session.output().size(), 0u);
    while (!session.output().empty()) session.sent(session.output().size(), door.now);
  }
  EXPECT_EQ(g_allocations - warm, 0u);
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
