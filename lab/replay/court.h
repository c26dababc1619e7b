// Court: rules at work, as on one node that counts in its own memory.
//
// Thread rule: one thread. Tested by tests/lab/replay_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/asks/asks.h"
#include "engine/asks/asks_pool.h"
#include "engine/block_list.h"
#include "engine/engine.h"
#include "observe/traffic.h"
#include "rules/rule_set.h"
#include "weir/key.h"
#include "weir/memory_store.h"

namespace weir::lab {

class Court {
 public:
  static constexpr std::size_t kKeysMax = std::size_t{1} << 20;

  Court(RuleSetPtr rules, Instant start)
      : store_(make_memory_store({.max_keys = kKeysMax}, start)),
        pool_(engine_, blocks_, std::move(rules), DenialDoor::kNginx) {}
  Court(const Court&) = delete;
  Court& operator=(const Court&) = delete;

  const RuleSet& rules() const { return *pool_.rules(); }
  std::uint64_t evictions() const { return store_->stats().evictions; }

  // The asks of a request: all are charged, or none.
  Asks& begin() {
    pool_.take_again(asks_, Operation::kSpendAll);
    return *asks_;
  }
  Asks& asks() { return *asks_; }

  // Charges what a request owes that was looked at when it came.
  void charge(const Ask& looked, std::int64_t cost, Instant now) {
    const AsksPtr due = pool_.take(Operation::kCharge);
    Ask ask = looked;
    ask.counting = Ask::Counting::kAsTheRuleSays;
    ask.under_way = 0;
    ask.cost = cost;
    due->add(ask);
    due->decide(now);
  }

 private:
  const KeyHasher hasher_{HashSecret{}};
  const std::unique_ptr<MemoryStore> store_;
  Traffic traffic_;
  Engine engine_{*store_, hasher_, traffic_.add_core()};
  BlockList blocks_{hasher_};
  AsksPool pool_;
  AsksPtr asks_;
};

}  // namespace weir::lab
