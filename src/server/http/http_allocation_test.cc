// A check allocates nothing once its connection is warm. This program counts.

#include <cstdlib>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

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

void expect_no_allocation(TestDoor& door, const std::string& requests) {
  const auto session = door.door.make_session({}, door.now);
  std::size_t warm = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 100) warm = g_allocations;
    door.now += 700ms;  // so that the date changes, too
    feed(*session, requests, door.now);
    session->stamp(1ms);
    while (!session->output().empty()) session->sent(session->output().size(), door.now);
  }
  EXPECT_EQ(g_allocations - warm, 0u);
  EXPECT_FALSE(session->finished());
}

TEST(HttpAllocation, ACheckAllocatesNothing) {
  TestDoor door;
  std::string requests;
  for (int i = 0; i < 40; ++i) {
    requests += post("/check",
                     R"({"key":"user_)" + std::to_string(i) +
                         R"(","limit":100,"window":"1m","algorithm":"token_bucket"})",
                     "User-Agent: curl/7.88.1\r\nAccept: */*\r\n");
  }
  expect_no_allocation(door, requests);
}

TEST(HttpAllocation, NorDoOthersThatDecide) {
  const Quota quota = *Quota::make({.limit = 5, .window = 1min});
  TestDoor door({.rules = {{.id = "r", .quota = quota}}, .access = {}});
  const std::string check = R"({"key":"a","rule":"r"})";
  std::string list = "{\"checks\":[" + check;
  for (int i = 1; i < 100; ++i) list += "," + check;
  expect_no_allocation(
      door, post("/v1/check", check) + post("/v1/check", list + "]}") + post("/v1/look", check) +
                post("/v1/reset", check) +
                "POST /check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                "16\r\n{\"key\":\"a\",\"rule\":\"r\"}\r\n0\r\n\r\n");
}

TEST(HttpAllocation, TheCounterCounts) {
  const std::size_t before = g_allocations;
  TestDoor().ask(post("/check", "{}"));
  EXPECT_GT(g_allocations, before);
}

}  // namespace
}  // namespace weir
