// plan(): chooses the steps in which stores are asked for a round. Pure: no store, no clock.
//
// Each item is decided by itself (kSpendEach and the rest), or all or nothing (kSpendAll). In the
// latter an item in shadow denies nothing, and is not charged if another item denies. First come
// charges that always count, and looks, whatever the others say. If one of these denies, nothing
// else is charged. Three rules of all or nothing, the first in memory, the second in a Redis 5 ms
// away, the third in shadow in that Redis:
//
//    0 ms   together 0, local    charged in memory
//           together 1, strict   leaves for Redis; only looks, if memory has denied
//   10 ms   give back 0          if Redis has denied
//           each 2, strict       its own trip; only looks, if anything has denied
//
// The store of all places answers at once, but can take a charge back only with a trip to another
// place. Next to other stores it only looks first, and is charged once they have admitted the
// request. Charges that came to its counter meanwhile may exceed the limit, as between two syncs.
//
// Thread rule: pure. Tested by plan_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/asks/round.h"

namespace weir {

using Members = std::span<const std::uint8_t>;  // indices of items in a round

struct Step {
  enum class Way : std::uint8_t {
    kEach,      // each item by itself, in its own mode
    kTogether,  // all of them in one batch, in the step's mode
    kGiveBack,  // gives back what an earlier step charged in memory, if the request is denied
  };
  Way way = Way::kEach;
  Operation operation = Operation::kSpendEach;
  Mode mode = Mode::kLocal;
  bool awaits = false;  // begins when all steps before it have their answers
  bool yields = false;  // only looks if the request is denied by then
  std::uint16_t first = 0;
  std::uint16_t size = 0;
};

class Plan {
 public:
  static constexpr std::size_t kStepsMax = 9;

  void clear() { size_ = items_size_ = items_used_ = 0; }

  void add_item(std::size_t item) { items_[items_size_++] = static_cast<std::uint8_t>(item); }
  // Adds a step for the items added since the last step. False if there are none.
  bool add_step(Step step);
  // Adds a step for the items of an earlier step.
  void add_step_of(const Step& earlier, Step step);

  std::span<const Step> steps() const { return std::span(steps_).first(size_); }
  Members items(const Step& step) const { return Members(items_).subspan(step.first, step.size); }

 private:
  static_assert(Round::kItemsMax - 1 <= UINT8_MAX);
  std::array<std::uint8_t, Round::kItemsMax> items_;
  std::size_t items_size_ = 0;
  std::size_t items_used_ = 0;  // items that have a step
  std::array<Step, kStepsMax> steps_;
  std::size_t size_ = 0;
};

// REQUIRES: the round is settled
Plan plan(const Round& round);

}  // namespace weir
