#include "engine/asks/asks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "algo/waiting_room.h"
#include "base/assert.h"
#include "base/if_memory.h"
#include "engine/asks/asks_pool.h"
#include "engine/asks/conclude.h"
#include "engine/asks/limit_notices.h"
#include "engine/asks/metering.h"
#include "engine/asks/settle.h"

namespace weir {
namespace {

// Whether items spend their costs or give them back.
enum class Sign : std::uint8_t { kSpend, kGiveBack };

Charge charge_of(const Round::Item& item, std::size_t limit, Sign sign = Sign::kSpend) {
  const std::int64_t asked = item.ask.cost;
  return {.key = item.hashes[limit],
          .quota = &item.limits[limit],
          .cost = sign == Sign::kSpend ? asked : -std::max<std::int64_t>(0, asked),
          .tag = item.tag(),
          .on_full = item.ask.rule == nullptr ? OnFull::kAllow : item.ask.rule->on_full};
}

void fill(KeptBatch& batch, const Round& round, Members items, Sign sign = Sign::kSpend) {
  for (const std::uint8_t index : items) {
    const Round::Item& item = round[index];
    for (std::size_t i = 0; i < item.limits.size(); ++i) {
      const Charge charge = charge_of(item, i, sign);
      batch.add(charge.key, *charge.quota, charge.cost, charge.tag, charge.on_full);
    }
  }
}

void take_wait(Round::Item& item) {
  if (item.ask.patience == Duration{0}) return;
  item.answer.wait = leave_room(item.limits.front(), item.ask.patience, item.answer.decision);
}

// If there are several limits, the answer is about the one that presses most.
void take_decision(Round::Item& item, std::span<const Decision> decisions) {
  if (item.limits.size() > 1) item.decisions.assign(decisions.begin(), decisions.end());
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (i > 0 && !presses_more(decisions[i], item.answer.decision)) continue;
    item.answer.decision = decisions[i];
    if (item.limits.size() > 1) item.answer.quota = item.limits[i];
  }
  take_wait(item);
}

void take_decisions(Round& round, Members items, const KeptBatch& batch, Mode mode) {
  auto rest = batch.decisions();
  for (const std::uint8_t index : items) {
    Round::Item& item = round[index];
    const auto said = rest.first(item.limits.size());
    rest = rest.subspan(said.size());
    // All places have admitted what is charged only now (plan.h), whatever was charged meanwhile.
    const bool was_admitted = mode == Mode::kWorld && item.answer.mode == mode;
    if (was_admitted && !std::ranges::all_of(said, &Decision::allowed)) continue;
    item.answer.mode = mode;
    take_decision(item, said);
    const bool is_one_of_all = round.operation() == Operation::kSpendAll;
    if (is_one_of_all && item.is_apart()) leave_units(item.ask, item.answer);
  }
}

}  // namespace

// Items by their indices.
class Asks::Group {
 public:
  void add(std::size_t index) { members_[size_++] = static_cast<std::uint8_t>(index); }
  operator Members() const { return Members(members_).first(size_); }

 private:
  std::array<std::uint8_t, kAsksMax> members_;
  std::size_t size_ = 0;
};

Asks::Asks(Engine& engine, BlockList& blocks, AsksPool* pool)
    : engine_(engine),
      blocks_(blocks),
      pool_(pool),
      round_(engine, pool == nullptr ? nullptr : &pool->hashes_,
             pool == nullptr ? DenialDoor::kHttp : pool->door_),
      trips_(engine, *this),
      holding_(engine, round_) {}

Asks::~Asks() = default;

void Asks::begin(Operation operation) {
  WEIR_ASSERT(!trips_.are_open());
  holding_.forget();
  round_.begin(operation);
}

Asks::Limits Asks::limits(std::size_t index) const {
  const Round::Item& item = round_[index];
  const bool is_counted = item.answer.cause == Answer::Cause::kCounted;
  if (!is_counted || item.decisions.size() != item.limits.size()) return {};
  return {.quotas = item.limits, .decisions = item.decisions};
}

// ---- the steps ----

void Asks::start(Instant now) {
  progress_ = Progress::kAnswered;
  is_metering_ = false;
  trips_.begin(now);
  next_step_ = 0;
  plan_.clear();
}

Asks::Progress Asks::decide(Instant now) {
  start(now);
  settle(round_, engine_, blocks_, now);
  if (!round_.is_plain()) {
    if (holding_.act(trips_, now)) return run(now);
    is_metering_ = !round_.learn_window_ends(engine_, now);
    if (is_metering_) {
      meter(round_, engine_, trips_, now);
      return run(now);
    }
  }
  decide_each_here(now);
  return finish(now);
}

// Most requests ask only this node's memory. They need no steps, and one charge needs no batch. In
// all or nothing, asks in shadow come last, and only look if the others are denied.
void Asks::decide_each_here(Instant now) {
  if (size() == 1 && round_[0].limits.size() == 1 && engine_.local().answers_at_once()) {
    Round::Item& item = round_[0];
    if (item.is_settled) return;
    item.answer.decision = engine_.local().decide_one(round_.operation(), charge_of(item, 0), now);
    return take_wait(item);
  }
  const bool is_joint = round_.operation() == Operation::kSpendAll && size() > 1;
  Group counted;
  Group in_shadow;
  for (std::size_t i = 0; i < size(); ++i) {
    if (round_[i].is_settled) continue;
    (is_joint && round_[i].is_shadow() ? in_shadow : counted).add(i);
  }
  if (!is_joint) return ask_each(counted, round_.operation(), now);
  decide_here(counted, round_.is_denied() ? Operation::kLook : Operation::kSpendAll, now);
  ask_each(in_shadow, round_.is_denied() ? Operation::kLook : Operation::kSpendEach, now);
}

Asks::Progress Asks::run(Instant now) {
  while (true) {
    if (trips_.are_open()) {
      keep_rules();
      round_.keep_texts();
      return progress_ = Progress::kWaits;
    }
    if (std::exchange(is_metering_, false)) {
      read_meters(round_, engine_, trips_);
      plan_ = plan(round_);
    }
    read_trips(now);
    const auto steps = plan_.steps();
    if (next_step_ == steps.size() || trips_.has_failed()) break;
    trips_.send_all([&] {
      do {
        ask_step(steps[next_step_++], now);
      } while (next_step_ < steps.size() && !steps[next_step_].awaits);
    });
  }
  next_step_ = plan_.steps().size();
  return finish(now);
}

Asks::Progress Asks::finish(Instant now) {
  progress_ = trips_.has_failed() ? Progress::kUnavailable : Progress::kAnswered;
  if (trips_.has_failed()) {
    engine_.traffic().record_store_error();
  } else {
    if (!round_.is_plain()) {
      give_back_credits(round_, engine_);
      if (engine_.notices != nullptr) engine_.notices->look(round_, now);
    }
    conclude(round_, engine_, blocks_, now);
  }
  return progress_;
}

// Keeps the rules that were in force when the asks were asked.
void Asks::keep_rules() {
  if (rules_ == nullptr && pool_ != nullptr) rules_ = pool_->rules();
}

// Without memory there is no answer. But stores still have the trips that are open, so these are
// waited for.
void Asks::answered(Instant now) {
  if (!has_memory_for([&] { run(now); })) {
    trips_.fail();
    progress_ = trips_.are_open() ? Progress::kWaits : Progress::kUnavailable;
  }
  if (progress_ == Progress::kWaits) return;
  if (listener_ != nullptr) return std::exchange(listener_, nullptr)->decided();
  if (is_abandoned_) pool_->give_back(*this);
}

void Asks::ask_step(const Step& step, Instant now) {
  const Members items = plan_.items(step);
  const Operation operation = step.yields && round_.is_denied() ? Operation::kLook : step.operation;
  switch (step.way) {
    case Step::Way::kEach: return ask_each(items, operation, now);
    case Step::Way::kTogether: return ask_together(step, operation, now);
    case Step::Way::kGiveBack: return give_back(items, now);
  }
}

void Asks::ask_together(const Step& step, Operation operation, Instant now) {
  if (engine_.fleet() != nullptr) trips_.make_room();  // before anything is charged
  if (step.mode == Mode::kLocal) has_charged_here_ = operation == Operation::kSpendAll;
  ask_store(plan_.items(step), step.mode, operation, now);
}

// Memory was charged first; it gets the units back if a store has denied the request.
void Asks::give_back(Members items, Instant now) {
  const bool are_charged =
      has_charged_here_ && std::ranges::all_of(items, [this](std::uint8_t index) {
        return round_[index].answer.allowed();
      });
  if (!are_charged || !round_.is_denied()) return;
  batch_.begin(Operation::kSpendEach);
  fill(batch_, round_, items, Sign::kGiveBack);
  decide_check(items, now);
}

// ---- asking ----

void Asks::ask_each(Members items, Operation operation, Instant now) {
  const auto joint = operation == Operation::kSpendEach ? Operation::kSpendAll : operation;
  for (unsigned left = round_.modes(); left != 0; left &= left - 1) {
    const auto mode = static_cast<Mode>(std::countr_zero(left));
    Group singles;
    for (const std::uint8_t index : items) {
      if (round_[index].mode != mode) continue;
      if (round_[index].limits.size() == 1) {
        singles.add(index);
      } else {
        ask_store({&index, 1}, mode, joint, now);
      }
    }
    ask_singles(singles, mode, operation, now);
  }
}

// A batch fails as a whole. So each item has its own batch if a part of a batch may fail alone. In
// mode leased, too, unless memory has units for all: items with units need not go to Redis together
// with items without.
void Asks::ask_singles(Members items, Mode mode, Operation operation, Instant now) {
  const bool is_leased = mode == Mode::kLeased;
  const bool is_spread = mode != Mode::kLocal && engine_.fleet_for(mode).is_spread();
  while (!items.empty()) {
    const Members batch = items.first(std::min(items.size(), Batch::kChargesMax));
    items = items.subspan(batch.size());
    if (is_leased && batch.size() > 1 && ask_at_hand(batch, operation, now)) continue;
    if (!is_leased && !is_spread) {
      ask_store(batch, mode, operation, now);
      continue;
    }
    for (const std::uint8_t& index : batch) ask_store({&index, 1}, mode, operation, now);
  }
}

void Asks::ask_store(Members items, Mode mode, Operation operation, Instant now) {
  if (mode == Mode::kLocal) return decide_here(items, operation, now);
  Trip& trip = filled_trip(items, mode, operation);
  Fleet& fleet = engine_.fleet_for(mode);
  const bool lends = mode == Mode::kLeased && round_[items.front()].has_slots();
  const bool may_hold = lends || (mode == Mode::kStrict && round_.may_hold());
  SharedHolds* const holds = may_hold ? fleet.holds(mode) : nullptr;
  if (holds == nullptr) return trips_.send(trip, fleet.store(mode), now);
  const bool is_look = round_.operation() == Operation::kLook;
  HoldOrder* const order = holding_.order();
  if (order == nullptr && !is_look) return trips_.send(trip, holds->store(), now);
  StoreThat store([&](Batch& batch, Instant then) {
    is_look ? holds->look(batch, trip.held(), then) : holds->reserve(batch, *order, then);
  });
  trips_.send(trip, store, now);
}

// Returns true if memory has decided all items.
bool Asks::ask_at_hand(Members items, Operation operation, Instant now) {
  Trip& trip = filled_trip(items, Mode::kLeased, operation);
  trips_.send(trip, engine_.fleet()->leases_at_hand(), now);
  if (trip.error() == StoreError::kNone) return true;
  trips_.drop_last();
  return false;
}

Trip& Asks::filled_trip(Members items, Mode mode, Operation operation) {
  Trip& trip = trips_.next(items, mode, operation);
  fill(trip, round_, items);
  return trip;
}

// Decides by this node's own counters; by its share, if they stand in for a store that has failed.
void Asks::decide_here(Members items, Operation operation, Instant now) {
  if (items.empty()) return;
  batch_.begin(operation);
  fill(batch_, round_, items);
  const Mode mode = round_[items.front()].mode;
  const Duration lead = engine_.wall_time(now) - now;
  if (mode != Mode::kLocal) batch_.stand_in(nodes_sharing(engine_, mode), lead);
  decide_check(items, now);
}

void Asks::decide_check(Members items, Instant now) {
  Store& store = round_.may_hold() ? *engine_.holds : engine_.local();
  if (batch_.decide(store, now)) {
    take_decisions(round_, items, batch_, Mode::kLocal);
  } else {
    trips_.fail();
  }
}

// ---- answers ----

void Asks::read_trips(Instant now) {
  for (const auto& trip : trips_.take()) {
    if (trip->error() == StoreError::kNone) {
      take_decisions(round_, trip->members(), *trip, trip->mode());
      if (round_.operation() == Operation::kLook) trip->tell_held(round_);
    } else {
      fall_back(trip->members(), trip->operation(), now);
    }
  }
}

// The store of these items has failed. Nothing stands in for it if a counter is to be freed: the
// client would believe it was freed, but the store would not know when it is back.
void Asks::fall_back(Members items, Operation operation, Instant now) {
  if (operation == Operation::kReset) {
    trips_.fail();
    return;
  }
  Group local;
  for (const std::uint8_t index : items) {
    const Rule* const rule = round_[index].ask.rule;
    Answer& answer = round_[index].answer;
    answer.mode = Mode::kLocal;
    answer.is_alone = true;
    const bool frees = round_[index].ask.cost < 0;
    if (!frees && (rule == nullptr || rule->on_store_failure == OnStoreFailure::kLocal)) {
      local.add(index);
      continue;
    }
    const bool allows = !frees && rule->on_store_failure == OnStoreFailure::kAllow;
    answer.cause = Answer::Cause::kStoreFailed;
    answer.decision = allows ? untouched(answer.quota) : refused(answer.quota);
    if (!allows && operation == Operation::kSpendAll) operation = Operation::kLook;
  }
  decide_here(local, operation, now);
}

}  // namespace weir
