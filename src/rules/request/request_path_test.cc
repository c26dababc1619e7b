#include "rules/request/request_path.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string normal(std::string_view path) {
  std::string scratch = "left over";
  return std::string(normal_path(path, scratch));
}

TEST(RequestPath, EverySpellingOfAPathIsOne) {
  for (const auto* path :
       {"/api/login", "//api///login", "/api/./login", "/x/../api/login", "/%61pi/%6Cogin",
        "/%2e/api/x/%2E%2e/login", "/../../api/login", "api/login", "/api/x/y/../../login",
        "/api%2Flogin", "/x/..%2fapi/login"}) {
    EXPECT_EQ(normal(path), "/api/login") << path;
  }
}

// Tomcat and Jetty answer /login;x as /login, and /x/..;/login, too.
TEST(RequestPath, WhatFollowsASemicolonEvadesNoRule) {
  for (const auto* path :
       {"/api/login;x", "/api;v=1/login;a=b;c", "/api/login;x.jpg", "/;/api/login",
        "/x/..;/api/login", "/x/..;a/.;/api/login", "/api/login%3Bx", "/api/;x/login"}) {
    EXPECT_EQ(normal(path), "/api/login") << path;
  }
  EXPECT_EQ(normal("/a/;x"), "/a/");
  EXPECT_EQ(normal("/;"), "/");
  EXPECT_EQ(normal("/a;%2F..%2Fb"), "/b");
}

TEST(RequestPath, ASlashAtTheEndStays) {
  EXPECT_EQ(normal("/"), "/");
  EXPECT_EQ(normal(""), "/");
  EXPECT_EQ(normal("//"), "/");
  EXPECT_EQ(normal("/.."), "/");
  EXPECT_EQ(normal("/a/."), "/a/");
  EXPECT_EQ(normal("/a/b/.."), "/a/");
  EXPECT_EQ(normal("/a//"), "/a/");
  EXPECT_EQ(normal("/a/..%2f.."), "/");
}

TEST(RequestPath, WhatWouldChangeMeaningOrIsMalformedStaysAsItIs) {
  EXPECT_EQ(normal("/a%252Fb"), "/a%2Fb") << "decoded once";
  EXPECT_EQ(normal("/a%00b"), "/a%00b");
  EXPECT_EQ(normal("/a%zzb%4"), "/a%zzb%4");
  EXPECT_EQ(normal("/%C3%A4"), "/\xC3\xA4");
  EXPECT_EQ(normal("/.well-known/a..b/...c"), "/.well-known/a..b/...c");
}

}  // namespace
}  // namespace weir
