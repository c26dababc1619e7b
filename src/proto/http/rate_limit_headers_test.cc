#include "proto/http/rate_limit_headers.h"

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/ascii.h"
#include "proto/http/rate_limit_fields.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

std::string to_lower_names(std::string lines) {
  bool in_name = true;
  for (char& c : lines) {
    if (c == ':') in_name = false;
    if (c == '\n') in_name = true;
    if (in_name) c = ascii_lower(c);
  }
  return lines;
}

std::string as_http2(const RateLimit& limit) {
  std::vector<char> memory(rate_limit_headers_max(limit));
  std::string lines;
  put_rate_limit_fields<FieldNames::kLower>(
      limit, memory.data(), [&](std::string_view name, std::string_view value) {
        lines.append(name).append(": ").append(value).append("\r\n");
      });
  return lines;
}

// The fields as lines; HTTP/2 has the same.
std::string headers(RateLimit limit) {
  PolicyTexts texts;
  limit.texts = &texts;
  std::vector<char> memory(rate_limit_headers_max(limit));
  TextWriter writer(memory.data(), memory.size());
  write_rate_limit_headers(writer, limit);
  const std::string lines(memory.data(), writer.end());
  EXPECT_EQ(as_http2(limit), to_lower_names(lines));
  return lines;
}

std::string headers(const RateLimitPolicy& policy, const Decision& decision) {
  return headers(RateLimit{.policy = policy, .decision = decision});
}

// The lines in a form without X-RateLimit-*.
std::string headers(RateLimit limit, RateLimitStyle::Fields fields) {
  limit.style = {.fields = fields, .x_limit = false, .x_remaining = false, .x_reset = false};
  return headers(limit);
}

constexpr RateLimitItem kMinute{
    .policy = {.name = "api", .limit = 10, .window = 1min},
    .decision = {.limit = 10, .remaining = 9, .reset_after = 1min, .more_after = 7s}};
constexpr RateLimitItem kDay{.policy = {.name = "api", .limit = 20, .window = 24h, .number = 2},
                             .decision = {.verdict = Verdict::kDenied,
                                          .limit = 20,
                                          .retry_after = 2h,
                                          .reset_after = 24h,
                                          .more_after = 1h}};

TEST(PolicyTexts, SayThePolicyAndItsParts) {
  PolicyTexts texts;
  const PolicyText& text = texts.of({.name = "a\"b", .limit = 100, .window = 60s, .number = 2});
  EXPECT_EQ(text.all(), R"("a\"b/2";q=100;w=60)");
  EXPECT_EQ(text.quoted_name(), R"("a\"b/2")");
  EXPECT_EQ(text.limit(), "100");
  EXPECT_EQ(text.limit_and_window(), "100;w=60");
}

TEST(PolicyTexts, SayWhatHasChangedInItsPlace) {
  PolicyTexts texts;
  std::string name = "a";
  RateLimitPolicy policy{.name = name, .limit = 1, .window = 1s};
  EXPECT_EQ(texts.of(policy).all(), R"("a";q=1;w=1)");
  name = "b";
  EXPECT_EQ(texts.of(policy).all(), R"("b";q=1;w=1)");
  policy.window = 2s;
  EXPECT_EQ(texts.of(policy).all(), R"("b";q=1;w=2)");
  EXPECT_EQ(texts.of({}).all(), R"("";q=0)");
}

TEST(PolicyTexts, OfMorePoliciesThanAreKept) {
  PolicyTexts texts;
  const std::string name = "of a rule";
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t limit = 0; limit < 100; ++limit) {
      EXPECT_EQ(texts.of({.name = name, .limit = limit, .window = 1s}).limit(),
                std::to_string(limit));
    }
  }
}

TEST(RateLimitHeaders, OfAnAllowedRequest) {
  EXPECT_EQ(headers({.name = "default", .limit = 100, .window = 60s},
                    {.limit = 100, .remaining = 58, .reset_after = 41s + 1us, .more_after = 400ms}),
            "X-RateLimit-Limit: 100\r\n"
            "X-RateLimit-Remaining: 58\r\n"
            "X-RateLimit-Reset: 42\r\n"
            "RateLimit: \"default\";r=58;t=1\r\n"
            "RateLimit-Policy: \"default\";q=100;w=60\r\n");
}

TEST(RateLimitHeaders, OfADeniedOne) {
  EXPECT_EQ(headers({.name = "login", .limit = 5, .window = 1min}, {.verdict = Verdict::kDenied,
                                                                    .limit = 7,
                                                                    .retry_after = 2500ms,
                                                                    .reset_after = 60s,
                                                                    .more_after = 2s}),
            "X-RateLimit-Limit: 7\r\n"
            "X-RateLimit-Remaining: 0\r\n"
            "X-RateLimit-Reset: 60\r\n"
            "RateLimit: \"login\";r=0;t=2\r\n"
            "RateLimit-Policy: \"login\";q=5;w=60\r\n"
            "Retry-After: 3\r\n");
}

TEST(RateLimitHeaders, NoRetryWhereItWouldNotHelp) {
  const auto text = headers({.name = "a", .limit = 0, .window = 1s},
                            {.verdict = Verdict::kNever, .more_after = 1s});
  EXPECT_EQ(text.find("Retry-After"), std::string::npos);
  EXPECT_NE(text.find("RateLimit: \"a\";r=0\r\n"), std::string::npos);
}

TEST(RateLimitHeaders, ABucketOfAnHourSaysAMinute) {
  const auto text = headers({.name = "a", .limit = 60, .window = 1h},
                            {.limit = 60, .reset_after = 1h, .more_after = 1min});
  EXPECT_NE(text.find("RateLimit: \"a\";r=0;t=60\r\n"), std::string::npos);
}

TEST(RateLimitHeaders, AnUntouchedKeyGetsNoMore) {
  const auto text = headers({.name = "a", .limit = 9, .window = 1s}, {.limit = 9, .remaining = 9});
  EXPECT_NE(text.find("RateLimit: \"a\";r=9\r\n"), std::string::npos);
}

TEST(RateLimitHeaders, RetryIsNotBeforeThereIsMore) {
  const auto text =
      headers({.name = "a", .limit = 9, .window = 1min},
              {.verdict = Verdict::kDenied, .limit = 9, .retry_after = 3s, .more_after = 9s});
  EXPECT_NE(text.find("Retry-After: 9\r\n"), std::string::npos);
}

TEST(RateLimitHeaders, RetryIsNeverZero) {
  const auto text = headers({.name = "a", .limit = 1, .window = 1s},
                            {.verdict = Verdict::kDenied, .retry_after = 0s});
  EXPECT_NE(text.find("Retry-After: 1\r\n"), std::string::npos);
}

TEST(RateLimitHeaders, WindowOnlyInWholeSeconds) {
  const auto window = [](Duration duration) {
    const auto text = headers({.name = "a", .limit = 1, .window = duration}, {});
    return text.substr(text.find(";q=1") + 4);
  };
  EXPECT_EQ(window(1s), ";w=1\r\n");
  EXPECT_EQ(window(366 * 24h), ";w=31622400\r\n");
  EXPECT_EQ(window(1500ms), "\r\n");
  EXPECT_EQ(window(1ms), "\r\n");
}

TEST(RateLimitHeaders, NamesAreStructuredStrings) {
  const auto name = [](std::string_view policy) {
    const auto text = headers({.name = policy, .limit = 1, .window = 1s}, {});
    const auto start = text.find("RateLimit: ") + 11;
    return text.substr(start, text.find(";r=") - start);
  };
  EXPECT_EQ(name("login"), "\"login\"");
  EXPECT_EQ(name(""), "\"\"");
  EXPECT_EQ(name("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(name("caf\xC3\xA9\n\x7F"), "\"caf????\"");
}

TEST(RateLimitHeaders, OfSeveralLimitsHaveAnItemEach) {
  const std::array<RateLimitItem, 2> both{kMinute, kDay};
  const RateLimit limit{.policy = kDay.policy, .decision = kDay.decision, .items = both};
  EXPECT_EQ(headers(limit),
            "X-RateLimit-Limit: 20\r\n"
            "X-RateLimit-Remaining: 0\r\n"
            "X-RateLimit-Reset: 86400\r\n"
            "RateLimit: \"api\";r=9;t=7, \"api/2\";r=0;t=3600\r\n"
            "RateLimit-Policy: \"api\";q=10;w=60, \"api/2\";q=20;w=86400\r\n"
            "Retry-After: 7200\r\n");
}

TEST(RateLimitHeaders, InOlderForms) {
  const std::array<RateLimitItem, 2> both{kMinute, kDay};
  const RateLimit limit{.policy = kDay.policy, .decision = kDay.decision, .items = both};
  EXPECT_EQ(headers(limit, RateLimitStyle::Fields::kDraft7),
            "RateLimit: limit=20, remaining=0, reset=86400\r\n"
            "RateLimit-Policy: 10;w=60, 20;w=86400\r\n"
            "Retry-After: 7200\r\n");
  EXPECT_EQ(headers(limit, RateLimitStyle::Fields::kDraft6),
            "RateLimit-Limit: 20\r\n"
            "RateLimit-Remaining: 0\r\n"
            "RateLimit-Reset: 86400\r\n"
            "RateLimit-Policy: 10;w=60, 20;w=86400\r\n"
            "Retry-After: 7200\r\n");
  EXPECT_EQ(headers(limit, RateLimitStyle::Fields::kNone), "Retry-After: 7200\r\n");
}

// npm/test checks the package's part.
TEST(RateLimitHeaders, ResetAsATimeIsNeverEarlyAndLessThanASecondLate) {
  std::ifstream file("../../npm/test/reset_epoch.json");
  const boost::json::value table = boost::json::parse(file);
  ASSERT_FALSE(table.as_array().empty());
  for (const boost::json::value& row : table.as_array()) {
    RateLimit limit{.policy = kMinute.policy, .decision = kMinute.decision};
    limit.wall_time = instant_from_epoch_us(row.at("now_us").as_int64());
    limit.decision.reset_after = Duration{row.at("reset_after_us").as_int64()};
    limit.style = {.fields = RateLimitStyle::Fields::kNone,
                   .x_limit = false,
                   .x_remaining = false,
                   .reset = RateLimitStyle::Reset::kEpoch};
    EXPECT_EQ(headers(limit),
              "X-RateLimit-Reset: " + std::to_string(row.at("reset").as_int64()) + "\r\n")
        << row;
  }
}

TEST(RateLimitHeaders, ResetAsATime) {
  RateLimit limit{.policy = kMinute.policy, .decision = kMinute.decision};
  limit.wall_time = instant_from_epoch_us(1'700'000'000'000'001);
  limit.style = {.fields = RateLimitStyle::Fields::kNone,
                 .x_limit = false,
                 .reset = RateLimitStyle::Reset::kEpoch};
  EXPECT_EQ(headers(limit), "X-RateLimit-Remaining: 9\r\nX-RateLimit-Reset: 1700000061\r\n");
}

TEST(RateLimitHeaders, APolicySaysNoLessThanMayBeLeft) {
  const auto policy = [](const QuotaSpec& spec) {
    const auto text = headers(policy_of("a", *Quota::make(spec)), {});
    return text.substr(text.find("RateLimit-Policy: ") + 18);
  };
  EXPECT_EQ(policy({Algorithm::kTokenBucket, 100, 1min}), "\"a\";q=100;w=60\r\n");
  EXPECT_EQ(policy({Algorithm::kTokenBucket, 100, 1min, 10}), "\"a\";q=100;w=60\r\n");
  EXPECT_EQ(policy({Algorithm::kTokenBucket, 100, 1min, 500}), "\"a\";q=500;w=300\r\n");
  EXPECT_EQ(policy({Algorithm::kTokenBucket, 3, 1s, 4}), "\"a\";q=4\r\n");
  EXPECT_EQ(policy({Algorithm::kTokenBucket, 0, 1min, 5}), "\"a\";q=0;w=60\r\n");
}

TEST(RateLimitHeaders, FitTheirBound) {
  const std::string name(300, '"');
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const RateLimitItem item{
      .policy = {.name = name, .limit = most, .window = 366 * 24h, .number = 99},
      .decision = {.verdict = Verdict::kDenied,
                   .limit = most,
                   .remaining = most,
                   .retry_after = Duration::max(),
                   .reset_after = Duration::max(),
                   .more_after = Duration::max()}};
  const std::vector<RateLimitItem> items(16, item);
  RateLimit limit{.policy = item.policy, .decision = item.decision, .is_alone = true};
  for (const auto fields : {RateLimitStyle::Fields::kDraft6, RateLimitStyle::Fields::kDraft7,
                            RateLimitStyle::Fields::kDraft10}) {
    limit.style.fields = fields;
    limit.items = {};
    headers(limit);
    limit.items = items;
    headers(limit);
  }
}

}  // namespace
}  // namespace weir
