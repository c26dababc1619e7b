#include "engine/asks/holding.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/duration_text.h"
#include "engine/holds/hold_wait.h"
#include "engine/tenants/tenant_table.h"
#include "rules/named_client.h"

namespace weir {
namespace {

using Kind = SharedToken::Kind;

std::size_t room_of(const Round::Item& item) {
  return item.is_shadow() ? HoldingStore::kHoldsMax / 2 : HoldingStore::kHoldsMax;
}

// Changes the answered decision, and the decision of each limit.
void outlast(Round::Item& item, Instant end, Instant now) {
  outlast(item.answer.decision, item.answer.quota, end, now);
  for (std::size_t i = 0; i < item.decisions.size(); ++i) {
    outlast(item.decisions[i], item.limits[i], end, now);
  }
}

}  // namespace

// The length is at most the shortest window. Slots have no windows.
Result<Duration, WrongHold> hold_length(std::string_view text, const Ask& ask, HoldOf of,
                                        const Engine& engine) {
  constexpr Duration kSlotMax = std::chrono::hours(24);
  const Rule& rule = *ask.rule;
  const bool is_slot = of == HoldOf::kSlot;
  if (engine.holds == nullptr || !(is_slot ? rule.has_slots() : rule.holds_max > 0)) {
    return WrongHold{"rule", is_slot ? "a rule with 'of: concurrency' and without 'match'"
                                     : "a rule with max_holds"};
  }
  const auto length = parse_duration(text);
  const auto is_up_to = [&](Duration most) {
    return length && *length >= kWindowMin && *length <= most;
  };
  if (is_slot) {
    if (is_up_to(kSlotMax)) return *length;
    return WrongHold{"hold", "a duration from 1ms to 24h, such as 30s"};
  }
  PartScratch scratch;
  const bool is_callers = ask.key_origin == Ask::KeyOrigin::kCaller;
  const auto key = is_callers ? named_client(rule, ask.key, scratch).counted : ask.key;
  const bool may_have = rule.has_tenants && !rule.overrides.contains(key);
  const auto terms =
      may_have && engine.tenants != nullptr ? engine.tenants->find(key) : std::nullopt;
  const bool has_own = terms && terms->plan.empty();
  const Quota own = has_own ? tenant_quota(rule.quota, *terms) : Quota();
  const auto limits =
      has_own ? std::span(&own, 1) : rule.limits_for(key, terms ? terms->plan : ask.tier);
  const Duration most = std::ranges::min(limits, {}, &Quota::window).window();
  if (is_up_to(most)) return *length;
  return WrongHold{"hold", "a duration from 1ms to the window, " + format_duration(most)};
}

void Holding::reserve(Duration length) {
  WEIR_ASSERT(round_.size() == 1);
  const Round::Item& item = round_[0];
  const Rule& rule = *item.ask.rule;
  next_ = Way::kReserve;
  order_ = {.token = engine_.holds->fresh_token(),
            .length = length,
            .holds_max = item.is_shadow() ? std::int64_t{HoldingStore::kHoldsMax} : rule.holds_max,
            .due = rule.has_slots() || rule.lapse == Rule::Lapse::kRefund ? 0 : item.ask.cost,
            .is_slot = rule.has_slots(),
            .is_always = item.is_shadow()};
}

void Holding::commit(std::string_view token, std::int64_t cost, HoldingStore::Work work) {
  commit_ = {.cost = cost, .work = work, .outcome = HoldingStore::Commit::kUnknown};
  end_by(token, Kind::kHold);
}

void Holding::release(std::string_view token) {
  commit_ = {.outcome = HoldingStore::Commit::kUnknown};
  end_by(token, Kind::kSlot);
}

void Holding::end_by(std::string_view token, Kind kind) {
  WEIR_ASSERT(round_.size() == 0);
  round_.stand_apart();
  next_ = Way::kEnd;
  kind_ = kind;
  token_ = token;
}

bool Holding::act(Trips& trips, Instant now) {
  way_ = std::exchange(next_, Way::kNothing);
  if (way_ == Way::kEnd) end(trips, now);
  return way_ == Way::kEnd || (way_ == Way::kReserve && acquire_here(now));
}

// A slot of this node: counts and holds in one step, so that no other core can come in between.
// False: the ask is not for one.
bool Holding::acquire_here(Instant now) {
  using Outcome = HoldOrder::Outcome;
  Round::Item& item = round_[0];
  if (!order_.is_slot || item.mode != Mode::kLocal) return false;
  if (item.is_settled) return true;
  const Charge charge{.key = item.hashes.front(), .quota = &item.limits.front()};
  const auto [decision, token] =
      engine_.holds->acquire(charge, {.length = order_.length, .room = room_of(item)}, now);
  item.answer.decision = decision;
  if (token) order_.token = *token;
  order_.outcome = token                ? Outcome::kHeld
                   : decision.allowed() ? Outcome::kTooMany
                                        : Outcome::kDenied;
  return true;
}

Holding::Hold Holding::hold(Instant now) const {
  const Round::Item& item = round_[0];
  if (!item.answer.allowed()) return {};
  const bool is_lent = item.answer.mode == Mode::kLeased;
  if (item.answer.mode != Mode::kStrict && !is_lent) return hold_here(now);
  if (!has_held()) return {.is_too_many = true, .wait = order_.wait};
  SharedToken token{.hold = order_.token,
                    .end = order_.end,
                    .tag = item.tag(),
                    .size = item.limits.size(),
                    .keys = item.hashes};
  if (is_lent) {
    token.keys[1] = order_.lender;
    token.size = 2;
  }
  const Kind kind = is_lent ? Kind::kLentSlot : order_.is_slot ? Kind::kSlot : Kind::kHold;
  Hold hold{.token = token.to_string(kind, engine_.hasher())};
  if (is_lent) hold.here = order_.token;
  return hold;
}

Holding::Hold Holding::hold_here(Instant now) const {
  Round::Item& item = round_[0];
  if (has_held()) return {.token = order_.token.to_string(), .here = order_.token};
  const bool is_counted = item.answer.cause == Answer::Cause::kCounted;
  std::array<Charge, Rule::kLimitsMax> charges;
  const std::size_t size = is_counted ? item.limits.size() : 0;
  for (std::size_t i = 0; i < size; ++i) {
    charges[i] = {
        .key = item.hashes[i], .quota = &item.limits[i], .cost = item.ask.cost, .tag = item.tag()};
  }
  const bool has_room = order_.outcome != HoldOrder::Outcome::kTooMany;
  const HoldTerms terms{.length = order_.length,
                        .estimate = item.ask.cost,
                        .holds_max = order_.holds_max,
                        .is_charged = !item.answer.over && !order_.is_slot,
                        .is_free = order_.due == 0,
                        .is_slot = order_.is_slot,
                        .room = room_of(item)};
  const auto token =
      has_room ? engine_.holds->hold(std::span(charges).first(size), terms, now) : std::nullopt;
  if (token) {
    if (is_counted && !order_.is_slot) outlast(item, now + terms.length, now);
    return {.token = token->to_string(), .here = token};
  }
  return {.is_too_many = true, .wait = engine_.holds->held(item.hashes.front(), now).lapses_after};
}

// As for a reset, nothing stands in for the store.
void Holding::end(Trips& trips, Instant now) {
  if (const auto here = HoldToken::parse(token_)) return end_here(*here, now);
  if (engine_.fleet() == nullptr) return;
  SharedHolds* holds = engine_.fleet()->holds(Mode::kStrict);
  if (holds == nullptr) return trips.fail();
  auto token = SharedToken::parse(token_, kind_, engine_.hasher());
  if (!token && kind_ == Kind::kSlot) {
    holds = engine_.fleet()->holds(Mode::kLeased);
    token = SharedToken::parse(token_, Kind::kLentSlot, engine_.hasher());
    if (holds == nullptr || !token || token->size != 2) return;
    commit_.lender = token->keys[1];
    token->size = 1;
  }
  if (!token) return;
  static const Quota kAny;
  commit_.token = token->hold;
  commit_.end = token->end;
  Trip& trip = trips.next({}, Mode::kStrict, Operation::kReset);
  for (const KeyHash& key : std::span(token->keys).first(token->size)) {
    trip.add(key, kAny, 1, token->tag);
  }
  StoreThat store([&](Batch& batch, Instant then) { holds->commit(batch, commit_, then); });
  trips.send_all([&] { trips.send(trip, store, now); });
}

void Holding::end_here(const HoldToken& token, Instant now) {
  if (engine_.holds == nullptr) return;
  if (kind_ == Kind::kHold) {
    commit_.outcome = engine_.holds->commit(token, commit_.cost, commit_.work, now);
  } else if (engine_.holds->release(token, now)) {
    commit_.outcome = HoldingStore::Commit::kCharged;
  }
}

HoldingStore::Held Holding::held(std::size_t index, Instant now) const {
  if (round_[index].answer.mode != Mode::kLocal) return round_[index].held;
  if (engine_.holds == nullptr) return {};
  return engine_.holds->held(round_[index].hashes.front(), now);
}

}  // namespace weir
