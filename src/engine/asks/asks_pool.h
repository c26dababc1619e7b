// AsksPool: the asks of one door on one core, which are used again.
//
//   AsksPtr asks = pool.take(Operation::kSpendEach);    goes back when it is destroyed
//
// If asks go back while they wait, they are first decided to their end.
//
// Thread rule: one core. Tested by asks_pool_test.cc and asks_modes_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "engine/asks/asks.h"
#include "engine/asks/rule_hashes.h"

namespace weir {

struct ReturnAsks {
  void operator()(Asks* asks) const noexcept;
};
using AsksPtr = std::unique_ptr<Asks, ReturnAsks>;

// The pool outlives all asks that it has handed out.
class AsksPool {
 public:
  // Engine and blocks must outlive the pool.
  AsksPool(Engine& engine, BlockList& blocks, RuleSetPtr rules, DenialDoor door)
      : engine_(engine), blocks_(blocks), hashes_(std::move(rules)), door_(door) {}

  AsksPtr take(Operation operation);
  // As if `asks` went back, and new ones were taken. They may be null, or of another pool.
  void take_again(AsksPtr& asks, Operation operation);
  // Asks taken from now on use these rules, and keep them while they wait. Null: there are no
  // rules.
  void use_rules(RuleSetPtr rules) { hashes_.use(std::move(rules)); }
  const RuleSetPtr& rules() const { return hashes_.rules(); }

 private:
  friend class Asks;
  friend struct ReturnAsks;

  void give_back(Asks& asks) noexcept;

  static constexpr std::size_t kSpareMax = 64;

  Engine& engine_;
  BlockList& blocks_;
  RuleHashes hashes_;
  const DenialDoor door_;
  std::vector<std::unique_ptr<Asks>> all_;  // also asks whose answers nobody reads
  std::vector<Asks*> spare_;
};

}  // namespace weir
