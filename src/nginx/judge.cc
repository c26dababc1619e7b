#include "nginx/judge.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/memory/shared_store.h"

namespace weir::nginx {
namespace {

constexpr Duration kWallInterval = std::chrono::seconds(1);

// An empty one is used again.
std::unique_ptr<Stay> take_unless_empty(std::unique_ptr<Stay>& stay) {
  return stay == nullptr || stay->is_empty() ? nullptr : std::move(stay);
}

Duration longest_wait(const Asks& asks) {
  Duration wait{0};
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (!asks.ask(i).is_shadow()) wait = std::max(wait, asks.answer(i).wait);
  }
  return wait;
}

Traffic traffic_at(std::span<CoreTraffic> figures, std::optional<std::size_t> place) {
  return place && *place < figures.size() ? Traffic(figures, *place) : Traffic();
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
      hasher_(zone.secret()),
      store_(make_shared_memory_store(zone.table())),
      blocks_(zone.blocks(), hasher_),
      under_way_(zone.under_way()),
      traffic_(traffic_at(figures, under_way_.place())),
      counts_(begin_counting(traffic_, ids)),
      engine_(*store_, hasher_, counts_),
      voice_(engine_, gateway.headers()) {
  for (const RuleSetPtr& rules : gateway.sets()) {
    pools_.push_back(
        std::make_unique<AsksPool>(engine_, blocks_.list(), rules, DenialDoor::kNginx));
  }
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

Judgement Judge::judge(const Question& question, Instant now) {
  follow_wall_clock(now);
  blocks_.learn(now);
  if (stay_ == nullptr || !stay_->is_empty()) stay_ = std::make_unique<Stay>(under_way_, hasher_);
  stay_->begin(question.rules);
  const Judgement judgement = decide(question, now);
  blocks_.tell(now);
  asked_at_ = now;
  if (judgement.is_made()) counts_.record_latency(clock_.now() - now);
  return judgement;
}

// All rules that apply are charged, or none; those in shadow only for what passes. A request is
// under way from here on, until it is denied or ends.
Judgement Judge::decide(const Question& question, Instant now) {
  AsksPool& pool = *pools_[question.rules];
  pool.take_again(asks_, Operation::kSpendAll);
  if (question.passes) asks_->let_pass();
  const auto refusal =
      ask_rules(*pool.rules(), question.described, engine_.wall_time(now), *asks_, [&](Ask& ask) {
        if (question.cost) ask.cost = cost_by(*question.cost);
        stay_->admit(ask, asks_->size(), question.body);
      });
  if (refusal) {
    stay_->end();
    return {.kind = Judgement::Kind::kRefused, .at = now, .refusal = *refusal};
  }
  if (stay_->lacks_body()) {
    stay_->end();
    return {.kind = Judgement::Kind::kNeedsBody, .at = now};
  }
  if (asks_->empty()) return {.at = now};
  if (asks_->decide(now) == Asks::Progress::kWaits) {
    return {.kind = Judgement::Kind::kWaits, .at = now};
  }
  return read(*asks_, *stay_, now);
}

Judgement Judge::read(const Asks& asks, Stay& stay, Instant now) {
  if (asks.progress() != Asks::Progress::kUnavailable) return decided(asks, stay, now);
  stay.end();
  return {.kind = Judgement::Kind::kUnavailable, .at = now};
}

Judgement Judge::decided(const Asks& asks, Stay& stay, Instant now) {
  Judgement judgement{.at = now, .said = &voice_.say(asks, now)};
  if (judgement.said->ask != nullptr) judgement.kind = Judgement::Kind::kDecided;
  if (judgement.is_denied()) {
    stay.end();
    return judgement;
  }
  if (stay.is_empty()) return judgement;  // nor has it to wait
  judgement.wait = longest_wait(asks);
  stay.passes(asks, judgement.wait);
  return judgement;
}

std::unique_ptr<Stay> Judge::take_stay() { return take_unless_empty(stay_); }

void Judge::go_on() {
  while (!due_.empty()) {
    Waiting& first = due_.front();
    due_.pop_front();
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
  judge_.wake(*this);
}

Judgement Pending::judgement() {
  judge_.counts_.record_latency(judge_.clock_.now() - at_);
  return judge_.read(*asks_, *stay_, at_);
}

std::unique_ptr<Stay> Pending::take_stay() { return take_unless_empty(stay_); }

void Judge::charge(Stay& stay, const ResponseHead& response) {
  charge(stay, [&](const RuleSet& rules, Asks& asks) { stay.pay(response, rules, asks); });
}

std::optional<std::string> Judge::charge_for_body(Stay& stay) {
  std::optional<std::string> unknown;
  charge(stay, [&](const RuleSet& rules, Asks& asks) { unknown = stay.pay_for_body(rules, asks); });
  return unknown;
}

void Judge::charge(Stay& stay, const std::function<void(const RuleSet&, Asks&)>& pay) {
  const Instant now = clock_.now();
  AsksPool& pool = *pools_[stay.rules()];
  const AsksPtr asks = pool.take(Operation::kCharge);
  pay(*pool.rules(), *asks);
  if (!asks->empty()) {
    asks->decide(now);
    blocks_.tell(now);
  }
  stay.let_go();
}

std::uint64_t Judge::key_hash(std::string_view rule, std::string_view key) const {
  return hasher_.hash({.rule = rule, .bucket = {}, .key = key}, Quota()).low;
}

}  // namespace weir::nginx
