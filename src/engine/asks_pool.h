// AsksPool: the asks of one door on one core, to be used again.
//
//   AsksPtr asks = pool.take(Operation::kSpendEach);    goes back when it is destroyed
//
// Asks that go back while they wait are decided to their end first.
//
// Thread rule: one core. Tested by asks_pool_test.cc and asks_modes_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "engine/asks.h"
#include "weir/key.h"

namespace weir {

struct ReturnAsks {
  void operator()(Asks* asks) const noexcept;
};
using AsksPtr = std::unique_ptr<Asks, ReturnAsks>;

// The asks of one door on one core. Outlives all that it has handed out.
class AsksPool {
 public:
  // Engine and blocks must outlive the pool.
  AsksPool(Engine& engine, BlockList& blocks, RuleSetPtr rules) : engine_(engine), blocks_(blocks) {
    use_rules(std::move(rules));
  }

  AsksPtr take(Operation operation);
  // As if `asks` went back before and were taken again. Null, or of another pool, is fine.
  void take_again(AsksPtr& asks, Operation operation);
  // Asks that are taken from now on refer to these rules, and keep them for as long as they
  // wait. Null: there are none.
  void use_rules(RuleSetPtr rules) {
    rules_ = rules != nullptr ? std::move(rules) : std::make_shared<const RuleSet>();
    hash_rules();
  }
  const RuleSetPtr& rules() const { return rules_; }

 private:
  friend class Asks;
  friend struct ReturnAsks;

  void give_back(Asks& asks) noexcept;
  void hash_rules();
  // What the engine makes of the rule's id; null if the rule is not of these.
  const KeyHash* hash_of(const Rule& rule);

  static constexpr std::size_t kSpareMax = 64;

  Engine& engine_;
  BlockList& blocks_;
  RuleSetPtr rules_;
  std::vector<KeyHash> rule_hashes_;        // in their order
  const KeyHasher* hashed_by_ = nullptr;    // and immutable
  std::vector<std::unique_ptr<Asks>> all_;  // also those whose answers nobody reads
  std::vector<Asks*> spare_;
};

}  // namespace weir
