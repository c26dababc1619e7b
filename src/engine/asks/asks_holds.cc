// Asks reserves and commits units for work under way, on this node or in a shared store.

#include <array>
#include <optional>

#include "base/assert.h"
#include "engine/asks/asks.h"

namespace weir {

Asks::Progress Asks::reserve(Duration length, Instant now) {
  WEIR_ASSERT(size() == 1);
  const Round::Item& item = round_[0];
  const Rule& rule = *item.ask.rule;
  hold_order_ = {
      .token = engine_.holds->fresh_token(),
      .length = length,
      .holds_max = item.is_shadow() ? std::int64_t{HoldingStore::kHoldsMax} : rule.holds_max,
      .due = rule.lapse == Rule::Lapse::kRefund ? 0 : item.ask.cost,
      .is_always = item.is_shadow()};
  is_reserving_ = true;
  decide(now);
  is_reserving_ = false;
  return progress_;
}

Asks::Hold Asks::hold(Duration length, Instant now) const {
  const Round::Item& item = round_[0];
  if (item.answer.mode != Mode::kStrict) return hold_here(length, now);
  if (hold_order_.outcome != HoldOrder::Outcome::kHeld) return {.wait = hold_order_.wait};
  SharedToken token{.hold = hold_order_.token,
                    .end = hold_order_.end,
                    .tag = item.tag(),
                    .size = item.limits.size(),
                    .keys = item.hashes};
  return {.token = token.to_string(engine_.hasher())};
}

Asks::Hold Asks::hold_here(Duration length, Instant now) const {
  const Round::Item& item = round_[0];
  const bool is_counted = item.answer.cause == Answer::Cause::kCounted;
  std::array<Charge, Rule::kLimitsMax> charges;
  const std::size_t size = is_counted ? item.limits.size() : 0;
  for (std::size_t i = 0; i < size; ++i) {
    charges[i] = {
        .key = item.hashes[i], .quota = &item.limits[i], .cost = item.ask.cost, .tag = item.tag()};
  }
  const auto token = engine_.holds->hold(
      std::span(charges).first(size),
      {.length = length,
       .estimate = item.ask.cost,
       .holds_max = hold_order_.holds_max,
       .is_charged = !item.answer.over,
       .is_free = hold_order_.due == 0,
       .room = item.is_shadow() ? HoldingStore::kHoldsMax / 2 : HoldingStore::kHoldsMax},
      now);
  if (token) return {.token = token->to_string()};
  return {.wait = engine_.holds->held(item.hashes.front(), now).lapses_after};
}

Asks::Progress Asks::commit(std::string_view token, std::int64_t cost, HoldingStore::Work work,
                            Instant now) {
  WEIR_ASSERT(empty());
  start(now);
  commit_order_ = {.cost = cost, .work = work, .outcome = HoldingStore::Commit::kUnknown};
  if (const auto here = HoldToken::parse(token)) {
    if (engine_.holds != nullptr) {
      commit_order_.outcome = engine_.holds->commit(*here, cost, work, now);
    }
    return progress_;
  }
  if (engine_.fleet() == nullptr) return progress_;
  if (SharedHolds* const holds = engine_.fleet()->holds()) {
    const auto shared = SharedToken::parse(token, engine_.hasher());
    return shared ? commit_there(*holds, *shared, now) : progress_;
  }
  is_unavailable_ = true;
  return finish(now);
}

HoldingStore::Held Asks::held(std::size_t index, Instant now) const {
  if (round_[index].answer.mode == Mode::kStrict) return round_[index].held;
  if (engine_.holds == nullptr) return {};
  return engine_.holds->held(round_[index].hashes.front(), now);
}

}  // namespace weir
