// Asked: a batch of charges and its answer, for tests of stores.
//
// Thread rule: one thread at a time. Tested by src/store/redis/strict/redis_store_test.cc, which
// uses it.

#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "weir/store.h"

namespace weir::testing {

// The charges' quotas must outlive it.
struct Asked {
  explicit Asked(std::vector<Charge> of, Operation operation = Operation::kSpendEach)
      : charges(std::move(of)), decisions(charges.size()) {
    batch.operation = operation;
    batch.charges = charges;
    batch.decisions = decisions;
    batch.context = this;
    batch.on_done = [](Batch& done) noexcept {
      auto& asked = *static_cast<Asked*>(done.context);
      ++asked.answers;
      if (asked.then) asked.then();
    };
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  bool is_answered() const { return answers == 1; }
  bool has_failed() const { return answers == 1 && batch.error != StoreError::kNone; }
  bool is_allowed() const {
    return answers == 1 && batch.error == StoreError::kNone &&
           std::ranges::all_of(decisions, &Decision::allowed);
  }

  std::vector<Charge> charges;
  std::vector<Decision> decisions;
  Batch batch;
  int answers = 0;
  std::function<void()> then;
};

// Asks a store that answers at once.
inline std::vector<Decision> ask(Store& store, Operation operation, std::vector<Charge> charges,
                                 Instant now) {
  Asked asked(std::move(charges), operation);
  store.decide(asked.batch, now);
  return asked.decisions;
}
inline Decision ask(Store& store, Operation operation, const Charge& charge, Instant now) {
  Decision decision;
  Batch batch;
  batch.operation = operation;
  batch.charges = {&charge, 1};
  batch.decisions = {&decision, 1};
  batch.on_done = [](Batch&) noexcept {};
  store.decide(batch, now);
  return decision;
}
inline Decision spend(Store& store, const Charge& charge, Instant now) {
  return ask(store, Operation::kSpendEach, charge, now);
}

}  // namespace weir::testing
