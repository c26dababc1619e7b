#include "engine/asks/plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/testing/late_store.h"
#include "observe/traffic.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::kSpendEach: return "spend";
    case Operation::kSpendAll: return "spend all";
    case Operation::kLook: return "look";
    case Operation::kReset: return "reset";
    case Operation::kCharge: return "charge";
    case Operation::kDrain: return "drain";
  }
  return "?";
}

// "| " before a step that awaits earlier answers; "?" after a step that may only look.
std::string text_of(const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps()) {
    if (!text.empty()) text += step.awaits ? " | " : ", ";
    if (step.way == Step::Way::kGiveBack) {
      text += "give back";
    } else {
      text += name_of(step.operation);
      if (step.yields) text += "?";
      if (step.way == Step::Way::kTogether) text += " " + std::string(mode_name(step.mode));
    }
    for (const std::uint8_t item : plan.items(step)) text += " " + std::to_string(item);
  }
  return text;
}

Rule rule_of(std::string id, Mode mode, bool shadow = false) {
  Rule rule{.id = std::move(id), .quota = *Quota::make({.limit = 10, .window = 1min})};
  rule.mode = mode;
  rule.shadow = shadow;
  return rule;
}

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    engine_.join(fleet_, [] {});
  }

  std::string planned(Operation operation, const std::vector<Ask>& asks,
                      const std::vector<std::size_t>& settled = {}) {
    round_.begin(operation);
    for (const Ask& ask : asks) EXPECT_TRUE(round_.add(ask));
    for (const auto& item : round_.items()) item->is_settled = false;
    for (const std::size_t index : settled) round_[index].is_settled = true;
    return text_of(plan(round_));
  }

  const Rule local_ = rule_of("local", Mode::kLocal);
  const Rule strict_ = rule_of("strict", Mode::kStrict);
  const Rule leased_ = rule_of("leased", Mode::kLeased);
  const Rule async_ = rule_of("async", Mode::kAsync);
  const Rule shadow_ = rule_of("shadow", Mode::kStrict, true);

  std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, kNow);
  LateStore shared_{*memory_};
  TestFleet fleet_{shared_};
  KeyHasher hasher_{HashSecret{}};
  Traffic traffic_;
  Engine engine_{*memory_, hasher_, traffic_.add_core()};
  Round round_{engine_, nullptr, DenialDoor::kHttp};
};

TEST_F(PlanTest, EachByItselfIsOneStep) {
  const std::vector<Ask> asks{{.rule = &local_, .key = "a"}, {.rule = &strict_, .key = "a"}};
  EXPECT_EQ(planned(Operation::kSpendEach, asks), "spend 0 1");
  EXPECT_EQ(planned(Operation::kLook, asks), "look 0 1");
  EXPECT_EQ(planned(Operation::kReset, asks), "reset 0 1");
  EXPECT_EQ(planned(Operation::kCharge, asks), "charge 0 1");
}

TEST_F(PlanTest, WhatIsSettledIsNotAsked) {
  EXPECT_EQ(planned(Operation::kSpendEach, {{.rule = &local_}, {.rule = &local_}}, {0}), "spend 1");
  EXPECT_EQ(planned(Operation::kSpendAll, {{.rule = &local_}, {.rule = &local_}}, {0, 1}), "");
}

TEST_F(PlanTest, OfAllOrNothingMemoryIsFirstAndTheStrictestModeTakesTheRest) {
  EXPECT_EQ(planned(Operation::kSpendAll, {{.rule = &local_}, {.rule = &local_}}),
            "spend all? local 0 1");
  EXPECT_EQ(planned(Operation::kSpendAll, {{.rule = &async_}, {.rule = &leased_}}),
            "spend all? leased 0 1");
  EXPECT_EQ(
      planned(Operation::kSpendAll, {{.rule = &strict_}, {.rule = &local_}, {.rule = &async_}}),
      "spend all? local 1, spend all? strict 0 2 | give back 1");
}

TEST_F(PlanTest, ShadowAndWhatCannotBeUndoneComeLast) {
  EXPECT_EQ(
      planned(Operation::kSpendAll, {{.rule = &local_}, {.rule = &strict_}, {.rule = &shadow_}}),
      "spend all? local 0, spend all? strict 1 | give back 0 | spend? 2");
  EXPECT_EQ(planned(Operation::kSpendAll, {{.rule = &local_, .cost = -1}, {.rule = &strict_}}),
            "spend all? strict 1 | spend? 0");
  EXPECT_EQ(planned(Operation::kSpendAll, {{.rule = &local_, .cost = -1}, {.rule = &local_}}),
            "spend all? local 0 1")
      << "memory gives back as it takes";
}

TEST_F(PlanTest, WhatCountsAlwaysIsChargedBeforeAllOthers) {
  const Ask always{.rule = &strict_, .counting = Ask::Counting::kAlways};
  const Ask drain{.rule = &local_, .counting = Ask::Counting::kOrWhatIsLeft};
  const Ask nothing{.rule = &local_, .counting = Ask::Counting::kNothing};
  EXPECT_EQ(planned(Operation::kSpendAll, {{.rule = &local_}, nothing, drain, always}),
            "charge 3, drain 2, look 1 | spend all? local 0");
  EXPECT_EQ(planned(Operation::kSpendAll, {{.rule = &strict_}, always}),
            "charge 1 | spend all? strict 0");
  EXPECT_EQ(planned(Operation::kSpendEach, {{.rule = &local_}, always}), "charge 1, spend 0")
      << "nobody waits for it";
}

}  // namespace
}  // namespace weir
