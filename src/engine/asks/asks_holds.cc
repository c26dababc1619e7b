// Asks reserves and commits units for work under way, and acquires and releases slots, on this node
// or in a shared store.

#include <array>
#include <optional>

#include "base/assert.h"
#include "engine/asks/asks.h"
#include "engine/asks/settle.h"

namespace weir {
namespace {

std::size_t room_of(const Round::Item& item) {
  return item.is_shadow() ? HoldingStore::kHoldsMax / 2 : HoldingStore::kHoldsMax;
}

}  // namespace

Asks::Progress Asks::reserve(Duration length, Instant now) {
  WEIR_ASSERT(size() == 1);
  const Round::Item& item = round_[0];
  const Rule& rule = *item.ask.rule;
  hold_order_ = {
      .token = engine_.holds->fresh_token(),
      .length = length,
      .holds_max = item.is_shadow() ? std::int64_t{HoldingStore::kHoldsMax} : rule.holds_max,
      .due = rule.has_slots() || rule.lapse == Rule::Lapse::kRefund ? 0 : item.ask.cost,
      .is_slot = rule.has_slots(),
      .is_always = item.is_shadow()};
  if (rule.has_slots() && item.mode == Mode::kLocal) return acquire_here(now);
  is_reserving_ = true;
  decide(now);
  is_reserving_ = false;
  return progress_;
}

Asks::Hold Asks::hold(Duration length, Instant now) const {
  const Round::Item& item = round_[0];
  const bool is_lent = item.answer.mode == Mode::kLeased;
  if (item.answer.mode != Mode::kStrict && !is_lent) return hold_here(length, now);
  if (hold_order_.outcome != HoldOrder::Outcome::kHeld) return {.wait = hold_order_.wait};
  SharedToken token{.hold = hold_order_.token,
                    .end = hold_order_.end,
                    .tag = item.tag(),
                    .size = item.limits.size(),
                    .keys = item.hashes};
  if (is_lent) {
    token.keys[1] = hold_order_.lender;
    token.size = 2;
  }
  const auto kind = is_lent               ? SharedToken::Kind::kLentSlot
                    : hold_order_.is_slot ? SharedToken::Kind::kSlot
                                          : SharedToken::Kind::kHold;
  Hold hold{.token = token.to_string(kind, engine_.hasher())};
  if (is_lent) hold.here = hold_order_.token;
  return hold;
}

// Counts and holds in one step, so that no other core can come in between.
Asks::Progress Asks::acquire_here(Instant now) {
  using Outcome = HoldOrder::Outcome;
  start(now);
  settle(round_, engine_, blocks_, now);
  Round::Item& item = round_[0];
  if (item.is_settled) return finish(now);
  const Charge charge{.key = item.hashes.front(), .quota = &item.limits.front()};
  const auto [decision, token] =
      engine_.holds->acquire(charge, {.length = hold_order_.length, .room = room_of(item)}, now);
  item.answer.decision = decision;
  if (token) hold_order_.token = *token;
  hold_order_.outcome = token                ? Outcome::kHeld
                        : decision.allowed() ? Outcome::kTooMany
                                             : Outcome::kDenied;
  return finish(now);
}

Asks::Hold Asks::hold_here(Duration length, Instant now) const {
  const Round::Item& item = round_[0];
  if (hold_order_.outcome == HoldOrder::Outcome::kHeld) {
    return {.token = hold_order_.token.to_string(), .here = hold_order_.token};
  }
  const bool is_counted = item.answer.cause == Answer::Cause::kCounted;
  std::array<Charge, Rule::kLimitsMax> charges;
  const std::size_t size = is_counted ? item.limits.size() : 0;
  for (std::size_t i = 0; i < size; ++i) {
    charges[i] = {
        .key = item.hashes[i], .quota = &item.limits[i], .cost = item.ask.cost, .tag = item.tag()};
  }
  const bool has_room = hold_order_.outcome != HoldOrder::Outcome::kTooMany;
  const HoldTerms terms{.length = length,
                        .estimate = item.ask.cost,
                        .holds_max = hold_order_.holds_max,
                        .is_charged = !item.answer.over && !hold_order_.is_slot,
                        .is_free = hold_order_.due == 0,
                        .is_slot = hold_order_.is_slot,
                        .room = room_of(item)};
  const auto token =
      has_room ? engine_.holds->hold(std::span(charges).first(size), terms, now) : std::nullopt;
  if (token) return {.token = token->to_string(), .here = token};
  return {.wait = engine_.holds->held(item.hashes.front(), now).lapses_after};
}

Asks::Progress Asks::commit(std::string_view token, std::int64_t cost, HoldingStore::Work work,
                            Instant now) {
  commit_order_ = {.cost = cost, .work = work};
  return end_hold(token, SharedToken::Kind::kHold, now);
}

Asks::Progress Asks::release(std::string_view token, Instant now) {
  commit_order_ = {};
  return end_hold(token, SharedToken::Kind::kSlot, now);
}

HoldingStore::Commit Asks::end_here(const HoldToken& token, SharedToken::Kind kind, Instant now) {
  using Commit = HoldingStore::Commit;
  if (engine_.holds == nullptr) return Commit::kUnknown;
  if (kind == SharedToken::Kind::kHold) {
    return engine_.holds->commit(token, commit_order_.cost, commit_order_.work, now);
  }
  return engine_.holds->release(token, now) ? Commit::kCharged : Commit::kUnknown;
}

Asks::Progress Asks::end_hold(std::string_view text, SharedToken::Kind kind, Instant now) {
  WEIR_ASSERT(empty());
  start(now);
  commit_order_.outcome = HoldingStore::Commit::kUnknown;
  if (const auto here = HoldToken::parse(text)) {
    commit_order_.outcome = end_here(*here, kind, now);
    return progress_;
  }
  if (engine_.fleet() == nullptr) return progress_;
  if (SharedHolds* const holds = engine_.fleet()->holds(Mode::kStrict)) {
    const auto shared = SharedToken::parse(text, kind, engine_.hasher());
    if (shared) return commit_there(*holds, *shared, now);
    return kind == SharedToken::Kind::kSlot ? release_lent(text, now) : progress_;
  }
  is_unavailable_ = true;
  return finish(now);
}

Asks::Progress Asks::release_lent(std::string_view text, Instant now) {
  SharedHolds* const slots = engine_.fleet()->holds(Mode::kLeased);
  const auto token = SharedToken::parse(text, SharedToken::Kind::kLentSlot, engine_.hasher());
  if (slots == nullptr || !token || token->size != 2) return progress_;
  commit_order_.lender = token->keys[1];
  return commit_there(*slots, *token, now);
}

HoldingStore::Held Asks::held(std::size_t index, Instant now) const {
  if (round_[index].answer.mode != Mode::kLocal) return round_[index].held;
  if (engine_.holds == nullptr) return {};
  return engine_.holds->held(round_[index].hashes.front(), now);
}

}  // namespace weir
