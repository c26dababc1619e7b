// Two workers of one nginx, or as many as a test wants, in one process.
//
// Thread rule: one thread. Tested with its users, judge_test.cc first.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/shared_pages_testing.h"
#include "nginx/gateway_testing.h"
#include "nginx/judge.h"
#include "weir/clock.h"

namespace weir::nginx {

class HandClock final : public Clock {
 public:
  Instant now() const noexcept override { return time; }
  Instant time = Instant(std::chrono::hours(24 * 365 * 55));
};

inline constexpr std::string_view kRules = R"(rules:
  - id: login
    match: {path: /login}
    key: client
    limit: 2
    window: 1m
    on_deny: {block: 5m}
  - id: named
    limit: 3
    window: 1m
)";

// Two workers of one nginx.
class Workers : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = Zone::kBytesMin;
  static constexpr std::size_t kPlaces = 4;

  Workers() : Workers(kRules) {
    named_ = *loaded_.gateway->choose(std::array{std::string_view("named")});
  }
  explicit Workers(std::string_view rules) : loaded_(rules, ids_) {
    Zone::format(pages_.bytes(), clock_.time);
  }

  std::unique_ptr<Judge> worker() {
    return std::make_unique<Judge>(*loaded_.gateway, Zone(zone_), figures_, ids_, clock_);
  }
  static Judgement ask(Judge& judge, std::string_view uri = "/login",
                       std::string_view client = "192.0.2.1", const BodyStart* body = nullptr) {
    Question question{.described = judge.scratch(), .body = body};
    question.described.request = {.method = "POST", .client = IpAddress::parse(client)};
    set_target(uri, "example.com", question.described);
    return judge.judge(question, judge.catch_up());
  }

  HandClock clock_;
  RuleIds ids_;
  LoadedText loaded_;
  const SharedPages pages_{kBytes};
  const SharedPages figure_pages_{kPlaces * sizeof(CoreTraffic)};
  std::byte* const zone_ = pages_.data();
  const std::span<CoreTraffic> figures_ = figure_pages_.all<CoreTraffic>();
  std::size_t named_ = 0;
};

}  // namespace weir::nginx
