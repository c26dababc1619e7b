// Two workers of one nginx, or as many as a test wants, in one process.
//
// Thread rule: one thread. Tested with its users, judge_test.cc first.

#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string_view>

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
  static constexpr std::size_t kFigureBytes = kPlaces * sizeof(CoreTraffic);

  Workers() : Workers(kRules) {
    named_ = *loaded_.gateway->choose(std::array{std::string_view("named")});
  }
  explicit Workers(std::string_view rules)
      : loaded_(rules, ids_), zone_(pages(kBytes)), figures_(pages(kFigureBytes)) {
    Zone::format({zone_, kBytes}, clock_.time);
  }
  ~Workers() override {
    ::munmap(zone_, kBytes);
    ::munmap(figures_, kFigureBytes);
  }

  static std::byte* pages(std::size_t bytes) {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
  }
  std::unique_ptr<Judge> worker() {
    return std::make_unique<Judge>(*loaded_.gateway, Zone(zone_),
                                   std::span(reinterpret_cast<CoreTraffic*>(figures_), kPlaces),
                                   ids_, clock_);
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
  std::byte* zone_;
  std::byte* figures_;
  std::size_t named_ = 0;
};

}  // namespace weir::nginx
