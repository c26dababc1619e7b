// AsksFixture: asks over a memory store, for tests of rules.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/asks/asks.h"
#include "observe/traffic.h"
#include "weir/memory_store.h"

namespace weir {

class AsksFixture : public ::testing::Test {
 protected:
  static constexpr Instant kStart = instant_from_epoch_us(1'700'006'400'000'000);

  // The answers as text: + allowed, - denied, with the units left.
  std::string decide(Operation operation, std::initializer_list<Ask> asks) {
    asks_.begin(operation);
    for (const Ask& ask : asks) EXPECT_TRUE(asks_.add(ask));
    EXPECT_EQ(asks_.decide(now_), Asks::Progress::kAnswered);
    std::string text;
    for (std::size_t i = 0; i < asks_.size(); ++i) {
      const Answer& answer = asks_.answer(i);
      text += (answer.allowed() ? "+" : "-") + std::to_string(answer.decision.remaining) + " ";
    }
    return text;
  }
  std::string hit(const Rule& rule, std::string_view key = "a", std::int64_t cost = 1) {
    return decide(Operation::kSpendEach, {{.rule = &rule, .key = key, .cost = cost}});
  }

  Instant now_ = kStart;
  std::unique_ptr<MemoryStore> store_ = make_memory_store({.max_keys = 1024}, kStart);
  KeyHasher hasher_{HashSecret{}};
  Traffic traffic_;
  Engine engine_{*store_, hasher_, traffic_.add_core()};
  BlockList blocks_{hasher_, 64};
  Asks asks_{engine_, blocks_};
};

}  // namespace weir
