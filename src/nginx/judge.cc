#include "nginx/judge.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/memory/shared_store.h"

namespace weir::nginx {
namespace {

constexpr Duration kWallInterval = std::chrono::seconds(1);

// An empty one stays, to be used again.
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
      holds_(*store_),
      blocks_(zone.blocks(), hasher_),
      under_way_(zone.under_way()),
      traffic_(traffic_at(figures, under_way_.place())),
      counts_(begin_counting(traffic_, ids)),
      engine_(*store_, hasher_, counts_),
      leased_(due_, clock),
      voice_(engine_, gateway.headers()) {
  engine_.holds = &holds_;
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
  if (stay_ == nullptr || !stay_->is_empty())
    stay_ = std::make_unique<Stay>(under_way_, leased_, hasher_);
  stay_->begin(question.rules);
  const Judgement judgement = decide(question, now);
  blocks_.tell(now);
  asked_at_ = now;
  if (judgement.is_made()) counts_.record_latency(clock_.now() - now);
  return judgement;
}

// Charges all rules that apply, or none; rules in shadow only for requests that pass. A request is
// under way from here on, until it is denied or ends.
Judgement Judge::decide(const Question& question, Instant now) {
  AsksPool& pool = *pools_[question.rules];
  pool.take_again(asks_, Operation::kSpendAll);
  const auto prepare = [&](Asks& asks) {
    if (question.passes) asks.let_pass();
    asks.answer_denials(question.denials);
  };
  prepare(*asks_);
  const auto refusal =
      ask_rules(*pool.rules(), question.described, engine_.wall_time(now), *asks_, [&](Ask& ask) {
        if (ask.rule->has_slots()) {
          Asks* const asks =
              leased_.ask(pool, ask, question.described.request, stay_->asked_slots());
          if (asks != nullptr) prepare(*asks);
          return false;
        }
        if (question.cost) ask.cost = cost_by(*question.cost);
        stay_->admit(ask, asks_->size(), question.body);
        return true;
      });
  if (refusal) {
    stay_->end();
    return {.kind = Judgement::Kind::kRefused, .at = now, .refusal = *refusal};
  }
  if (stay_->lacks_body()) {
    stay_->end();
    return {.kind = Judgement::Kind::kNeedsBody, .at = now};
  }
  if (asks_->empty() && stay_->is_empty()) return {.at = now};
  if (!stay_->is_empty()) stay_->asked_slots().begin(now);
  if (ask_rest(*asks_, *stay_, now) != Asks::Progress::kWaits) return read(*asks_, *stay_, now);
  if (stay_->slots().wait()) asks_->keep();
  return {.kind = Judgement::Kind::kWaits, .at = now};
}

Asks::Progress Judge::ask_rest(Asks& asks, const Stay& stay, Instant now) {
  if (stay.slots().wait()) return Asks::Progress::kWaits;
  if (stay.slots().missing() != nullptr || asks.empty()) return Asks::Progress::kAnswered;
  return asks.decide(now);
}

Judgement Judge::read(const Asks& rest, Stay& stay, Instant now) {
  leased_.forget_asks();
  const Asks& asks = stay.slots().deciding(rest);
  const bool has_no_room = stay.slots().missing() != nullptr && asks.answer(0).allowed();
  if (asks.progress() != Asks::Progress::kUnavailable && !has_no_room) {
    return decided(asks, stay, now);
  }
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
  if (stay.is_empty()) return judgement;  // nor does it have to wait
  judgement.wait = longest_wait(asks);
  stay.passes(asks, judgement.wait, now);
  return judgement;
}

std::unique_ptr<Stay> Judge::take_stay() { return take_unless_empty(stay_); }

Pending::Pending(Judge& judge)
    : judge_(judge),
      asks_(std::move(judge.asks_)),
      stay_(std::move(judge.stay_)),
      at_(judge.asked_at_),
      has_asked_all_(!stay_->slots().wait()) {
  if (has_asked_all_) {
    asks_->listen(*this);
    return;
  }
  stay_->asked_slots().belong_to(*this);
}

void Pending::decided() noexcept { judge_.due_.wake(*this); }

bool Pending::is_decided() {
  if (has_asked_all_ || stay_->slots().wait()) {
    return has_asked_all_ && asks_->progress() != Asks::Progress::kWaits;
  }
  has_asked_all_ = true;
  const Instant now = judge_.clock_.now();
  if (Judge::ask_rest(*asks_, *stay_, now) != Asks::Progress::kWaits) {
    judge_.blocks_.tell(now);
    return true;
  }
  asks_->listen(*this);
  return false;
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
