#include "cli/node/webhook.h"

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/node/webhook_receiver_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::WebhookReceiver;

constexpr const char* kOk = "HTTP/1.1 204 No Content\r\n\r\n";
constexpr const char* kBroken = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
constexpr const char* kMoved = "HTTP/1.1 302 Found\r\nLocation: http://a.example/\r\n\r\n";

// A webhook, and the outcome of one text.
class Posting {
 public:
  explicit Posting(const std::string& url, Webhook::Options options = {})
      : webhook_(with(std::move(options), url), [this](const Webhook::Outcome& outcome) {
          if (!is_done_.exchange(true)) outcome_.set_value(outcome);
        }) {}

  Webhook::Outcome outcome_of(const std::string& json) {
    webhook_.post(json);
    auto outcome = outcome_.get_future();
    if (outcome.wait_for(30s) != std::future_status::ready) return {.fault = "no outcome"};
    return outcome.get();
  }
  Webhook& webhook() { return webhook_; }

 private:
  static Webhook::Options with(Webhook::Options options, const std::string& url) {
    options.url = *HttpUrl::parse(url);
    return options;
  }

  std::atomic<bool> is_done_ = false;
  std::promise<Webhook::Outcome> outcome_;
  Webhook webhook_;
};

Webhook::Options hasty() { return {.patience = 100ms, .pauses = {1ms, 1ms}}; }
// Waits for an answer for as long as it takes.
Webhook::Options patient() { return {.patience = 60s, .pauses = {1ms, 1ms}}; }

TEST(Webhook, PostsJsonWithItsToken) {
  WebhookReceiver receiver({kOk});
  auto options = patient();
  options.token = "0123456789abcdef";
  Posting posting(receiver.url(), std::move(options));
  const auto outcome = posting.outcome_of(R"({"a":1})");
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.attempts, 1u);
  const auto request = receiver.next_request();
  EXPECT_THAT(request, HasSubstr("POST /hook?key=s HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("Host: 127.0.0.1:"));
  EXPECT_THAT(request, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(request, HasSubstr("Authorization: Bearer 0123456789abcdef\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\n\r\n{\"a\":1}"));
  EXPECT_EQ(posting.webhook().figures().delivered, 1u);
}

TEST(Webhook, TriesAgainAfterAFailure) {
  WebhookReceiver receiver({kBroken, kOk});
  Posting posting(receiver.url(), patient());
  const auto outcome = posting.outcome_of("{}");
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.attempts, 2u);
  EXPECT_THAT(receiver.next_request(), Not(HasSubstr("Authorization")));
}

TEST(Webhook, GivesUpAfterAFewFailures) {
  WebhookReceiver receiver({kBroken});
  Posting posting(receiver.url(), patient());
  const auto outcome = posting.outcome_of("{}");
  EXPECT_EQ(outcome.fault, "it answered 500");
  EXPECT_EQ(outcome.attempts, 3u);
  EXPECT_EQ(posting.webhook().figures().failed, 1u);
}

// The token is for this host alone.
TEST(Webhook, FollowsNoRedirect) {
  WebhookReceiver receiver({kMoved});
  Posting posting(receiver.url(), patient());
  const auto outcome = posting.outcome_of("{}");
  EXPECT_EQ(outcome.fault, "it answered 302");
  EXPECT_EQ(outcome.attempts, 1u);
}

TEST(Webhook, DoesNotWaitForAReceiverThatHangs) {
  WebhookReceiver receiver({WebhookReceiver::kHang});
  Posting posting(receiver.url(), hasty());
  const auto outcome = posting.outcome_of("{}");
  EXPECT_EQ(outcome.fault, "it took too long");
  EXPECT_EQ(outcome.attempts, 3u);
}

TEST(Webhook, SaysThatNobodyListens) {
  WebhookReceiver receiver({kOk});
  receiver.close();
  Posting posting(receiver.url(), patient());
  const auto outcome = posting.outcome_of("{}");
  EXPECT_EQ(outcome.fault, "nothing listens there; is it running?");
  EXPECT_EQ(outcome.attempts, 3u);
}

TEST(Webhook, SaysThatTheReceiverSpeaksNoHttp) {
  WebhookReceiver receiver({"220 smtp.example.com\r\n\r\n"});
  Posting posting(receiver.url(), patient());
  EXPECT_THAT(posting.outcome_of("{}").fault, "this is not HTTP");
}

TEST(Webhook, HasRoomForSoManyAndNoMore) {
  WebhookReceiver receiver({WebhookReceiver::kHang});
  Posting posting(receiver.url(), patient());
  posting.webhook().post("{}");
  receiver.next_request();  // the first is under way
  for (std::size_t i = 0; i < Webhook::kWaitingMax + 3; ++i) posting.webhook().post("{}");
  EXPECT_EQ(posting.webhook().figures().dropped, 3u);
}

TEST(Webhook, StopsInTheMiddleOfAnAttempt) {
  WebhookReceiver receiver({WebhookReceiver::kHang});
  auto options = patient();
  options.pauses = {10min};
  Posting posting(receiver.url(), std::move(options));
  posting.webhook().post("{}");
  receiver.next_request();
  posting.webhook().stop();
  posting.webhook().post("{}");
  EXPECT_EQ(posting.webhook().figures().failed, 0u);
}

TEST(Webhook, StopsBetweenTwoAttempts) {
  WebhookReceiver receiver({kBroken});
  auto options = patient();
  options.pauses = {10min};
  Posting posting(receiver.url(), std::move(options));
  posting.webhook().post("{}");
  receiver.next_request();
  posting.webhook().stop();
}

}  // namespace
}  // namespace weir
