// A hostile client and the HTTP door. Each request gets one reply that names the mistake, in valid
// JSON, or the connection ends. Other clients go on.

#include <boost/json.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"
#include "server/http/query.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr std::string_view kCheck = R"({"key":"a","limit":3,"window":60})";

TestDoor::Options with_a_rule() {
  return {.rules = {{.id = "r", .quota = *Quota::make({.limit = 3, .window = 1min})}},
          .access = {}};
}

std::string chunked(std::string_view path, std::string_view chunks) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(chunks);
}

bool is_json(const std::string& body) {
  boost::json::error_code error;
  boost::json::parse(body, error);
  return !error && is_utf8(body);
}

// All replies to the bytes of one connection.
std::vector<TestReply> replies_to(TestDoor& door, std::string_view bytes) {
  const std::string heard = door.converse(bytes);
  std::string_view rest = heard;
  std::vector<TestReply> replies;
  while (!rest.empty()) {
    replies.push_back(take_reply(rest));
    if (replies.back().status == 0) break;
  }
  return replies;
}

TEST(HttpAttack, BodiesThatNobodyCanReadAreRefusedInJson) {
  const std::string deep_arrays(1 << 20, '[');
  std::string deep_objects;
  for (int i = 0; i < 100'000; ++i) deep_objects += R"({"a":)";
  const std::vector<std::string> bodies = {
      "",
      "\0"s,
      "\xff\xfe",
      deep_arrays,
      deep_objects,
      R"({"key":)" + deep_arrays.substr(0, 100'000),
      R"({"checks":)" + deep_arrays.substr(0, 100'000),
      R"({"key":"a","limit":1e400,"window":60})",
      R"({"key":"a","limit":99999999999999999999,"window":60})",
      R"({"key":"a","limit":-9223372036854775809,"window":60})",
      R"({"key":"a","limit":3,"window":1e308})",
      R"({"key":"a","limit":3,"window":-1e-308})",
      R"({"key":"a","limit":3,"window":60,"cost":-9223372036854775808})",
      R"({"key":"a","limit":3,"window":)" + std::string(100'000, '9') + "}",
      "{\"key\":\"\xc3\x28\",\"limit\":3,\"window\":60}",
      "{\"key\":\"\xed\xa0\x80\",\"limit\":3,\"window\":60}",
      R"({"key":"\ud800","limit":3,"window":60})",
      R"({")" + std::string(100'000, 'k') + R"(":1})",
      R"({"key":")" + std::string(4097, 'k') + R"(","limit":3,"window":60})",
  };
  for (const char* const path :
       {"/check", "/v1/check", "/v1/look", "/v1/reset", "/v1/explain", "/admin/blocks", "/json"}) {
    TestDoor door(with_a_rule());
    for (const std::string& body : bodies) {
      TestReply reply = door.ask(post(path, body));
      EXPECT_EQ(reply.status, 400) << path << " " << body.substr(0, 60);
      const bool plain = reply.fields["content-type"].starts_with("text/plain");
      EXPECT_TRUE(plain || is_json(reply.body)) << path << " " << reply.body.substr(0, 200);
      EXPECT_LT(reply.body.size(), 2'000u) << path << " " << body.substr(0, 60);
    }
    EXPECT_EQ(door.ask(post("/check", kCheck)).status, 200);
    EXPECT_EQ(door.traffic.summary(door.now).total_allowed(), 1u) << path;
  }
}

// Replies repeat texts that clients write into a URL.
TEST(HttpAttack, RepliesAreUtf8WhateverTheUrlIs) {
  TestDoor door(with_a_rule());
  for (const char* const path : {"/v1/explain?rule=%ff&key=a",
                                 "/v1/explain?rule=r&key=%ff",
                                 "/v1/explain?%ff=1",
                                 "/v1/explain?path=/&header:%ff=%fe",
                                 "/v1/explain?rule=r&rule=%00&key=%00",
                                 "/v1/explain?headers=x&path=/",
                                 "/v1/explain?header:",
                                 "/admin/blocks?rule=%ff&limit=5",
                                 "/admin/blocks?limit=%ff",
                                 "/admin/blocks?limit=99999999999999999999",
                                 "/admin/rules/%ff",
                                 "/admin/rules/%00",
                                 "/auth/nginx?%ff=1",
                                 "/auth/nginx?allow=%ff",
                                 "/auth/nginx?\xff=1",
                                 "/\xff",
                                 "/%",
                                 "/%ff/../check",
                                 "/metrics?format=%ff",
                                 "/auth/envoy/\xff"}) {
    TestReply reply = door.ask(get(path));
    EXPECT_NE(reply.status, 0) << path;
    EXPECT_TRUE(is_json(reply.body) || reply.body.empty()) << path << " " << reply.body;
  }
}

TEST(HttpAttack, ChunksAreBoundedInEveryWay) {
  const std::string body(kCheck);
  const std::string size = "21\r\n";
  ASSERT_EQ(body.size(), 0x21u);
  const struct {
    std::string what;
    std::string chunks;
    int status;
  } kCases[] = {
      {"an extension", "21;a=b\r\n" + body + "\r\n0\r\n\r\n", 200},
      {"a quoted extension", "21;a=\"b;c\"\r\n" + body + "\r\n0\r\n\r\n", 200},
      {"a trailer", size + body + "\r\n0\r\nX-A: b\r\n\r\n", 200},
      {"a long extension", "21;" + std::string(100'000, 'a') + "\r\n" + body, 413},
      {"long trailers", size + body + "\r\n0\r\nX-A: " + std::string(100'000, 'b'), 413},
      {"a line feed in an extension", "21;a\nb\r\n" + body + "\r\n0\r\n\r\n", 400},
      {"a size with a sign", "+21\r\n" + body + "\r\n0\r\n\r\n", 400},
      {"a size as in C", "0x21\r\n" + body + "\r\n0\r\n\r\n", 400},
      {"a size of 64 bits and more", "10000000000000021\r\n" + body + "\r\n0\r\n\r\n", 413},
      {"a size of many zeros", std::string(100'000, '0') + "21\r\n" + body, 413},
      {"more than it may be", "fffffffff\r\n", 413},
      {"no end of a chunk", size + body + "GET / HTTP/1.1\r\n", 400},
  };
  for (const auto& c : kCases) {
    TestDoor door(with_a_rule());
    const auto replies = replies_to(door, chunked("/check", c.chunks) + get("/health"));
    ASSERT_FALSE(replies.empty()) << c.what;
    EXPECT_EQ(replies[0].status, c.status) << c.what;
    EXPECT_EQ(replies.size(), c.status == 200 ? 2u : 1u) << c.what;
  }
}

TEST(HttpAttack, MistakesInAPipelineCostThemselves) {
  TestDoor door(with_a_rule());
  const std::string good = post("/check", R"({"rule":"r","key":"a"})");
  const auto replies = replies_to(
      door, good + post("/check", "{") + good + post("/check", R"({"rule":"s","key":"a"})") +
                get("/nowhere") + post("/v1/check", R"({"checks":[{"rule":"r","key":"a"},{}]})") +
                "BREW /check HTTP/1.1\r\nHost: a\r\n\r\n" + good + good);
  std::vector<int> statuses;
  for (const TestReply& reply : replies) statuses.push_back(reply.status);
  EXPECT_EQ(statuses, (std::vector{200, 400, 200, 404, 404, 400, 405, 200, 200}));
  EXPECT_NE(replies[7].body.find(R"("allowed":true,"remaining":0)"), std::string::npos);
  EXPECT_NE(replies[8].body.find(R"("allowed":false)"), std::string::npos);
}

}  // namespace
}  // namespace weir
