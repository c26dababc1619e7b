#include "nginx/judge.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "store/memory/shared_store.h"

namespace weir::nginx {
namespace {

constexpr Duration kWallInterval = std::chrono::seconds(1);

// No id of a rule begins so.
constexpr std::string_view kWaitingFor("\0waiting", 8);
constexpr std::string_view kMayCount("\0may count", 10);

Duration longest_wait(const Asks& asks) {
  Duration wait{0};
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (!asks.ask(i).rule->shadow) wait = std::max(wait, asks.answer(i).wait);
  }
  return wait;
}

// Numbers the ids as all workers do.
CoreTraffic& begin_counting(Traffic& traffic, const RuleIds& ids) {
  for (const std::string& id : ids.all()) traffic.rules().number_of(id);
  return traffic.add_core();
}

}  // namespace

Judge::Judge(const Gateway& gateway, const Zone& zone, std::span<CoreTraffic> figures,
             const RuleIds& ids, const Clock& clock)
    : clock_(clock),
      zone_(zone),
      place_(zone.take_place(::getpid(), figures.size())),
      hasher_(zone.secret()),
      store_(make_shared_memory_store(zone.table())),
      log_(zone.blocks()),
      blocks_(hasher_, std::min(log_.blocks_max(), BlockList::kBlocksMax)),
      traffic_(place_ ? Traffic(figures, *place_) : Traffic()),
      counts_(begin_counting(traffic_, ids)),
      engine_(*store_, hasher_, counts_),
      under_way_(zone.under_way()),
      voice_(engine_, gateway.headers()) {
  blocks_.share(BlockList::Audience::kProcesses);
  for (const RuleSetPtr& rules : gateway.sets()) {
    pools_.push_back(std::make_unique<AsksPool>(engine_, blocks_, rules));
  }
}

Judge::~Judge() {
  if (place_) zone_.leave(*place_);
}

void Judge::use_rules(const std::vector<RuleSetPtr>& sets) {
  for (std::size_t number = 0; number < sets.size(); ++number) {
    pools_[number]->use_rules(sets[number]);
  }
}

void Judge::follow_wall_clock(Instant now) {
  if (now - wall_seen_ < kWallInterval) return;
  engine_.set_wall_lead(lead_of(wall_clock_, clock_));
  wall_seen_ = now;
}

void Judge::learn(Instant now) {
  tell(now);
  log_.read_into(blocks_, now);
  told_ = blocks_.changes();
}

void Judge::tell(Instant now) {
  if (blocks_.changes() != told_) log_.write(blocks_, now);
}

void Judge::tell_fleet(Instant now) {
  learn(now);
  blocks_.share(BlockList::Audience::kFleet, log_.unknown_to_fleet());
}

void Judge::stop_telling_fleet() { blocks_.stop_sharing(BlockList::Audience::kFleet); }

void Judge::fleet_knows_blocks() { log_.fleet_knows_all(); }

Judgement Judge::judge(const Question& question, Instant now) {
  follow_wall_clock(now);
  learn(now);
  stay_.reset();
  const Judgement judgement = decide(question, now);
  tell(now);
  if (judgement.kind == Judgement::Kind::kRefused) stay_.reset();
  asked_at_ = now;
  if (judgement.kind != Judgement::Kind::kWaits) counts_.record_latency(clock_.now() - now);
  return judgement;
}

// All rules that apply are charged, or none; those in shadow only for what passes. A request is
// under way from here on, until it is denied or ends.
Judgement Judge::decide(const Question& question, Instant now) {
  AsksPool& pool = *pools_[question.rules];
  pool.take_again(asks_, Operation::kSpendAll);
  const auto refusal = ask_rules(*pool.rules(), question.described, engine_.wall_time(now), *asks_,
                                 [&](Ask& ask) { admit(ask, question); });
  if (refusal) return {.kind = Judgement::Kind::kRefused, .at = now, .refusal = *refusal};
  if (asks_->empty()) return {.at = now};
  if (asks_->decide(now) == Asks::Progress::kWaits) {
    return {.kind = Judgement::Kind::kWaits, .at = now};
  }
  return read(*asks_, stay_, now);
}

Stay& Judge::stay(const Question& question) {
  if (stay_ == nullptr) stay_ = std::make_unique<Stay>(question.rules, under_way_);
  return *stay_;
}

// How many requests of the key are under way, with this one; 0 if this one is not counted.
std::int64_t Judge::enter(const Ask& ask, const Question& question) {
  using Kind = Concurrency::Entrance::Kind;
  if (ask.is_on_deny_list() || ask.is_on_allow_list()) return 0;
  const Rule& rule = *ask.rule;
  const std::int64_t limit = rule.quota.limit();
  const KeyHash key = hasher_.hash({.rule = rule.id, .bucket = {}, .key = ask.key}, rule.quota);
  const auto entrance = under_way_.enter(key, limit);
  switch (entrance.kind) {
    case Kind::kEntered: stay(question).hold(key); return entrance.under_way;
    case Kind::kOver: return limit + 1;
    case Kind::kNoPlace: break;
  }
  return rule.on_full == OnFull::kDeny ? limit + 1 : 0;
}

// How many requests are under way, with this one, that the rule may count when their responses are
// known; 0: nobody knows. One that no limit has room for holds nothing, or those that are sure to
// be denied would take the places of others while they wait for a Redis.
std::int64_t Judge::reserve(const Ask& ask, const Question& question) {
  using Kind = Concurrency::Entrance::Kind;
  if (ask.is_on_deny_list() || ask.is_on_allow_list()) return 0;
  const Rule& rule = *ask.rule;
  const KeyHash share =
      hasher_.hash({.rule = kMayCount, .bucket = rule.id, .key = ask.key}, rule.quota);
  const auto limits = rule.limits_for(ask.key, ask.tier);
  const std::int64_t least = std::ranges::min(limits, {}, &Quota::capacity).capacity();
  const std::int64_t most = std::max<std::int64_t>(1, least / rule.response->reserved);
  const auto entrance = under_way_.enter_living(share, most);
  switch (entrance.kind) {
    case Kind::kEntered: stay(question).reserve(share); return entrance.under_way;
    case Kind::kOver: return most + 1;
    case Kind::kNoPlace: break;
  }
  return rule.on_full == OnFull::kDeny ? std::numeric_limits<std::int64_t>::max() : 0;
}

// How long the request may wait: not at all, unless there is a place for one more.
Duration Judge::patience(const Ask& ask, const Question& question) {
  const Rule& rule = *ask.rule;
  const Denial& denial = rule.denial;
  if (denial.delay_max == Duration{0} || ask.cost == 0) return Duration{0};
  if (rule.shadow) return denial.delay_max;  // counted so, and nobody waits
  const KeyHash place =
      hasher_.hash({.rule = kWaitingFor, .bucket = rule.id, .key = {}}, rule.quota);
  const auto entrance = under_way_.enter(place, denial.waiting_max);
  if (entrance.kind != Concurrency::Entrance::Kind::kEntered) return Duration{0};
  stay(question).wait_at(place);
  return denial.delay_max;
}

// A rule that counts by the response charges then; now what it reserves has to be left.
void Judge::admit(Ask& ask, const Question& question) {
  const Rule& rule = *ask.rule;
  if (question.cost) ask.cost = cost_by(*question.cost);
  if (rule.effect == Rule::Effect::kConcurrency) ask.cost = enter(ask, question);
  if (rule.response) {
    stay(question).owe(ask, asks_->size());
    ask.cost = 1;
    ask.counting = Ask::Counting::kNothing;
    if (rule.response->reserved > 0) ask.under_way = reserve(ask, question);
  }
  ask.patience = patience(ask, question);
}

Judgement Judge::read(const Asks& asks, std::unique_ptr<Stay>& stay, Instant now) {
  if (asks.progress() != Asks::Progress::kUnavailable) return decided(asks, stay, now);
  stay.reset();
  return {.kind = Judgement::Kind::kUnavailable, .at = now};
}

Judgement Judge::decided(const Asks& asks, std::unique_ptr<Stay>& stay, Instant now) {
  Judgement judgement{.at = now, .said = voice_.say(asks, now)};
  if (judgement.said.ask != nullptr) judgement.kind = Judgement::Kind::kDecided;
  if (judgement.is_denied()) {
    stay.reset();
    return judgement;
  }
  judgement.wait = longest_wait(asks);
  if (stay == nullptr) return judgement;
  stay->forget_denied(asks);
  if (judgement.wait == Duration{0}) stay->go_on();
  if (stay->is_empty()) stay.reset();
  return judgement;
}

void Judge::go_on() {
  while (!decided_.empty()) {
    Pending& first = decided_.front();
    decided_.pop_front();
    first.resume();
  }
}

Pending::Pending(Judge& judge)
    : judge_(judge),
      asks_(std::move(judge.asks_)),
      stay_(std::move(judge.stay_)),
      at_(judge.asked_at_) {
  asks_->listen(*this);
}

void Pending::decided() noexcept {
  is_decided_ = true;
  judge_.decided_.push_back(*this);
}

Judgement Pending::judgement() {
  judge_.counts_.record_latency(judge_.clock_.now() - at_);
  return judge_.read(*asks_, stay_, at_);
}

void Judge::charge(Stay& stay, const ResponseHead& response) {
  const Instant now = clock_.now();
  AsksPool& pool = *pools_[stay.rules()];
  const AsksPtr asks = pool.take(Operation::kCharge);
  stay.pay(response, *pool.rules(), *asks);
  if (!asks->empty()) {
    asks->decide(now);
    tell(now);
  }
  stay.let_go();
}

std::uint64_t Judge::key_hash(std::string_view rule, std::string_view key) const {
  return hasher_.hash({.rule = rule, .bucket = {}, .key = key}, Quota()).low;
}

}  // namespace weir::nginx
