#include <string>

#include <gtest/gtest.h>

#include "server/http/admin/http_keys_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPath = "/admin/denials";

class HttpDenials : public HttpKeysTest {
 protected:
  TestReply denials(std::string_view query = "") {
    return door_->ask(get(std::string(kPath) + std::string(query)));
  }
  std::size_t count(std::string_view query) {
    const std::string body = denials(query).body;
    std::size_t all = 0;
    for (auto at = body.find("\"hash\""); at != std::string::npos; ++all) {
      at = body.find("\"hash\"", at + 1);
    }
    return all;
  }
};

TEST_F(HttpDenials, SayWhyTenMinutesLater) {
  open();
  check("alice", 5);
  const auto second = std::to_string(CoreDenials::second_of(door_->now + 10min));
  door_->now += 10min;
  EXPECT_EQ(
      without_hashes(denials().body),
      R"({"next":)" + second +
          R"(,"total":1,"forgotten":0,"denials":[{"at":"1994-11-06T08:51:17Z","seconds_ago":600,)"
          R"("rule":"login","hash":"#","cause":"limit","shadow":false,"times":3,"cost":1,)"
          R"("limit":2,"remaining":0,"retry_after":60,"status":null}]})");
}

TEST_F(HttpDenials, AreFoundByRuleKeyAndTime) {
  open();
  check("alice", 3);
  check("bob", 3);
  door_->now += 1min;
  check("alice", 1);
  check("alice", 3, "api");
  EXPECT_EQ(count(""), 4u);
  EXPECT_EQ(count("?rule=login"), 3u);
  EXPECT_EQ(count("?rule=login&key=alice"), 2u);
  EXPECT_EQ(count("?rule=api&key=bob"), 0u);
  EXPECT_EQ(count("?since=30s"), 2u);
  EXPECT_EQ(count("?limit=1"), 1u);
}

// A flood of one rule hid the denials of others in its second, and the reply did not say so.
TEST_F(HttpDenials, SayHowManyAFloodHasLeftNoPlaceForAndShowEachRule) {
  open();
  for (int i = 0; i < 100; ++i) check("flood" + std::to_string(i), 3);
  check("alice", 4, "api");
  EXPECT_EQ(count("?rule=api"), 1u);
  EXPECT_NE(denials().body.find(R"("total":8,"forgotten":93,)"), std::string::npos);
  EXPECT_NE(denials("?rule=api&key=alice").body.find(R"("total":1,"forgotten":93,)"),
            std::string::npos);
}

TEST_F(HttpDenials, AreFollowedWithoutGapsAndRepeats) {
  open();
  check("alice", 3);
  const auto begun = CoreDenials::second_of(door_->now);
  EXPECT_EQ(count("?after=0"), 0u) << "more may come in this second";
  door_->now += 2s;
  EXPECT_EQ(count("?after=0"), 1u);
  EXPECT_EQ(count("?after=" + std::to_string(begun - 1)), 1u);
  EXPECT_EQ(count("?after=" + std::to_string(begun)), 0u);
}

TEST_F(HttpDenials, HaveKeysOnlyWhereTheSettingSaysSo) {
  open();
  check("alice", 3);
  EXPECT_EQ(denials().body.find("alice"), std::string::npos);
  open(KeyTexts::kShown);
  check("alice", 3);
  EXPECT_NE(denials().body.find(R"("key":"alice")"), std::string::npos);
}

TEST_F(HttpDenials, KnowBlocksAndLimitsWithoutARule) {
  open();
  door_->ask(post("/admin/blocks", R"({"rule":"login","key":"alice","for":"5m"})"));
  check("alice", 1);
  const std::string blocked = denials().body;
  EXPECT_NE(blocked.find(R"("cause":"block")"), std::string::npos) << blocked;
  EXPECT_NE(blocked.find(R"("retry_after":300)"), std::string::npos) << blocked;
  for (int i = 0; i < 2; ++i) {
    door_->ask(post("/check", R"({"key":"x","limit":1,"window":60})"));
  }
  EXPECT_NE(denials().body.find(R"("rule":null)"), std::string::npos);
}

TEST_F(HttpDenials, ALookIsNone) {
  open();
  check("alice", 2);
  for (const char* path : {"/v1/look", "/v1/explain"}) {
    door_->ask(post(path, R"({"rule":"login","key":"alice"})"));
  }
  EXPECT_EQ(count(""), 0u);
}

TEST_F(HttpDenials, RefuseWhatMakesNoSense) {
  open();
  for (const char* query :
       {"?since=soon", "?after=-1", "?after=x", "?limit=0", "?limit=10001", "?key=alice"}) {
    EXPECT_EQ(denials(query).status, 400) << query;
  }
  EXPECT_EQ(denials("?rule=logni").status, 404);
}

TEST_F(HttpDenials, AreForAdmins) {
  TestDoor open({.rules = {}, .access = {.exposure = Exposure::kNetwork}});
  EXPECT_EQ(open.ask(get(kPath)).status, 403);
}

}  // namespace
}  // namespace weir
