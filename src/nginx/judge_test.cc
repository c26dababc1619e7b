#include "nginx/judge.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "nginx/gateway_testing.h"
#include "weir/clock.h"

namespace weir::nginx {
namespace {

class HandClock final : public Clock {
 public:
  Instant now() const noexcept override { return time; }
  Instant time = Instant(std::chrono::hours(24 * 365 * 55));
};

constexpr std::string_view kRules = R"(rules:
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
class JudgeTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = Zone::kBytesMin;
  static constexpr std::size_t kPlaces = 4;
  static constexpr std::size_t kFigureBytes = kPlaces * sizeof(CoreTraffic);

  JudgeTest() : zone_(pages(kBytes)), figures_(pages(kFigureBytes)) {
    Zone::format({zone_, kBytes});
    named_ = std::get<std::size_t>(loaded_.gateway->choose(std::array{std::string_view("named")}));
  }
  ~JudgeTest() override {
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
                       std::string_view client = "192.0.2.1") {
    Question question{.described = judge.scratch()};
    question.described.request = {.method = "POST", .client = IpAddress::parse(client)};
    set_target(uri, "example.com", question.described);
    return judge.judge(question);
  }

  HandClock clock_;
  RuleIds ids_;
  LoadedText loaded_{kRules, ids_};
  std::byte* zone_;
  std::byte* figures_;
  std::size_t named_ = 0;
};

TEST_F(JudgeTest, WorkersCountTogether) {
  const auto one = worker();
  const auto other = worker();
  EXPECT_EQ(ask(*one).answer->decision.remaining, 1);
  EXPECT_EQ(ask(*other).answer->decision.remaining, 0);
  EXPECT_TRUE(ask(*one).is_denied());
  EXPECT_FALSE(ask(*one, "/login", "192.0.2.2").is_denied());
}

TEST_F(JudgeTest, CountersAndBlocksOutliveTheWorkers) {
  {
    const auto former = worker();
    ask(*former);
    ask(*former);
    EXPECT_TRUE(ask(*former).is_denied());
  }
  const auto later = worker();
  const Judgement judgement = ask(*later);
  EXPECT_TRUE(judgement.is_denied());
  EXPECT_EQ(judgement.answer->cause, Answer::Cause::kBlocked);
}

TEST_F(JudgeTest, ABlockByOneWorkerHoldsForAll) {
  const auto one = worker();
  const auto other = worker();
  for (int i = 0; i < 3; ++i) ask(*one);
  clock_.time += std::chrono::minutes(2);  // the window is over, the block is not
  const Judgement judgement = ask(*other);
  EXPECT_EQ(judgement.answer->cause, Answer::Cause::kBlocked);
  EXPECT_EQ(judgement.answer->decision.retry_after, std::chrono::minutes(3));
}

TEST_F(JudgeTest, WhereNoRuleAppliesNothingIsSaid) {
  const auto judge = worker();
  EXPECT_EQ(ask(*judge, "/elsewhere").kind, Judgement::Kind::kNothing);
}

TEST_F(JudgeTest, ThePlaceMaySayKeyAndCost) {
  const auto judge = worker();
  const auto ask_for = [&](std::string_view key, std::string_view cost) {
    Question question{.described = judge->scratch(), .rules = named_, .key = key, .cost = cost};
    question.described.request = {.method = "GET"};
    set_target("/", "example.com", question.described);
    return judge->judge(question);
  };
  EXPECT_EQ(ask_for("ada", "2").answer->decision.remaining, 1);
  EXPECT_TRUE(ask_for("ada", "2").is_denied());
  EXPECT_EQ(ask_for("bob", "1").answer->decision.remaining, 2);
  EXPECT_EQ(ask_for("bob", "-5").answer->decision.remaining, 1) << "nothing is given back";
  EXPECT_EQ(ask_for("ada", "1").key_hash, ask_for("ada", "1").key_hash);
  EXPECT_NE(ask_for("ada", "1").key_hash, ask_for("bob", "1").key_hash);
}

TEST_F(JudgeTest, FiguresAreThoseOfAllWorkersEver) {
  auto one = worker();
  const auto other = worker();
  ask(*one);
  ask(*other);
  one.reset();
  one = worker();
  ask(*one);
  EXPECT_EQ(one->traffic().summary(clock_.time).total_allowed(), 2u);
  EXPECT_EQ(one->traffic().summary(clock_.time).total_denied(), 1u);
}

}  // namespace
}  // namespace weir::nginx
