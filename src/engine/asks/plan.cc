#include "engine/asks/plan.h"

#include <algorithm>
#include <bit>

namespace weir {
namespace {

using Item = Round::Item;

// Calls add_item() for each item that must be counted and for which `is_meant` is true.
template <typename IsMeant>
void add_items(Plan& plan, const Round& round, IsMeant is_meant) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (!round[i].is_settled && is_meant(round[i])) plan.add_item(i);
  }
}

// Adds items that stand apart: the others need not wait for their answers. True if there are any.
bool add_apart(Plan& plan, const Round& round) {
  bool any = false;
  for (const Operation own : {Operation::kCharge, Operation::kDrain, Operation::kLook}) {
    add_items(plan, round, [own](const Item& item) { return item.own == own; });
    any = plan.add_step({.operation = own}) || any;
  }
  return any;
}

// Giving back is always allowed, and memory could not undo it if a store denies the others.
bool is_joint(const Item& item, const Round& round) {
  const bool cannot_be_undone = item.ask.cost < 0 && std::popcount(round.modes()) > 1;
  return !item.is_apart() && !item.is_shadow() && !cannot_be_undone;
}

// Whether a store of this place decides the item.
bool is_of_place(const Item& item) {
  return item.mode != Mode::kLocal && item.mode != Mode::kWorld;
}

void add_all_or_nothing(Plan& plan, const Round& round, bool has_apart) {
  add_items(plan, round, [&round](const Item& item) {
    return is_joint(item, round) && item.mode == Mode::kLocal;
  });
  const bool is_here = plan.add_step({.way = Step::Way::kTogether,
                                      .operation = Operation::kSpendAll,
                                      .awaits = has_apart,
                                      .yields = true});
  const Step here = is_here ? plan.steps().back() : Step{};
  const bool has_place = std::ranges::any_of(round.items(), [&round](const auto& item) {
    return !item->is_settled && is_joint(*item, round) && is_of_place(*item);
  });
  add_items(plan, round, [&round](const Item& item) {
    return is_joint(item, round) && item.mode == Mode::kWorld;
  });
  const bool is_everywhere =
      plan.add_step({.way = Step::Way::kTogether,
                     .operation = has_place ? Operation::kLook : Operation::kSpendAll,
                     .mode = Mode::kWorld,
                     .awaits = has_apart && !is_here,
                     .yields = true});
  const Step everywhere = is_everywhere ? plan.steps().back() : Step{};
  Mode strictest = Mode::kAsync;
  add_items(plan, round, [&](const Item& item) {
    const bool is_shared = is_joint(item, round) && is_of_place(item);
    if (is_shared) strictest = std::max(strictest, item.mode);
    return is_shared;
  });
  const bool is_shared = plan.add_step({.way = Step::Way::kTogether,
                                        .operation = Operation::kSpendAll,
                                        .mode = strictest,
                                        .awaits = is_everywhere || (has_apart && !is_here),
                                        .yields = true});
  if (is_everywhere && is_shared) {
    plan.add_step_of(everywhere, {.way = Step::Way::kTogether,
                                  .operation = Operation::kCharge,
                                  .mode = Mode::kWorld,
                                  .awaits = true,
                                  .yields = true});
  }
  if (is_here && (is_everywhere || is_shared)) {
    plan.add_step_of(here, {.way = Step::Way::kGiveBack, .awaits = true});
  }
  add_items(plan, round,
            [&round](const Item& item) { return !item.is_apart() && !is_joint(item, round); });
  plan.add_step({.awaits = true, .yields = true});
}

}  // namespace

bool Plan::add_step(Step step) {
  if (items_used_ == items_size_) return false;
  step.first = static_cast<std::uint16_t>(items_used_);
  step.size = static_cast<std::uint16_t>(items_size_ - items_used_);
  items_used_ = items_size_;
  steps_[size_++] = step;
  return true;
}

void Plan::add_step_of(const Step& earlier, Step step) {
  step.first = earlier.first;
  step.size = earlier.size;
  steps_[size_++] = step;
}

Plan plan(const Round& round) {
  Plan plan;
  const bool has_apart = add_apart(plan, round);
  if (round.operation() == Operation::kSpendAll) {
    add_all_or_nothing(plan, round, has_apart);
  } else {
    add_items(plan, round, [](const Item& item) { return !item.is_apart(); });
    plan.add_step({.operation = round.operation()});
  }
  return plan;
}

}  // namespace weir
