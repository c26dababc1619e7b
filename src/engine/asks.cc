#include "engine/asks.h"

#include <algorithm>
#include <utility>

#include "algo/quota_share.h"
#include "algo/waiting_room.h"
#include "base/assert.h"
#include "base/if_memory.h"
#include "engine/asks_pool.h"

namespace weir {
namespace {

std::string_view rule_id(const Ask& ask) {
  return ask.rule == nullptr ? std::string_view() : std::string_view(ask.rule->id);
}

}  // namespace

std::int64_t limit_percent(const Rule& rule, const Engine& engine) {
  return rule.surge_percent < 100 && engine.is_unusual(rule.number) ? rule.surge_percent : 100;
}

// Asks by their numbers.
class Asks::Group {
 public:
  void add(std::size_t index) { members_[size_++] = static_cast<std::uint8_t>(index); }
  operator Members() const { return Members(members_).first(size_); }
  bool empty() const { return size_ == 0; }

 private:
  static_assert(kAsksMax - 1 <= UINT8_MAX);
  std::array<std::uint8_t, kAsksMax> members_;
  std::size_t size_ = 0;
};

// One batch to the store of a mode.
class Asks::Part final : public Check {
 public:
  explicit Part(Asks& asks) : asks_(asks) {}

  void begin(Members members, Mode mode, Operation operation) {
    std::ranges::copy(members, members_.begin());
    size_ = members.size();
    mode_ = mode;
    operation_ = operation;
    Check::begin(operation, [](Check& check) noexcept {
      Asks& asks = static_cast<Part&>(check).asks_;
      if (--asks.open_ == 0 && !asks.is_asking_) asks.engine_.answer_came(asks);
    });
  }

  Members members() const { return Members(members_).first(size_); }
  Mode mode() const { return mode_; }
  Operation operation() const { return operation_; }

 private:
  Asks& asks_;
  std::array<std::uint8_t, Batch::kChargesMax> members_{};
  std::size_t size_ = 0;
  Mode mode_ = Mode::kStrict;
  Operation operation_ = Operation::kSpendEach;
};

Asks::Asks(Engine& engine, BlockList& blocks, AsksPool* pool)
    : engine_(engine), blocks_(blocks), pool_(pool) {}

Asks::~Asks() = default;

// ---- what is asked ----

void Asks::begin(Operation operation) {
  WEIR_ASSERT(open_ == 0 && operation != Operation::kDrain);  // an ask says so
  operation_ = operation;
  size_ = 0;
  joint_limits_ = 0;
  any_apart_ = false;
  modes_in_use_ = {};
}

void Asks::add_room() { items_.push_back(std::make_unique<Item>()); }

std::string& Asks::next_key() {
  WEIR_ASSERT(size_ < kAsksMax);
  return next_item().key;
}

bool Asks::has(const Ask& ask) const {
  return std::ranges::any_of(items(), [&](const auto& item) {
    const Ask& other = item->ask;
    return other.rule == ask.rule && other.key == ask.key && other.tier == ask.tier;
  });
}

bool Asks::add(const Ask& ask) {
  if (size_ == kAsksMax) return false;
  Item& item = next_item();
  item.ask = ask;
  item.decisions.clear();
  take_limits(item, ask);
  const bool is_apart = own_operation(ask) != Operation::kSpendEach;
  any_apart_ = any_apart_ || is_apart;
  if (operation_ == Operation::kSpendAll && !item.is_shadow() && !is_apart) {
    if (joint_limits_ + item.limits.size() > Batch::kChargesMax) return false;
    joint_limits_ += item.limits.size();
  }
  item.name = name_of(ask);
  for (std::size_t i = 0; i < item.limits.size(); ++i) {
    const bool is_adaptive = item.limits[i].algorithm() == Algorithm::kAdaptive;
    if (is_adaptive && item.limits.data() != item.followed.data()) follow_switches(item);
    item.hashes[i] = KeyHasher::combine_names(item.name, item.limits[i]);
  }
  if (ask.rule != nullptr) {
    const bool is_there = ask.key.data() == item.key.data();
    if (!is_there) item.ask.key = item.key.assign(ask.key);
    if (!ask.tier.empty()) item.ask.tier = item.tier.assign(ask.tier);
  }
  if (engine_.awaits_hasher()) {
    item.key.assign(ask.key);
    item.bucket.assign(ask.bucket);
  }
  const bool rule_decides = ask.rule != nullptr && !ask.mode;
  item.mode = engine_.mode_for(rule_decides ? ask.rule->mode : ask.mode);
  modes_in_use_.add(item.mode);
  ++size_;
  return true;
}

HashedName Asks::name_of(const Ask& ask) const {
  KeyName name{.rule = rule_id(ask), .bucket = ask.bucket, .key = ask.key};
  const bool is_known = pool_ != nullptr && !name.rule.empty();
  const KeyHash* const rule = is_known ? pool_->hash_of(*ask.rule) : nullptr;
  if (rule != nullptr) name.rule = {};
  HashedName hashed = engine_.hasher().hash_names(name);
  if (rule == nullptr) return hashed;
  hashed.rule = *rule;
  hashed.has_rule = true;
  return hashed;
}

void Asks::take_limits(Item& item, const Ask& ask) const {
  if (ask.rule == nullptr) {
    item.limits = std::span<const Quota>(&item.ask.quota, 1);
    return;
  }
  const bool has_choice = ask.choices != nullptr && !ask.choices->are_too_many();
  item.limits =
      has_choice ? least_limits(*ask.rule, *ask.choices) : ask.rule->limits_for(ask.key, ask.tier);
  const std::int64_t percent = limit_percent(*ask.rule, engine_);
  if (percent == 100 && ask.patience == Duration{0}) return;
  item.changed.clear();
  for (const Quota& quota : item.limits) {
    const Quota part = percent == 100 ? quota : percent_of(quota, percent);
    item.changed.push_back(ask.patience == Duration{0} ? part : *with_room(part, ask.patience));
  }
  item.limits = item.changed;
}

// Makes the limits follow what is active now. They are the rule's, so it is a copy that does.
void Asks::follow_switches(Item& item) const {
  const RuleNumber rule = item.ask.rule == nullptr ? kNoRuleNumber : item.ask.rule->number;
  const ActiveAlgorithm active = engine_.active_for(rule);
  const Quota* limit = item.limits.data();
  for (Quota& followed : std::span(item.followed.data(), item.limits.size())) {
    followed = *limit++;
    followed.follow(active);
  }
  item.limits = {item.followed.data(), item.limits.size()};
}

Operation Asks::own_operation(const Ask& ask) const {
  return is_hit(operation_) ? ask.own_operation() : Operation::kSpendEach;
}

// Giving back is always allowed. Memory could not undo it if a store denies the others.
Asks::Role Asks::role_of(const Item& item) const {
  if (any_apart_ && own_operation(item.ask) != Operation::kSpendEach) return Role::kApart;
  const bool cannot_be_undone = item.ask.cost < 0 && modes_in_use_.several();
  if (operation_ != Operation::kSpendAll || item.is_shadow() || cannot_be_undone) {
    return Role::kAlone;
  }
  return item.mode == Mode::kLocal ? Role::kHere : Role::kShared;
}

Asks::Group Asks::members(Role role) const {
  Group group;
  for (std::size_t i = 0; i < size_; ++i) {
    if (items_[i]->role == role) group.add(i);
  }
  return group;
}

bool Asks::all_allowed(Role role) const {
  return std::ranges::all_of(
      items(), [role](const auto& item) { return item->role != role || item->answer.allowed(); });
}

// ---- the stages ----

Asks::Progress Asks::decide(Instant now) {
  progress_ = Progress::kAnswered;
  is_unavailable_ = false;
  allowed_ = true;
  parts_used_ = 0;
  if (engine_.fleet() != nullptr) give_up_at_ = now + engine_.fleet()->patience();
  all_here_ = true;
  bool is_settled = true;
  for (const auto& each : items()) {
    Item& item = *each;
    item.role = settle_uncounted(item, now) ? Role::kUncounted : role_of(item);
    is_settled = is_settled && item.role == Role::kUncounted;
    all_here_ = all_here_ && (item.role == Role::kUncounted || item.role == Role::kHere);
    if (item.ask.choices != nullptr) item.ask.choices.reset();
    if (item.role != Role::kUncounted || item.is_shadow()) continue;
    allowed_ = allowed_ && item.answer.allowed();
  }
  stage_ = operation_ == Operation::kSpendAll ? Stage::kTogether : Stage::kAlone;
  if (any_apart_) stage_ = Stage::kApart;
  if (is_settled) stage_ = Stage::kDone;
  if (size_ == 1 && !is_settled) decide_one_here(now);
  return run(now);
}

// What most requests ask: one thing, of this node's memory. There are no stages then.
void Asks::decide_one_here(Instant now) {
  static constexpr std::uint8_t kOnly = 0;
  const Item& item = *items_.front();
  if (item.mode != Mode::kLocal || item.role == Role::kApart) return;
  const auto joint = operation_ == Operation::kSpendEach ? Operation::kSpendAll : operation_;
  decide_here({&kOnly, 1}, joint, Sign::kSpend, now);
  stage_ = Stage::kDone;
}

Asks::Progress Asks::run(Instant now) {
  while (true) {
    if (open_ > 0) {
      keep_rules();
      return progress_ = Progress::kWaits;
    }
    read_parts(now);
    if (stage_ == Stage::kDone || is_unavailable_) break;
    is_asking_ = true;
    ask_next(now);
    is_asking_ = false;
  }
  stage_ = Stage::kDone;
  progress_ = is_unavailable_ ? Progress::kUnavailable : Progress::kAnswered;
  conclude(now);
  return progress_;
}

// Keeps the rules that were in force at the time of asking.
void Asks::keep_rules() {
  if (rules_ == nullptr && pool_ != nullptr) rules_ = pool_->rules_;
}

// Else the longest key of each place would be kept: 256 of 4 MiB.
void Asks::forget_long_keys() noexcept {
  for (const auto& item : items()) {
    for (std::string* const text : {&item->key, &item->tier, &item->bucket}) {
      if (text->capacity() > kKeyKeptMax) std::string().swap(*text);
    }
  }
}

// Without memory there is no answer. Parts that are out belong to the stores, so they are waited
// for.
void Asks::answered(Instant now) {
  if (!has_memory_for([&] { run(now); })) {
    is_asking_ = false;
    is_unavailable_ = true;
    progress_ = open_ > 0 ? Progress::kWaits : Progress::kUnavailable;
  }
  if (progress_ == Progress::kWaits) return;
  if (listener_ != nullptr) return std::exchange(listener_, nullptr)->decided();
  if (is_abandoned_) pool_->give_back(*this);
}

void Asks::ask_next(Instant now) {
  switch (stage_) {
    case Stage::kApart: return ask_apart(now);
    case Stage::kTogether:
      stage_ = all_here_ ? Stage::kDone : Stage::kAlone;
      return ask_together(now);
    case Stage::kAlone: stage_ = Stage::kDone; return ask_alone(now);
    case Stage::kDone: break;
  }
}

// Each by itself: the others need not wait for the answers.
void Asks::ask_apart(Instant now) {
  stage_ = operation_ == Operation::kSpendAll ? Stage::kTogether : Stage::kDone;
  const Group apart = members(Role::kApart);
  for (const Operation operation : {Operation::kCharge, Operation::kDrain, Operation::kLook}) {
    Group group;
    for (const std::uint8_t index : Members(apart)) {
      if (own_operation(items_[index]->ask) == operation) group.add(index);
    }
    ask_each(group, operation, now);
  }
  if (stage_ == Stage::kDone) ask_alone(now);
}

void Asks::ask_together(Instant now) {
  if (any_apart_) {
    for (const auto& item : items()) {
      if (item->role != Role::kApart) continue;
      leave_units(*item);
      allowed_ = allowed_ && (item->is_shadow() || item->answer.allowed());
    }
  }
  joint_ = allowed_ ? Operation::kSpendAll : Operation::kLook;
  if (engine_.fleet() != nullptr) make_room_for_a_part();  // before anything is charged
  decide_here(members(Role::kHere), joint_, Sign::kSpend, now);
  if (all_here_) return;
  const Group group = members(Role::kShared);
  const Members shared = group;
  const Operation operation = all_allowed(Role::kHere) ? joint_ : Operation::kLook;
  Mode strictest = Mode::kAsync;
  for (const std::uint8_t index : shared) strictest = std::max(strictest, items_[index]->mode);
  if (!shared.empty()) ask_store(shared, strictest, operation, now);
}

// Memory was charged first, and gets back what a store has denied the request.
void Asks::ask_alone(Instant now) {
  if (operation_ != Operation::kSpendAll) return ask_each(members(Role::kAlone), operation_, now);
  const bool here = all_allowed(Role::kHere);
  const bool shared = all_allowed(Role::kShared);
  if (here && !shared && joint_ == Operation::kSpendAll) {
    decide_here(members(Role::kHere), Operation::kSpendEach, Sign::kGiveBack, now);
  }
  const bool all = allowed_ && here && shared;
  ask_each(members(Role::kAlone), all ? Operation::kSpendEach : Operation::kLook, now);
}

// ---- asking ----

// Asks with one limit share batches; one with several has a batch of its own, in which all
// limits hold or none is charged.
void Asks::ask_each(Members asks, Operation operation, Instant now) {
  const auto joint = operation == Operation::kSpendEach ? Operation::kSpendAll : operation;
  for (const Mode mode : modes_in_use_) {
    Group singles;
    for (const std::uint8_t index : asks) {
      if (items_[index]->mode != mode) continue;
      if (items_[index]->limits.size() == 1) {
        singles.add(index);
      } else {
        ask_store({&index, 1}, mode, joint, now);
      }
    }
    ask_singles(singles, mode, operation, now);
  }
}

// A batch fails as a whole: where a part of it may fail alone, each ask has its own. So has
// each of mode leased, where those with units need not go to Redis together with those
// without, unless memory has units for all.
void Asks::ask_singles(Members asks, Mode mode, Operation operation, Instant now) {
  const bool is_leased = mode == Mode::kLeased;
  const bool one_by_one = is_leased || (mode != Mode::kLocal && engine_.fleet()->is_spread());
  while (!asks.empty()) {
    const Members batch = asks.first(std::min(asks.size(), Batch::kChargesMax));
    asks = asks.subspan(batch.size());
    if (is_leased && batch.size() > 1 && ask_at_hand(batch, operation, now)) continue;
    if (!one_by_one) {
      ask_store(batch, mode, operation, now);
      continue;
    }
    for (const std::uint8_t& index : batch) ask_store({&index, 1}, mode, operation, now);
  }
}

void Asks::ask_store(Members asks, Mode mode, Operation operation, Instant now) {
  if (mode == Mode::kLocal) return decide_here(asks, operation, Sign::kSpend, now);
  Part& part = next_part(asks, mode, operation);
  ++open_;
  part.decide(engine_.fleet()->store(mode), now, give_up_at_);
}

// True if memory has decided all of them.
bool Asks::ask_at_hand(Members asks, Operation operation, Instant now) {
  Part& part = next_part(asks, Mode::kLeased, operation);
  ++open_;
  part.decide(engine_.fleet()->leases_at_hand(), now, give_up_at_);
  if (part.error() == StoreError::kNone) return true;
  --parts_used_;
  return false;
}

void Asks::make_room_for_a_part() {
  if (parts_used_ == parts_.size()) parts_.push_back(std::make_unique<Part>(*this));
}

Asks::Part& Asks::next_part(Members asks, Mode mode, Operation operation) {
  make_room_for_a_part();
  Part& part = *parts_[parts_used_++];
  part.begin(asks, mode, operation);
  fill(part, asks, Sign::kSpend, 1);
  return part;
}

// By this node's own counters. Where they stand in for a store that has failed, by its share.
void Asks::decide_here(Members asks, Operation operation, Sign sign, Instant now) {
  if (asks.empty()) return;
  const bool stands_in = items_[asks.front()]->mode != Mode::kLocal;
  check_.begin(operation);
  fill(check_, asks, sign, stands_in ? engine_.fleet()->live_nodes() : 1);
  if (check_.decide(engine_.local(), now)) {
    take_decisions(asks, check_, Mode::kLocal);
  } else {
    is_unavailable_ = true;
  }
}

void Asks::fill(Check& check, Members asks, Sign sign, std::int64_t nodes) const {
  for (const std::uint8_t index : asks) {
    const Item& item = *items_[index];
    const std::int64_t asked = item.ask.cost;
    const std::int64_t cost = sign == Sign::kSpend ? asked : -std::max<std::int64_t>(0, asked);
    const OnFull on_full = item.ask.rule == nullptr ? OnFull::kAllow : item.ask.rule->on_full;
    for (std::size_t i = 0; i < item.limits.size(); ++i) {
      const Quota& limit = item.limits[i];
      check.add(item.hashes[i], nodes > 1 ? share_of(limit, nodes) : limit, cost, item.tag(),
                on_full);
    }
  }
}

// ---- answers ----

void Asks::read_parts(Instant now) {
  const std::size_t used = std::exchange(parts_used_, 0);
  for (std::size_t i = 0; i < used; ++i) {
    const Part& part = *parts_[i];
    if (part.error() == StoreError::kNone) {
      take_decisions(part.members(), part, part.mode());
    } else {
      fall_back(part.members(), part.operation(), now);
    }
  }
}

// The answer about several limits is the one about the limit that presses most.
void Asks::take_decisions(Members asks, const Check& check, Mode mode) {
  const auto decisions = check.decisions();
  std::size_t next = 0;
  for (const std::uint8_t index : asks) {
    Item& item = *items_[index];
    item.answer.mode = mode;
    if (item.limits.size() > 1) {
      const auto first = decisions.subspan(next, item.limits.size());
      item.decisions.assign(first.begin(), first.end());
    }
    for (std::size_t i = 0; i < item.limits.size(); ++i, ++next) {
      if (i > 0 && !presses_more(decisions[next], item.answer.decision)) continue;
      item.answer.decision = decisions[next];
      if (item.limits.size() > 1) item.answer.quota = item.limits[i];
    }
    if (item.ask.patience == Duration{0}) continue;
    item.answer.wait = leave_room(item.limits.front(), item.ask.patience, item.answer.decision);
  }
}

// The store that decides these has failed. Nothing stands in for it where a counter is to be
// freed: the client would believe it, and the store, when it is back, would not know.
void Asks::fall_back(Members asks, Operation operation, Instant now) {
  if (operation == Operation::kReset) {
    is_unavailable_ = true;
    return;
  }
  Group local;
  for (const std::uint8_t index : asks) {
    const Rule* const rule = items_[index]->ask.rule;
    Answer& answer = items_[index]->answer;
    answer.mode = Mode::kLocal;
    answer.is_alone = true;
    const bool frees = items_[index]->ask.cost < 0;
    if (!frees && (rule == nullptr || rule->on_store_failure == OnStoreFailure::kLocal)) {
      local.add(index);
      continue;
    }
    const bool allows = !frees && rule->on_store_failure == OnStoreFailure::kAllow;
    answer.cause = Answer::Cause::kStoreFailed;
    answer.decision = allows ? untouched(answer.quota) : refused(answer.quota);
    if (!allows && operation == Operation::kSpendAll) operation = Operation::kLook;
  }
  decide_here(local, operation, Sign::kSpend, now);
}

}  // namespace weir
