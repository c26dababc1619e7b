// The files of the console: access, codings, and how long browsers keep them.

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "server/http/http_test_door.h"

namespace weir {
namespace {

using Use = ConsoleOptions::Use;

constexpr std::array<ConsoleAsset, 2> kFiles = {{{.name = "index.html",
                                                  .type = "text/html; charset=utf-8",
                                                  .etag = "\"p1\"",
                                                  .plain = "<html>",
                                                  .gzip = "GZ page",
                                                  .brotli = "BR page"},
                                                 {.name = "app.0f.js",
                                                  .type = "text/javascript",
                                                  .etag = "\"a1\"",
                                                  .plain = "main()",
                                                  .gzip = "GZ main()",
                                                  .brotli = "BR main()"}}};

TestDoor::Options with(Use use, HttpAccess access = {}) {
  return {.rules = {}, .access = std::move(access), .console = {.use = use, .assets = kFiles}};
}

const std::string kBrowser =
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n";

TEST(HttpAssets, ABrowserGetsThePageAndAProgramTheNames) {
  for (const Use use : {Use::kOn, Use::kPublic}) {
    TestDoor door(with(use));
    TestReply page = door.ask(get("/", kBrowser));
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, "<html>");
    EXPECT_EQ(page.fields["content-type"], "text/html; charset=utf-8");
    EXPECT_EQ(page.fields["cache-control"], "no-cache");
    EXPECT_EQ(page.fields["vary"], "Accept, Accept-Encoding");
    for (const std::string_view accept : {"", "Accept: */*\r\n", "Accept: application/json\r\n",
                                          "Accept: text/html;q=0.5, application/json\r\n"}) {
      TestReply names = door.ask(get("/", accept));
      EXPECT_TRUE(names.body.starts_with(R"({"service":"weir")")) << accept;
      EXPECT_EQ(names.fields["vary"], "Accept");
    }
  }
}

TEST(HttpAssets, ThePageMayLoadNothingButItsOwn) {
  TestDoor door(with(Use::kOn));
  TestReply page = door.ask(get("/", kBrowser));
  const std::string policy = page.fields["content-security-policy"];
  for (const std::string_view part :
       {"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
        "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"}) {
    EXPECT_NE(policy.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(page.fields["x-content-type-options"], "nosniff");
  EXPECT_EQ(page.fields["referrer-policy"], "no-referrer");
}

TEST(HttpAssets, AFileIsKeptForEver) {
  TestDoor door(with(Use::kOn));
  TestReply file = door.ask(get("/console/app.0f.js"));
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.body, "main()");
  EXPECT_EQ(file.fields["content-type"], "text/javascript");
  EXPECT_EQ(file.fields["cache-control"], "public, max-age=31536000, immutable");
  EXPECT_EQ(file.fields["vary"], "Accept-Encoding");
  EXPECT_EQ(file.fields["x-content-type-options"], "nosniff");
  const TestReply head = door.ask("HEAD /console/app.0f.js HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(head.status, 200);
}

TEST(HttpAssets, AClientGetsTheBestCodingThatItTakes) {
  TestDoor door(with(Use::kOn));
  const auto body = [&](std::string_view field) {
    TestReply reply =
        door.ask(get("/console/app.0f.js", "Accept-Encoding: " + std::string(field) + "\r\n"));
    return reply.fields["content-encoding"] + ":" + reply.body;
  };
  EXPECT_EQ(body("gzip, deflate, br"), "br:BR main()");
  EXPECT_EQ(body("gzip, br;q=0"), "gzip:GZ main()");
  EXPECT_EQ(body("deflate"), ":main()");
}

TEST(HttpAssets, WhatAClientHasIsNotSentAgain) {
  TestDoor door(with(Use::kOn));
  const std::string etag = door.ask(get("/", kBrowser)).fields["etag"];
  for (const std::string& tag : {etag, std::string("\"p1\""), "\"x\", " + etag, std::string("*")}) {
    TestReply reply = door.ask(get("/", kBrowser + "If-None-Match: " + tag + "\r\n"));
    EXPECT_EQ(reply.status, 304) << tag;
    EXPECT_EQ(reply.fields["etag"], etag);
    EXPECT_EQ(reply.fields.count("content-length"), 0u);
    EXPECT_EQ(reply.body, "");
  }
  EXPECT_EQ(door.ask(get("/", kBrowser + "If-None-Match: \"other\"\r\n")).status, 200);
  EXPECT_EQ(door.ask(get("/console/app.0f.js", "If-None-Match: \"a1\"\r\n")).status, 304);
}

TEST(HttpAssets, NothingElseIsThere) {
  TestDoor door(with(Use::kOn));
  for (const std::string_view path :
       {"/console/", "/console", "/console/index.html", "/console/app.js", "/console/../secret",
        "/console/app.0f.js/x", "/console/%61pp.0f.js"}) {
    EXPECT_EQ(door.ask(get(path)).status, 404) << path;
  }
  EXPECT_EQ(door.ask(post("/console/app.0f.js", "")).status, 405);
}

TEST(HttpAssets, WithoutAConsoleNoneIsThere) {
  TestDoor door(with(Use::kOff));
  EXPECT_EQ(door.ask(get("/console/app.0f.js")).status, 404);
  EXPECT_EQ(door.ask(post("/console/app.0f.js", "")).status, 404);
  EXPECT_TRUE(door.ask(get("/", kBrowser)).body.starts_with(R"({"service":"weir")"));
}

// A page whose name was made to lead here must learn nothing, not even that we are here.
TEST(HttpAssets, ANameThatLeadsHereGetsNone) {
  const std::string foreign = " HTTP/1.1\r\nHost: evil.example\r\n" + kBrowser + "\r\n";
  TestDoor door(with(Use::kOn));
  EXPECT_EQ(door.ask("GET /" + foreign).status, 403);
  EXPECT_EQ(door.ask("GET /console/app.0f.js" + foreign).status, 403);
  TestDoor guarded(with(Use::kOn, {.exposure = Exposure::kNetwork, .admin_token = "secret"}));
  EXPECT_EQ(guarded.ask("GET /" + foreign).status, 200);
}

}  // namespace
}  // namespace weir
