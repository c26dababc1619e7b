#include "engine/asks.h"

#include <algorithm>
#include <string>

namespace weir {
namespace {

// No id of a rule begins so: these counters are out of reach of whoever names rules.
constexpr std::string_view kDenialsOf("\0denials", 8);
constexpr std::string_view kBlocksOf("\0blocks", 7);

// By counters, or by what stands in for them.
bool is_decided(const Answer& answer) {
  return answer.cause == Answer::Cause::kCounted || answer.cause == Answer::Cause::kStoreFailed;
}

bool is_shadow(const Ask& ask) { return ask.rule != nullptr && ask.rule->shadow; }

std::string_view rule_id(const Ask& ask) {
  return ask.rule == nullptr ? std::string_view() : std::string_view(ask.rule->id);
}

// Whether its answers are figures: it is more than a name.
bool is_counted(const Rule& rule) { return rule.enabled && rule.effect != Rule::Effect::kExempt; }

// REQUIRES: answer.over is set.
RuleOutcome outcome_of(const Ask& ask, const Answer& answer) {
  if (!answer.over) return RuleOutcome::kAllowed;
  if (is_shadow(ask)) return RuleOutcome::kShadow;
  return answer.cause == Answer::Cause::kBlocked ? RuleOutcome::kBlocked : RuleOutcome::kDenied;
}

// Of a key, within block_memory: far more than any rule has lengths, so that the newest are
// always among them.
constexpr std::int64_t kBlocksRemembered = 64;

// How soon to ask again after a denial by a rule whose store fails.
constexpr Duration kFailureRetry = std::chrono::seconds(1);

Decision refused(const Quota& quota) {
  return {.verdict = Verdict::kDenied,
          .limit = quota.capacity(),
          .retry_after = kFailureRetry,
          .reset_after = kFailureRetry};
}

// What one of so many nodes may admit.
Quota share_of(const Quota& quota, std::int64_t nodes) {
  if (nodes <= 1 || quota.limit() == 0) return quota;
  const bool has_burst = quota.algorithm() == Algorithm::kTokenBucket;
  const auto share = [nodes](std::int64_t units) {
    return std::max<std::int64_t>(1, units / nodes);
  };
  const auto made = Quota::make({.algorithm = quota.algorithm(),
                                 .limit = share(quota.limit()),
                                 .window = quota.window(),
                                 .burst = has_burst ? share(quota.capacity()) : 0});
  return made ? *made : quota;  // a bucket may take too long to fill
}

// As if the key had never been seen.
Decision untouched(const Quota& quota) {
  return {.limit = quota.capacity(), .remaining = quota.capacity()};
}

}  // namespace

bool presses_more(const Decision& one, const Decision& other) {
  if (one.allowed() != other.allowed()) return !one.allowed();
  if (one.allowed()) return one.remaining < other.remaining;
  if (one.verdict != other.verdict) return one.verdict == Verdict::kNever;
  return one.retry_after > other.retry_after;
}

void number_rules(std::vector<Rule>& rules, RuleCounts& counts) {
  for (Rule& rule : rules) rule.number = counts.number_of(rule.id);
}

// A few asks by their numbers.
class Asks::Group {
 public:
  void add(std::size_t index) { members_[size_++] = static_cast<std::uint8_t>(index); }
  operator Members() const { return Members(members_).first(size_); }

 private:
  std::array<std::uint8_t, kAsksMax> members_;
  std::size_t size_ = 0;
};

void Asks::begin(Operation operation) {
  operation_ = operation;
  size_ = 0;
  joint_limits_ = 0;
  modes_in_use_ = {};
}

bool Asks::add(const Ask& ask) {
  if (size_ == kAsksMax) return false;
  asks_[size_] = ask;
  const Ask& kept = asks_[size_];
  limits_[size_] = ask.rule == nullptr ? std::span<const Quota>(&kept.quota, 1)
                                       : ask.rule->limits_for(ask.key, ask.tier);
  const auto limits = limits_[size_];
  if (operation_ == Operation::kSpendAll && !is_shadow(ask)) {
    if (joint_limits_ + limits.size() > Batch::kChargesMax) return false;
    joint_limits_ += limits.size();
  }
  const KeyName name{.rule = rule_id(ask), .bucket = ask.bucket, .key = ask.key};
  for (std::size_t i = 0; i < limits.size(); ++i) {
    hashes_[size_][i] = engine_.hash(name, limits[i]);
  }
  if (ask.rule != nullptr) asks_[size_].key = keys_[size_].assign(ask.key);
  const bool rule_decides = ask.rule != nullptr && !ask.mode;
  modes_[size_] = engine_.mode_for(rule_decides ? ask.rule->mode : ask.mode);
  modes_in_use_.add(modes_[size_]);
  ++size_;
  return true;
}

bool Asks::decide(Instant now) {
  if (engine_.waits()) return false;
  engine_.give_back(now);
  Group counted;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!settle_uncounted(i, now)) counted.add(i);
  }
  const Progress progress = operation_ == Operation::kSpendAll
                                ? decide_together(now)
                                : decide_apart(counted, operation_, now);
  if (progress == Progress::kUnavailable) engine_.record_store_error();
  if (progress != Progress::kAnswered) return false;
  const bool is_alone = engine_.fleet() == nullptr;
  const bool is_first = is_alone || engine_.visit().concludes_first();
  for (std::size_t i = 0; i < size_; ++i) {
    answers_[i].over = !answers_[i].allowed();
    if (is_first) record(i, now);
    if (answers_[i].over && is_shadow(asks_[i])) answers_[i].decision.verdict = Verdict::kAllowed;
  }
  if (is_first && !is_alone && has_charged()) tell_admitted_alone(now);
  return true;
}

// Answers what needs no counter. True if it did.
bool Asks::settle_uncounted(std::size_t index, Instant now) {
  const Ask& ask = asks_[index];
  const Quota& quota = limits_[index].front();
  Answer& answer = answers_[index];
  answer = {.quota = quota};
  if (ask.rule == nullptr) return false;
  const Rule& rule = *ask.rule;
  if (!rule.in_force(engine_.wall_time(now)) || rule.effect != Rule::Effect::kLimit) {
    answer = {.cause = Answer::Cause::kNotCounted, .decision = untouched(quota), .quota = quota};
    return true;
  }
  if (!rule.deny.empty() && rule.deny.holds(ask.key, ask.client)) {
    answer.cause = Answer::Cause::kDenyList;
    answer.decision = {.verdict = Verdict::kNever, .limit = quota.capacity()};
    return true;
  }
  if (!rule.allow.empty() && rule.allow.holds(ask.key, ask.client)) {
    answer = {.cause = Answer::Cause::kNotCounted, .decision = untouched(quota), .quota = quota};
    return true;
  }
  if (blocks_.empty() || operation_ == Operation::kReset) return false;
  const auto until = blocks_.until(rule.id, ask.key, now);
  if (!until) return false;
  answer.cause = Answer::Cause::kBlocked;
  answer.decision = {.verdict = Verdict::kDenied,
                     .limit = quota.capacity(),
                     .retry_after = *until - now,
                     .reset_after = *until - now};
  return true;
}

// Those with one limit share a batch; those with several have one each, in which all
// limits hold or none is charged. Nobody waits for another's answer to be asked.
Asks::Progress Asks::decide_apart(Members asks, Operation operation, Instant now) {
  const auto joint = operation == Operation::kSpendEach ? Operation::kSpendAll : operation;
  Progress progress = Progress::kAnswered;
  for (const Mode mode : modes_in_use_) {
    Group singles;
    for (const std::uint8_t index : asks) {
      if (modes_[index] != mode) continue;
      if (limits_[index].size() == 1) {
        singles.add(index);
      } else {
        progress = std::max(progress, decide_batch({&index, 1}, joint, now));
      }
    }
    progress = std::max(progress, decide_singles(singles, operation, mode, now));
  }
  return progress;
}

Asks::Progress Asks::decide_singles(Members asks, Operation operation, Mode mode, Instant now) {
  if (mode == Mode::kLeased) return decide_leased(asks, operation, now);
  const bool may_fail_apart = mode != Mode::kLocal && engine_.fleet()->is_spread();
  return may_fail_apart ? decide_one_by_one(asks, operation, now)
                        : decide_batch(asks, operation, now);
}

// In one batch if memory knows of all of them. Else who has units need not go to Redis
// together with who has none.
Asks::Progress Asks::decide_leased(Members asks, Operation operation, Instant now) {
  if (asks.size() > 1) {
    const Check* answered = nullptr;
    if (put_at_hand(asks, operation, answered, now) == Progress::kAnswered) {
      take_decisions(asks, *answered, Mode::kLeased);
      return Progress::kAnswered;
    }
  }
  return decide_one_by_one(asks, operation, now);
}

// A batch that fails fails as a whole.
Asks::Progress Asks::decide_one_by_one(Members asks, Operation operation, Instant now) {
  Progress progress = Progress::kAnswered;
  for (const std::uint8_t index : asks) {
    progress = std::max(progress, decide_batch({&index, 1}, operation, now));
  }
  return progress;
}

Asks::Progress Asks::decide_together(Instant now) {
  Group enforced;
  Group afterwards;
  bool allowed = true;
  for (std::size_t i = 0; i < size_; ++i) {
    const bool counted = answers_[i].cause == Answer::Cause::kCounted;
    if (!counted) {
      allowed = allowed && (answers_[i].allowed() || is_shadow(asks_[i]));
    } else if (is_shadow(asks_[i]) || (asks_[i].cost < 0 && modes_in_use_.several())) {
      afterwards.add(i);  // giving back is always allowed, and could not be undone
    } else {
      enforced.add(i);
    }
  }
  const auto joint = allowed ? Operation::kSpendAll : Operation::kLook;
  const Progress progress = decide_modes(enforced, joint, now);
  if (progress != Progress::kAnswered) return progress;
  allowed = allowed && all_allowed(enforced);
  return decide_apart(afterwards, allowed ? Operation::kSpendEach : Operation::kLook, now);
}

// Each mode in turn, the one that takes a trip last. What the first have charged is given
// back when a later one denies.
Asks::Progress Asks::decide_modes(Members asks, Operation operation, Instant now) {
  Group charged;
  Progress looks = Progress::kAnswered;
  for (const Mode mode : modes_in_use_) {
    Group group;
    for (const std::uint8_t index : asks) {
      if (modes_[index] == mode) group.add(index);
    }
    const Progress progress = decide_batch(group, operation, now);
    if (operation == Operation::kLook) {
      looks = std::max(looks, progress);
      continue;
    }
    if (progress != Progress::kAnswered) return progress;
    if (all_allowed(group)) {
      for (const std::uint8_t index : Members(group)) {
        if (answers_[index].cause == Answer::Cause::kCounted) charged.add(index);
      }
    } else {
      operation = Operation::kLook;
      looks = take_back(charged, now);
    }
  }
  return looks;
}

// Undoes charges, and answers what is there after that. If a store has gone meanwhile, it
// stays charged: never too much is let pass.
Asks::Progress Asks::take_back(Members asks, Instant now) {
  if (engine_.fleet() != nullptr) engine_.visit().keep_parts();
  Modes modes;
  for (const std::uint8_t index : asks) modes.add(answers_[index].mode);
  Progress progress = Progress::kAnswered;
  for (const Mode mode : modes) {
    Group group;
    for (const std::uint8_t index : asks) {
      if (answers_[index].mode == mode) group.add(index);
    }
    const Check* answered = nullptr;
    const Progress put_back =
        put(group, Operation::kSpendEach, Sign::kGiveBack, mode, answered, now);
    if (put_back == Progress::kAnswered) take_decisions(group, *answered, mode);
    if (put_back == Progress::kWaits) progress = put_back;
  }
  return progress;
}

bool Asks::all_allowed(Members asks) const {
  return std::ranges::all_of(asks, [&](std::uint8_t index) { return answers_[index].allowed(); });
}

// REQUIRES: all are of one mode
Asks::Progress Asks::decide_batch(Members asks, Operation operation, Instant now) {
  if (asks.empty()) return Progress::kAnswered;
  const Mode mode = modes_[asks.front()];
  const Check* answered = nullptr;
  const Progress progress = put(asks, operation, Sign::kSpend, mode, answered, now);
  if (progress == Progress::kAnswered) take_decisions(asks, *answered, mode);
  if (progress == Progress::kUnavailable && mode != Mode::kLocal) {
    return fall_back(asks, operation, now);
  }
  return progress;
}

// The store that decides these has failed. Nobody stands in for it where a counter is to be
// freed: that would be said, and forgotten when the store is back.
Asks::Progress Asks::fall_back(Members asks, Operation operation, Instant now) {
  if (operation == Operation::kReset) return Progress::kUnavailable;
  Group local;
  for (const std::uint8_t index : asks) {
    const Rule* const rule = asks_[index].rule;
    Answer& answer = answers_[index];
    answer.mode = Mode::kLocal;
    const bool frees = asks_[index].cost < 0;
    if (!frees && (rule == nullptr || rule->on_store_failure == OnStoreFailure::kLocal)) {
      local.add(index);
      continue;
    }
    const bool allows = !frees && rule->on_store_failure == OnStoreFailure::kAllow;
    answer.cause = Answer::Cause::kStoreFailed;
    answer.decision = allows ? untouched(answer.quota) : refused(answer.quota);
    if (!allows && operation == Operation::kSpendAll) operation = Operation::kLook;
  }
  if (Members(local).empty()) return Progress::kAnswered;
  const Check* answered = nullptr;
  const Progress progress = put(local, operation, Sign::kSpend, Mode::kLocal, answered, now);
  if (progress == Progress::kAnswered) take_decisions(local, *answered, Mode::kLocal);
  return progress;
}

// Asks the store of a mode. Without a fleet the answer is there at once.
Asks::Progress Asks::put(Members asks, Operation operation, Sign sign, Mode mode,
                         const Check*& answered, Instant now) {
  Fleet* const fleet = engine_.fleet();
  if (fleet == nullptr) {
    check_.begin(operation);
    fill(check_, asks, sign, mode);
    answered = &check_;
    return check_.decide(engine_.local(), now) ? Progress::kAnswered : Progress::kUnavailable;
  }
  fill(engine_.visit().next(operation), asks, sign, mode);
  return ask(mode == Mode::kLocal ? engine_.local() : fleet->store(mode), operation, answered, now);
}

Asks::Progress Asks::put_at_hand(Members asks, Operation operation, const Check*& answered,
                                 Instant now) {
  fill(engine_.visit().next(operation), asks, Sign::kSpend, Mode::kLeased);
  return ask(engine_.fleet()->leases_at_hand(), operation, answered, now);
}

// All that a request asks together takes no longer than one question may.
Asks::Progress Asks::ask(Store& store, Operation operation, const Check*& answered, Instant now) {
  Visit& visit = engine_.visit();
  const bool is_part = operation == Operation::kSpendAll && modes_in_use_.several();
  return visit.ask(store, answered, now, is_part ? Visit::Share::kPart : Visit::Share::kWhole,
                   visit.begun(now) + engine_.fleet()->patience());
}

void Asks::fill(Check& check, Members asks, Sign sign, Mode mode) const {
  for (const std::uint8_t index : asks) {
    const std::int64_t asked = asks_[index].cost;
    const std::int64_t cost = sign == Sign::kSpend ? asked : -std::max<std::int64_t>(0, asked);
    // In place of a store that has failed, this node has its share.
    const std::int64_t nodes = mode == modes_[index] ? 1 : engine_.fleet()->live_nodes();
    for (std::size_t i = 0; i < limits_[index].size(); ++i) {
      check.add(hashes_[index][i], share_of(limits_[index][i], nodes), cost, tag_of(index));
    }
  }
}

// All limits of a rule are kept in one place.
std::uint64_t Asks::tag_of(std::size_t index) const {
  return limits_[index].size() > 1 ? hashes_[index].front().low : 0;
}

// Of several limits the answer is about the one that presses most.
void Asks::take_decisions(Members asks, const Check& check, Mode mode) {
  const auto decisions = check.decisions();
  std::size_t next = 0;
  for (const std::uint8_t index : asks) {
    Answer& answer = answers_[index];
    answer.mode = mode;
    for (std::size_t i = 0; i < limits_[index].size(); ++i, ++next) {
      if (i > 0 && !presses_more(decisions[next], answer.decision)) continue;
      answer.decision = decisions[next];
      answer.quota = limits_[index][i];
    }
  }
}

// Another mode has answered than was asked: the store of that one had failed.
bool Asks::fell_back(std::size_t index) const { return modes_[index] != answers_[index].mode; }

// What follows from an answer, once: figures and blocks.
void Asks::record(std::size_t index, Instant now) {
  const Ask& ask = asks_[index];
  const Answer& answer = answers_[index];
  if (operation_ == Operation::kLook) {
    engine_.record_look();
  } else if (spends(operation_) && answer.cause != Answer::Cause::kNotCounted) {
    engine_.record(answer.decision, answer.quota.algorithm(), now);
  }
  if (fell_back(index) && is_decided(answer)) engine_.record_fallback();
  if (ask.rule == nullptr) return;
  if (spends(operation_) && is_counted(*ask.rule)) {
    engine_.record_rule(ask.rule->number, outcome_of(ask, answer), hashes_[index].front(), now);
  }
  if (operation_ == Operation::kReset) blocks_.lift(ask.rule->id, ask.key);
  // A node that decides alone has but its share: that is no reason to block on all.
  const bool may_block = answer.cause == Answer::Cause::kCounted && answer.over &&
                         !fell_back(index) && !is_shadow(ask) && spends(operation_) && ask.cost > 0;
  if (may_block && !ask.rule->denial.blocks.empty()) block_denied(ask, now);
}

// Whether counters have changed: not by a look, nor if one of all denied.
bool Asks::has_charged() const {
  if (operation_ != Operation::kSpendAll) return operation_ != Operation::kLook;
  for (std::size_t i = 0; i < size_; ++i) {
    if (answers_[i].over && !is_shadow(asks_[i])) return false;
  }
  return true;
}

// Tells the fleet what this node's counters have admitted as its store had failed.
void Asks::tell_admitted_alone(Instant now) {
  for (std::size_t i = 0; i < size_; ++i) {
    const Answer& answer = answers_[i];
    const bool alone = fell_back(i) && answer.cause == Answer::Cause::kCounted;
    if (!alone || answer.over || !spends(operation_)) continue;
    for (std::size_t limit = 0; limit < limits_[i].size(); ++limit) {
      const Charge charge{hashes_[i][limit], &limits_[i][limit], asks_[i].cost, tag_of(i)};
      engine_.fleet()->admitted_alone(modes_[i], charge, now);
    }
  }
}

void Asks::block_denied(const Ask& ask, Instant now) {
  const Denial& denial = ask.rule->denial;
  if (denial.block_after > 1) {
    const auto quota = Quota::make({.algorithm = Algorithm::kSlidingLog,
                                    .limit = denial.block_after,
                                    .window = denial.block_window});
    const auto denials = spend_one(ask, kDenialsOf, *quota, now);
    if (!denials || denials->remaining > 0) return;
  }
  std::size_t level = 0;
  if (denial.blocks.size() > 1) {
    const auto quota = Quota::make({.algorithm = Algorithm::kSlidingLog,
                                    .limit = kBlocksRemembered,
                                    .window = denial.block_memory});
    const auto blocks = spend_one(ask, kBlocksOf, *quota, now);
    const auto earlier = blocks ? kBlocksRemembered - blocks->remaining - 1 : 0;
    level = std::min(static_cast<std::size_t>(earlier), denial.blocks.size() - 1);
  }
  blocks_.add({.rule = ask.rule->id,
               .key = std::string(ask.key),
               .since = now,
               .until = now + denial.blocks[level]},
              now);
}

// Counts one event of the rule and key that is no request, on this node. Nothing if the
// store cannot.
std::optional<Decision> Asks::spend_one(const Ask& ask, std::string_view purpose,
                                        const Quota& quota, Instant now) {
  check_.begin(Operation::kSpendEach);
  const KeyName name{.rule = purpose, .bucket = ask.rule->id, .key = ask.key};
  check_.add(engine_.hash(name, quota), quota, 1);
  if (!check_.decide(engine_.local(), now)) return std::nullopt;
  return check_.decisions().front();
}

}  // namespace weir
