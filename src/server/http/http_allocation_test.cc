// A check allocates nothing once its connection is warm. This program counts.

#include <string>

#include <gtest/gtest.h>

#include "base/allocation_testing.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

void expect_no_allocation(TestDoor& door, const std::string& requests) {
  const auto session = door.door.make_session({}, door.now);
  std::size_t warm = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 100) warm = allocations();
    door.now += 700ms;  // so that the date changes, too
    feed(*session, requests, door.now);
    session->stamp(1ms);
    while (!session->output().empty()) session->sent(session->output().size(), door.now);
  }
  EXPECT_EQ(allocations() - warm, 0u);
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

}  // namespace
}  // namespace weir
