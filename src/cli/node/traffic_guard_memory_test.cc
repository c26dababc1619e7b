// If memory ends while unusual traffic is over, the rule gets its own limits back all the same.

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <new>

#include "base/allocation_testing.h"
#include "cli/node/traffic_guard.h"

namespace weir {
namespace {

constexpr RuleNumber kRule = 3;
constexpr std::size_t kEnough = 1'000'000;  // allocations

// Seconds of a node, one after the other. Returns false if some had no memory.
class Seconds {
 public:
  explicit Seconds(TrafficGuard& guard) : guard_(guard) {}

  bool pass(int seconds, std::uint64_t requests, std::size_t spared = kEnough) {
    bool has_memory = true;
    for (int i = 0; i < seconds; ++i) {
      auto second = std::make_shared<TrafficSecond>();
      second->rules = {{.rule = kRule, .counts = {.requests = requests}}};
      snapshot_.sum.push(std::move(second));
      snapshot_.newest += 1;
      snapshot_.known_seconds = TrafficWindow::kSeconds;
      has_memory = look(spared) && has_memory;
    }
    return has_memory;
  }

 private:
  bool look(std::size_t spared) {
    const NoMemory none({.spared = spared});
    try {
      guard_.look(snapshot_);
    } catch (const std::bad_alloc&) {
    }
    return !none.has_failed();
  }

  TrafficGuard& guard_;
  TrafficSnapshot snapshot_{.newest = 1'763'847'300};
};

TEST(TrafficGuardMemory, NoRuleKeepsTheLimitsOfASurgeThatIsOver) {
  spdlog::set_level(spdlog::level::off);
  const Traffic traffic;
  const RecentTraffic recent(traffic, Instant{});
  bool has_memory = false;
  for (std::size_t spared = 0; !has_memory; ++spared) {
    ASSERT_LT(spared, 1'000u);
    TrafficGuard guard(
        {.watch = {.learn_s = 60}}, recent, [](RuleNumber) { return "login"; },
        [](RuleNumber, std::string_view) { return KeyReport(); });
    Seconds seconds(guard);
    ASSERT_TRUE(seconds.pass(300, 100));
    ASSERT_TRUE(seconds.pass(10, 1'000));
    ASSERT_TRUE(guard.unusual_rules().holds(kRule));
    has_memory = seconds.pass(60, 100, spared);
    seconds.pass(1, 100);
    EXPECT_FALSE(guard.unusual_rules().holds(kRule)) << spared;
  }
}

}  // namespace
}  // namespace weir
