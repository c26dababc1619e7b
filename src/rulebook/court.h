// Court: rules as one node would apply them that counts in its own memory. made_exact() makes exact
// rules, to find what others misjudge.
//
// Thread rule: one thread. Tested by tests/lab/replay_test.py and src/rulebook/dry_run_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/asks/asks.h"
#include "engine/asks/asks_pool.h"
#include "engine/block_list.h"
#include "engine/engine.h"
#include "observe/traffic.h"
#include "rules/rule_set.h"
#include "weir/key.h"
#include "weir/memory_store.h"

namespace weir {

class Court {
 public:
  // Requests are not earlier than `start`.
  Court(RuleSetPtr rules, const MemoryStoreOptions& memory, Instant start)
      : store_(make_memory_store(memory, start)),
        pool_(engine_, blocks_, std::move(rules), DenialDoor::kNginx) {}
  Court(const Court&) = delete;
  Court& operator=(const Court&) = delete;

  const RuleSet& rules() const { return *pool_.rules(); }
  std::uint64_t evictions() const { return store_->stats().evictions; }

  // Begins the asks of a request: all are charged, or none.
  Asks& begin() {
    pool_.take_again(asks_, Operation::kSpendAll);
    return *asks_;
  }
  Asks& asks() { return *asks_; }

  // Charges a request for which an ask only looked when it came.
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

// The rule with an exact log instead of each of its algorithms.
inline Rule made_exact(Rule rule) {
  const auto change = [](Quota& quota) {
    quota = *Quota::make(
        {.algorithm = Algorithm::kSlidingLog, .limit = quota.limit(), .window = quota.window()});
  };
  const auto change_all = [&](std::vector<Quota>& quotas) {
    std::ranges::for_each(quotas, change);
  };
  rule.is_proportional = false;  // it denies more than an exact log
  change(rule.quota);
  change_all(rule.limits);
  for (auto& [name, quotas] : rule.overrides) change_all(quotas);
  for (auto& [name, quotas] : rule.tiers) change_all(quotas);
  return rule;
}

}  // namespace weir
