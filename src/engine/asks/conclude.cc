#include "engine/asks/conclude.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "engine/asks/error_bar.h"
#include "engine/asks/settle.h"
#include "engine/tenants/tenant_table.h"
#include "observe/keys/recent_asks.h"
#include "rules/named_client.h"

namespace weir {
namespace {

// REQUIRES: answer.over is set.
RuleOutcome outcome_of(const Round::Item& one, const Round& round) {
  if (!one.answer.over) return RuleOutcome::kAllowed;
  if (round.lets_pass(one)) return RuleOutcome::kShadow;
  return one.answer.cause == Answer::Cause::kBlocked ? RuleOutcome::kBlocked : RuleOutcome::kDenied;
}

// ---- denials ----

DenialCause denial_cause(const Answer& answer) {
  if (answer.decision.is_store_full) return DenialCause::kMemoryFull;
  switch (answer.cause) {
    case Answer::Cause::kBlocked: return DenialCause::kBlock;
    case Answer::Cause::kDenyList: return DenialCause::kDenyList;
    case Answer::Cause::kMissingKey: return DenialCause::kMissingKey;
    case Answer::Cause::kStoreFailed: return DenialCause::kStoreFailure;
    case Answer::Cause::kCounted:
    case Answer::Cause::kNotCounted:
    case Answer::Cause::kUnderWay: break;
  }
  return DenialCause::kLimit;
}

// ---- blocks ----

// No rule's id begins like this, so no rule can reach these counters.
constexpr std::string_view kDenialsOf("\0denials", 8);
constexpr std::string_view kBlocksOf("\0blocks", 7);

// How many of a key's blocks are remembered within block_memory: far more than any rule has
// lengths, so that all that matter are among them.
constexpr std::int64_t kBlocksRemembered = 64;

// Counts one event on this node. Returns how many more fit into the window; nothing if the store
// cannot count.
std::optional<std::int64_t> count(Engine& engine, const KeyName& name, std::int64_t limit,
                                  Duration window, Instant now) {
  const auto quota =
      Quota::make({.algorithm = Algorithm::kSlidingLog, .limit = limit, .window = window});
  PromptBatch batch;
  batch.begin(Operation::kSpendEach);
  batch.add(engine.hash(name, *quota), *quota, 1);
  if (!batch.decide(engine.local(), now)) return std::nullopt;
  return batch.decisions().front().remaining;
}

// Secrets are kept as digests. Out of line, so that plain keys pay nothing for it.
[[gnu::noinline]] void record_secret(CoreTraffic& traffic, const DenialFacts& facts,
                                     DenialTexts texts) {
  const StoredKey digest(texts.key, StoredKey::Kind::kSecret);
  texts.key = digest;
  traffic.record_denial(facts, texts);
}
[[gnu::noinline]] void sample_secret(CoreTraffic& traffic, CoreBusiestKeys::Sample sample,
                                     Instant now) {
  const StoredKey digest(sample.key, StoredKey::Kind::kSecret);
  sample.key = digest;
  traffic.sample_key(sample, now);
}

// Counts one denial, and blocks the key if that is one too many within the rule's block_window.
// Each block within block_memory is longer than the one before. REQUIRES: the rule has blocks
void block_denied(Engine& engine, BlockList& blocks, const Rule& rule, std::string_view key,
                  Instant now) {
  const Denial& denial = rule.denial;
  if (denial.block_after > 1) {
    const auto left = count(engine, {.rule = kDenialsOf, .bucket = rule.id, .key = key},
                            denial.block_after, denial.block_window, now);
    if (!left || *left > 0) return;
  }
  std::size_t level = 0;
  if (denial.blocks.size() > 1) {
    const auto left = count(engine, {.rule = kBlocksOf, .bucket = rule.id, .key = key},
                            kBlocksRemembered, denial.block_memory, now);
    const std::int64_t earlier = left ? kBlocksRemembered - *left - 1 : 0;
    level = std::min(static_cast<std::size_t>(earlier), denial.blocks.size() - 1);
  }
  blocks.add({.rule = rule.id,
              .key = std::string(stored_key(rule, key)),
              .since = now,
              .until = now + denial.blocks[level]},
             now);
}

class Conclusion {
 public:
  Conclusion(Round& round, Engine& engine, BlockList& blocks, Instant now)
      : round_(round), engine_(engine), blocks_(blocks), now_(now) {}

  void draw() {
    CoreRecentAsks* const memory = spends(operation_) ? engine_.recent_asks() : nullptr;
    bool is_remembered = false;
    for (const auto& each : round_.items()) {
      Item& item = *each;
      item.answer.over = !item.answer.allowed();
      block_for_denial(item);
      if (item.answer.over && spends(operation_)) remember_denial(item);
      if (item.answer.over && item.is_shadow()) item.answer.decision.verdict = Verdict::kAllowed;
      if (operation_ != Operation::kCharge) record(item);
      judge(item);
      is_remembered |= memory != nullptr && is_wanted(item, *memory);
    }
    if (engine_.fleet() != nullptr) report_counted_alone();
    if (is_remembered) remember_asks(*memory);
  }

 private:
  using Item = Round::Item;

  void record(const Item& item);
  void block_for_denial(Item& item);
  void remember_denial(const Item& item);
  void record_ruleless(const Item& item);
  void lift_blocks(const Ask& ask);
  void judge(const Item& item) {
    ErrorBar* const bar = engine_.error_bar;
    if (bar == nullptr || item.ask.rule == nullptr) return;
    if (bar->watches(item.hashes.front(), item.answer.quota.window(), now_)) judge(*bar, item);
  }
  void judge(ErrorBar& bar, const Item& item);
  bool has_charged() const;
  bool is_for_limits(const Item& item) const;
  static std::uint64_t remembered_key(const Item& item) {
    return item.name.key.low + item.name.bucket.low;
  }
  static bool is_wanted(const Item& item, const CoreRecentAsks& memory) {
    return item.ask.rule != nullptr && memory.wants(remembered_key(item));
  }
  void remember_asks(CoreRecentAsks& memory);
  void report_counted_alone();
  void report(const Item& item);

  Round& round_;
  Engine& engine_;
  BlockList& blocks_;
  const Instant now_;
  const Operation operation_ = round_.operation();
};

void Conclusion::record(const Item& item) {
  const Ask& ask = item.ask;
  const Answer& answer = item.answer;
  const bool is_counted = spends(operation_) && answer.cause != Answer::Cause::kNotCounted;
  if (operation_ == Operation::kLook) engine_.traffic().record_look();
  if (is_counted) {
    static constexpr Decision kPassed{};
    const bool passes = !answer.over || round_.lets_pass(item);
    engine_.traffic().record(passes ? kPassed : answer.decision, answer.quota.active(), now_);
  }
  if (answer.is_alone) engine_.traffic().record_fallback();
  if (ask.rule == nullptr) return record_ruleless(item);
  const Rule& rule = *ask.rule;
  if (is_counted) {
    const RuleOutcome outcome = outcome_of(item, round_);
    const std::uint64_t hash = item.hashes.front().low;
    CoreTraffic& traffic = engine_.traffic();
    if (traffic.record_rule(rule.number, outcome, hash, now_)) {
      const CoreBusiestKeys::Sample sample{rule.number, outcome, hash, ask.key};
      has_secret_key(rule) ? sample_secret(traffic, sample, now_)
                           : traffic.sample_key(sample, now_);
    }
  }
  if (operation_ == Operation::kReset) lift_blocks(ask);
}

// A caller that names an address resets the counter of its network. The address may be blocked
// itself. A person who has blocked the whole network meant more than it, so that block stays.
[[gnu::noinline]] void Conclusion::lift_blocks(const Ask& ask) {
  const Rule& rule = *ask.rule;
  const bool is_callers = ask.key_origin == Ask::KeyOrigin::kCaller;
  const std::string client = is_callers && ask.client ? ask.client->to_string() : std::string();
  PartScratch scratch;
  const bool names_network =
      client != ask.key && named_client(rule, client, scratch).counted == ask.key;
  const StoredKey key = stored_key(rule, ask.key);
  if (!names_network) {
    blocks_.lift(rule.id, key, now_);
    return;
  }
  blocks_.lift(rule.id, client, now_);
  blocks_.lift_unless_by_hand(rule.id, key, now_);
}

// Judges plain requests by one sliding window of this node alone that holds nothing.
[[gnu::noinline]] void Conclusion::judge(ErrorBar& bar, const Item& item) {
  const Answer& answer = item.answer;
  const Quota& quota = answer.quota;
  const bool is_slid = quota.algorithm() == Algorithm::kSlidingWindow || quota.is_never_over();
  if (!is_slid || quota.limit() > ErrorBar::kUnitsMax || item.limits.size() != 1) return;
  if (item.mode != Mode::kLocal || item.ask.rule->holds_max > 0) return;
  if (operation_ == Operation::kLook || answer.cause != Answer::Cause::kCounted) return;
  const Charge charge{.key = item.hashes.front(), .quota = &quota, .cost = item.ask.cost};
  if (operation_ == Operation::kReset) return bar.follow(operation_, charge, now_);
  if (!is_hit(operation_) || item.is_apart()) return bar.forget(charge.key, quota.window(), now_);
  const bool was_admitted = !answer.over;
  const bool was_charged = was_admitted && has_charged();
  if (charge.cost < 0 && was_charged) return bar.follow(Operation::kCharge, charge, now_);
  const bool is_plain = charge.cost > 0 && charge.cost <= quota.limit() &&
                        !item.ask.rule->is_proportional && !answer.decision.is_store_full;
  if (!is_plain) return;
  bar.judge({item.ask.rule->number, charge, was_admitted, was_charged}, now_);
}

// From then on the answer is the block's: waiting only for the limit would be in vain. If a short
// block ends before the limit admits again, waiting only for the block would be in vain, too.
void Conclusion::block_for_denial(Item& item) {
  const Ask& ask = item.ask;
  Answer& answer = item.answer;
  if (!answer.over || ask.rule == nullptr || ask.rule->denial.blocks.empty()) return;
  const Rule& rule = *ask.rule;
  // A node that decides alone has only its share. A key without a place in the store has done
  // nothing. Neither is a reason to block the key everywhere.
  const bool by_own_doing = !answer.is_alone && !answer.decision.is_store_full;
  const bool may_block = answer.cause == Answer::Cause::kCounted && by_own_doing &&
                         !round_.lets_pass(item) && spends(operation_) && ask.cost > 0;
  if (!may_block) return;
  block_denied(engine_, blocks_, rule, ask.key, now_);
  const auto until = block_end(blocks_, rule, ask.key, std::nullopt, now_);
  if (!until) return;
  const Instant admits = now_ + answer.decision.retry_after;
  answer.decision = blocked_until(std::max(*until, admits), answer.quota, now_);
  item.decisions.clear();  // the client waits for the block, not for limits
}

// Records the denial as the caller hears it, for people who ask later why.
void Conclusion::remember_denial(const Item& item) {
  const Ask& ask = item.ask;
  const Answer& answer = item.answer;
  const bool is_proxied = ask.rule != nullptr && ask.key_origin == Ask::KeyOrigin::kRequest;
  DenialFacts facts{.at = now_,
                    .rule = ask.rule == nullptr ? engine_.ruleless() : ask.rule->number,
                    .cause = denial_cause(answer),
                    .is_shadow = round_.lets_pass(item),
                    .door = round_.door()};
  if (is_proxied && facts.door == DenialDoor::kHttp) facts.door = DenialDoor::kAuth;
  if (is_proxied && !facts.is_shadow) {
    facts.status = static_cast<std::uint16_t>(round_.denial_status().of(*ask.rule));
  }
  facts.key_hash = item.hashes.front().low;
  facts.cost = ask.cost;
  facts.limit = answer.decision.limit;
  facts.remaining = answer.decision.remaining;
  if (answer.decision.verdict != Verdict::kNever) facts.retry_after = answer.decision.retry_after;
  facts.client = ask.client.value_or(IpAddress());
  const DenialTexts texts{.method = round_.method(),
                          .key = ask.key,
                          .path = round_.path(),
                          .country = round_.country()};
  if (ask.rule != nullptr && has_secret_key(*ask.rule)) {
    return record_secret(engine_.traffic(), facts, texts);
  }
  engine_.traffic().record_denial(facts, texts);
}

// Charges without a rule switch together, by their common figures.
void Conclusion::record_ruleless(const Item& item) {
  if (!spends(operation_) || !item.ask.quota.switches()) return;
  const RuleOutcome outcome = outcome_of(item, round_);
  engine_.traffic().record_rule(engine_.ruleless(), outcome, item.hashes.front().low, now_);
}

// Whether the counters of costs that fit have changed: not after a look, nor after all or nothing
// if an ask is denied.
bool Conclusion::has_charged() const {
  if (operation_ != Operation::kSpendAll) return operation_ != Operation::kLook;
  return std::ranges::none_of(
      round_.items(), [](const auto& item) { return item->answer.over && !item->is_shadow(); });
}

// Tells the fleet what this node's counters have counted while the store failed, or under names
// that keys are about to lose.
void Conclusion::report_counted_alone() {
  if (!spends(operation_)) return;
  const bool others_count = has_charged();
  for (const auto& each : round_.items()) {
    const Item& item = *each;
    const bool is_early = item.mode == Mode::kLocal && engine_.awaits_hasher();
    const bool alone =
        (item.answer.is_alone || is_early) && item.answer.cause == Answer::Cause::kCounted;
    const bool is_owed = item.own == Operation::kCharge || operation_ == Operation::kCharge;
    const bool is_kept = item.own != Operation::kLook && (others_count || item.is_apart());
    const bool counts = is_owed || (is_kept && !item.answer.over);
    if (alone && counts) report(item);
  }
}

void Conclusion::report(const Item& item) {
  Fleet& fleet = engine_.fleet_for(item.mode);
  const Ask& ask = item.ask;
  if (awaits_hasher(engine_, item.mode)) {
    const std::string_view rule = ask.rule == nullptr ? std::string_view() : ask.rule->id;
    const KeyName name{.rule = rule, .bucket = item.bucket, .key = item.key};
    return item.mode == Mode::kLocal ? fleet.counted_early(name, item.limits, ask.cost, now_)
                                     : fleet.admitted_early(name, item.limits, ask.cost, now_);
  }
  for (std::size_t limit = 0; limit < item.limits.size(); ++limit) {
    fleet.admitted_alone({item.hashes[limit], &item.limits[limit], ask.cost, item.tag()}, now_);
  }
}

// Whether another limit might have decided otherwise. Not if another rule denies the request, nor
// if a person blocked the key. Keys with their own limits are left out in a fleet: nobody can tell
// later which keys had them.
// REQUIRES: item.ask.rule is set.
bool Conclusion::is_for_limits(const Item& item) const {
  const Rule& rule = *item.ask.rule;
  const bool has_limits = rule.number != kNoRuleNumber && !rule.has_slots();
  if (!has_limits || item.own == Operation::kLook) return false;
  const Answer::Cause cause = item.answer.cause;
  const bool blocks_itself = cause == Answer::Cause::kBlocked && !rule.denial.blocks.empty();
  if (cause != Answer::Cause::kCounted && !blocks_itself) return false;
  const bool has_own = engine_.fleet() != nullptr && rule.overrides.contains(item.ask.key);
  if (has_own) return false;
  if (rule.has_tenants && engine_.tenants != nullptr) {
    const auto terms = engine_.tenants->find(item.ask.key);
    if (terms && terms->plan.empty()) return false;  // nobody can tell later
  }
  if (operation_ != Operation::kSpendAll || item.is_apart()) return true;
  return std::ranges::none_of(round_.items(), [&](const auto& other) {
    return other.get() != &item && other->answer.over && !other->is_shadow();
  });
}

void Conclusion::remember_asks(CoreRecentAsks& memory) {
  for (const auto& each : round_.items()) {
    const Item& item = *each;
    if (!is_wanted(item, memory) || !is_for_limits(item)) continue;
    memory.add({.key = remembered_key(item),
                .tier = RecentAsk::tier_named(item.ask.tier),
                .place = static_cast<std::uint16_t>(item.ask.rule->place_of(item.ask.key)),
                .rule = static_cast<std::uint16_t>(item.ask.rule->number),
                .operation = operation_ == Operation::kCharge ? operation_ : item.own,
                .cost = item.ask.cost,
                .at = now_});
  }
}

}  // namespace

void conclude(Round& round, Engine& engine, BlockList& blocks, Instant now) {
  Conclusion(round, engine, blocks, now).draw();
}

}  // namespace weir
