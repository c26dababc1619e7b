#include "cli/node/traffic_guard.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "cli/node/webhook_receiver_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Scope = TrafficSnapshot::Scope;
using testing::WebhookReceiver;

constexpr const char* kOk = "HTTP/1.1 204 No Content\r\n\r\n";

class TrafficGuardTest : public ::testing::Test {
 protected:
  void see(TrafficGuard& guard, int seconds, std::uint64_t requests) {
    for (int i = 0; i < seconds; ++i) {
      auto second = std::make_shared<TrafficSecond>();
      second->rules = {{.rule = 3, .counts = {.requests = requests}}};
      snapshot_.sum.push(std::move(second));
      snapshot_.newest += 1;
      snapshot_.known_seconds = TrafficWindow::kSeconds;
      guard.look(snapshot_);
    }
  }
  static TrafficGuard::Options options(const WebhookReceiver& receiver) {
    return {.watch = {.scope = Scope::kFleet, .learn_s = 60},
            .node = "b",
            .host = "host",
            .webhook = Webhook::Options{.url = *HttpUrl::parse(receiver.url())}};
  }

  const Traffic traffic_;
  const RecentTraffic recent_{traffic_, Instant{}};
  TrafficSnapshot snapshot_{.scope = Scope::kFleet, .newest = 1'763'847'300};
  std::string id_ = "login";
  const TrafficGuard::IdOf id_of_ = [this](RuleNumber rule) { return rule == 3 ? id_ : ""; };
  KeyReport keys_{.total = 70, .rest = 1, .keys = {{.hash = 0xA, .low = 9, .high = 10}}};
  const TrafficGuard::KeysOf keys_of_ = [this](RuleNumber rule, std::string_view id) {
    return rule == 3 && id == id_ ? keys_ : KeyReport();
  };
};

TEST_F(TrafficGuardTest, TellsOfAnEventFromBeginningToEnd) {
  WebhookReceiver receiver({kOk});
  TrafficGuard guard(options(receiver), recent_, id_of_, keys_of_);
  snapshot_.nodes = {{.name = "b"}, {.name = "c"}};
  snapshot_.lead = std::chrono::hours(1);  // of Redis's clock
  snapshot_.newest += 3'600;
  see(guard, 300, 100);
  EXPECT_FALSE(guard.unusual_rules().holds(3));
  see(guard, 10, 1'000);
  EXPECT_TRUE(guard.unusual_rules().holds(3));
  see(guard, 60, 100);
  EXPECT_FALSE(guard.unusual_rules().holds(3));

  const auto events = guard.events().since(0).events;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]->rule, "login");
  EXPECT_EQ(events[0]->since, 1'763'847'601);
  EXPECT_EQ(events[1]->kind, TrafficEvent::Kind::kEnded);
  EXPECT_EQ(events[1]->rate, 1'000);
  EXPECT_NEAR(events[1]->band.median, 100, 0.1);
  EXPECT_THAT(receiver.next_request(),
              HasSubstr(R"({"host":"host","number":1,"event":"began","rule":"login",)"
                        R"("since":"2025-11-22T21:40:01Z")"));
  EXPECT_THAT(receiver.next_request(), HasSubstr(R"("event":"ended")"));
}

// The log names a key that the node shows, without characters that control a terminal.
TEST_F(TrafficGuardTest, SaysWhichKeysAreBusiest) {
  WebhookReceiver receiver({kOk});
  TrafficGuard guard(options(receiver), recent_, id_of_, keys_of_);
  for (std::uint64_t i = 1; i <= 6; ++i) {
    keys_.keys.push_back({.hash = 0x100 + i, .low = 10 * i, .high = 10 * i});
  }
  keys_.keys.back().text = "al\x1B[31mice\"";
  see(guard, 300, 100);
  ::testing::internal::CaptureStdout();
  see(guard, 10, 1'000);
  spdlog::default_logger()->flush();
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              HasSubstr("; busiest keys: \"al?[31mice\\\"\" (60), 0000000000000105 (50), "
                        "0000000000000104 (40), 0000000000000103 (30), 0000000000000102 (20)\n"));
  const auto events = guard.events().since(0).events;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]->keys, keys_.ranked(5));
  EXPECT_THAT(
      receiver.next_request(),
      HasSubstr(R"("keys":[{"hash":"0000000000000106","key":"al\u001b[31mice\"","count":60},)"
                R"({"hash":"0000000000000105","count":50},)"));
}

// All nodes find the event, and the receiver hears of it once.
TEST_F(TrafficGuardTest, TheFirstNodeOfAFleetPosts) {
  WebhookReceiver receiver({kOk});
  TrafficGuard guard(options(receiver), recent_, id_of_, keys_of_);
  snapshot_.nodes = {{.name = "a"}, {.name = "b"}};
  see(guard, 300, 100);
  see(guard, 10, 1'000);
  EXPECT_EQ(guard.events().figures().began, 1u);
  snapshot_.large = LargeFleet{.nodes = 200, .first = "a"};
  see(guard, 60, 100);
  see(guard, 10, 1'000);
  EXPECT_EQ(guard.events().figures().began, 2u);
  snapshot_.large->first = "b";  // the other one is gone
  see(guard, 60, 100);
  EXPECT_THAT(receiver.next_request(), HasSubstr(R"("event":"ended")"));
}

TEST_F(TrafficGuardTest, ARuleThatIsNotInForceHasNoEvents) {
  TrafficGuard guard({.watch = {.scope = Scope::kFleet, .learn_s = 60}}, recent_, id_of_, keys_of_);
  see(guard, 300, 100);
  id_.clear();
  see(guard, 10, 1'000);
  EXPECT_EQ(guard.events().since(0).last, 0u);
  id_ = "login";
  see(guard, 60, 100);
  EXPECT_EQ(guard.events().since(0).last, 0u);
}

// Each node posts the notices that Redis named it for, even if it posts nothing else.
TEST_F(TrafficGuardTest, TellsOfKeysNearTheirLimitsAndHowManyItLeftOut) {
  WebhookReceiver receiver({kOk});
  TrafficGuard guard(options(receiver), recent_, id_of_, keys_of_);
  const LimitNotice notice{.rule = "login",
                           .key_hash = 0xA,
                           .key = "al\x1B[31mice",
                           .percent = 80,
                           .used = 9,
                           .limit = 10,
                           .quota = *Quota::make({.limit = 10, .window = std::chrono::minutes(1)}),
                           .at = instant_from_epoch_us(1'763'847'609'000'000)};
  ::testing::internal::CaptureStdout();
  guard.tell({.at = notice.at, .notices = {notice}, .left_out = 3});
  spdlog::default_logger()->flush();
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              HasSubstr("limits of rule login: key \"al?[31mice\" has reached 80%: 9 of 10 per 1m "
                        "are used\n"));
  EXPECT_THAT(
      receiver.next_request(),
      HasSubstr(R"({"host":"host","number":1,"event":"limit","rule":"login",)"
                R"("at":"2025-11-22T21:40:09Z","text":"key \"al?[31mice\" has reached 80%: )"
                R"(9 of 10 per 1m are used","percent":80,"limit":10,"window_seconds":60,"keys":[)"
                R"({"hash":"000000000000000a","key":"al\u001b[31mice","count":9}]})"));
  LimitNotice denied = notice;
  denied.key = "\u202Ebob";
  denied.percent = 100;
  guard.tell({.at = notice.at, .notices = {denied}});
  EXPECT_THAT(receiver.next_request(),
              HasSubstr(R"("number":2,"event":"limit","rule":null,"at":"2025-11-22T21:40:09Z",)"
                        R"("text":"3 more like these are left out"})"));
  EXPECT_THAT(receiver.next_request(),
              HasSubstr(R"("text":"key \"?bob\" was denied: 9 of 10 per 1m are used",)"));
}

TEST_F(TrafficGuardTest, StopsWhenItIsTold) {
  TrafficGuard guard({}, recent_, id_of_, keys_of_);
  guard.start();
  guard.stop();
  guard.stop();
}

}  // namespace
}  // namespace weir
