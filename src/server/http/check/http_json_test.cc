#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

const std::string kQuestion =
    R"({"domain":"edge","descriptors":[{"entries":[{"key":"user","value":"a"}]}]})";

std::vector<Rule> rules() {
  return {{.id = "r",
           .quota = *Quota::make({.limit = 1, .window = std::chrono::minutes(1)}),
           .descriptor = DescriptorMatch{.domain = "edge", .entries = {{.key = "user"}}}}};
}

TEST(HttpJson, AnswersByAnyMethod) {
  TestDoor door({.rules = rules(), .access = {}});
  const TestReply reply = door.ask(post("/json", kQuestion));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.fields.at("content-type"), "application/json");
  EXPECT_EQ(reply.body.find("{\"overallCode\":\"OK\""), 0u) << reply.body;
  const std::string put = "PUT" + post("/json", kQuestion).substr(4);
  EXPECT_EQ(door.ask(put).status, 429);
}

TEST(HttpJson, SharesTheCounterOfTheRule) {
  TestDoor door({.rules = rules(), .access = {}});
  const std::string both =
      door.converse(post("/check", R"({"rule":"r","key":"a"})") + post("/json", kQuestion));
  EXPECT_NE(both.find("\"allowed\":true"), std::string::npos);
  EXPECT_NE(both.find("HTTP/1.1 429 "), std::string::npos);
}

TEST(HttpJson, WhatHasNoAnswerIs400) {
  TestDoor door({.rules = rules(), .access = {}});
  const TestReply reply = door.ask(get("/json"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.fields.at("content-type"), "text/plain; charset=utf-8");
}

TEST(HttpJson, NewRulesCountHereToo) {
  TestDoor door;
  EXPECT_EQ(door.ask(post("/json", kQuestion)).body.find("currentLimit"), std::string::npos);
  door.use_rules(std::make_shared<const RuleSet>(rules()));
  EXPECT_NE(door.ask(post("/json", kQuestion)).body.find("currentLimit"), std::string::npos);
}

}  // namespace
}  // namespace weir
