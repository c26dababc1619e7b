#include "rules/request/request_path.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;

// Empty if there are too many readings.
std::vector<std::string> readings(std::string_view path) {
  PathReadings readings;
  readings.read("/left/over;x");
  if (!readings.read(path)) return {};
  return {readings.all().begin(), readings.all().end()};
}

std::string first(std::string_view path) {
  PathReadings readings;
  readings.read(path);
  return std::string(readings.all().front());
}

TEST(RequestPath, EverySpellingOfAPathIsOne) {
  for (const auto* path :
       {"/api/login", "//api///login", "/api/./login", "/x/../api/login", "/%61pi/%6Cogin",
        "/%2e/api/x/%2E%2e/login", "/../../api/login", "api/login", "/api/x/y/../../login",
        "/api%2Flogin", "/x/..%2fapi/login"}) {
    EXPECT_EQ(first(path), "/api/login") << path;
  }
}

// Tomcat and Jetty answer /login;x as /login, and /x/..;/login, too.
TEST(RequestPath, WhatFollowsASemicolonEvadesNoRule) {
  for (const auto* path :
       {"/api/login;x", "/api;v=1/login;a=b;c", "/api/login;x.jpg", "/;/api/login",
        "/x/..;/api/login", "/x/..;a/.;/api/login", "/api/login%3Bx", "/api/;x/login"}) {
    EXPECT_EQ(first(path), "/api/login") << path;
  }
  EXPECT_EQ(first("/a/;x"), "/a/");
  EXPECT_EQ(first("/;"), "/");
  EXPECT_EQ(first("/a;%2F..%2Fb"), "/b");
}

TEST(RequestPath, ASlashAtTheEndStays) {
  EXPECT_EQ(first("/"), "/");
  EXPECT_EQ(first(""), "/");
  EXPECT_EQ(first("//"), "/");
  EXPECT_EQ(first("/.."), "/");
  EXPECT_EQ(first("/a/."), "/a/");
  EXPECT_EQ(first("/a/b/.."), "/a/");
  EXPECT_EQ(first("/a//"), "/a/");
  EXPECT_EQ(first("/a/..%2f.."), "/");
}

TEST(RequestPath, WhatWouldChangeMeaningOrIsMalformedStaysAsItIs) {
  EXPECT_EQ(first("/a%252Fb"), "/a%2Fb") << "decoded once";
  EXPECT_EQ(first("/a%00b"), "/a%00b");
  EXPECT_EQ(first("/a%zzb%4"), "/a%zzb%4");
  EXPECT_EQ(first("/%C3%A4"), "/\xC3\xA4");
  EXPECT_EQ(first("/.well-known/a..b/...c"), "/.well-known/a..b/...c");
}

TEST(RequestPath, AnOrdinaryPathHasOneReading) {
  for (const auto* path : {"/", "/a/b/", "/.well-known/a..b/...c", "/a/.b", "/a.", "/%C3%A4%20b",
                           "/%6Cogin", "/100%", "/a/%"}) {
    EXPECT_EQ(readings(path).size(), 1u) << path;
  }
}

// The Worker's test reads the same file.
TEST(RequestPath, ReadingsAreThoseOfTheTable) {
  std::ifstream table(WEIR_PATH_READINGS);
  std::size_t rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string path;
    words >> path;
    std::vector<std::string> expected{std::istream_iterator<std::string>(words), {}};
    if (expected == std::vector<std::string>{"refused"}) expected.clear();
    EXPECT_EQ(readings(path), expected) << path;
    ++rows;
  }
  EXPECT_GT(rows, 20u);
}

TEST(RequestPath, APathOfManyReadingsKeepsTheFirst) {
  PathReadings readings;
  EXPECT_FALSE(readings.read("//a;b%2f..%5c..%2fc/../d%253f"));
  EXPECT_EQ(readings.all().size(), PathReadings::kMax);
  EXPECT_TRUE(readings.read("/a"));
  EXPECT_THAT(readings.all(), ElementsAre("/a"));
}

}  // namespace
}  // namespace weir
