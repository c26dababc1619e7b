#include "nginx/judge.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/http/check/check_reply.h"
#include "server/http/check/denial_text.h"
#include "store/memory/shared_store.h"

namespace weir::nginx {
namespace {

constexpr Duration kWallInterval = std::chrono::seconds(1);

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
      headers_(gateway.headers()) {
  blocks_.share(BlockList::Audience::kProcesses);
  for (const RuleSetPtr& rules : gateway.sets()) {
    pools_.push_back(std::make_unique<AsksPool>(engine_, blocks_, rules));
  }
}

Judge::~Judge() {
  if (place_) zone_.leave(*place_);
}

void Judge::follow_wall_clock(Instant now) {
  if (now - wall_seen_ < kWallInterval) return;
  engine_.set_wall_lead(wall_clock_.now() - now);
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
  blocks_.share_from(BlockList::Audience::kFleet, log_.unknown_to_fleet());
}

void Judge::stop_telling_fleet() { blocks_.stop_sharing(BlockList::Audience::kFleet); }

void Judge::fleet_knows_blocks() { log_.fleet_knows_all(); }

Judgement Judge::judge(const Question& question) {
  const Instant now = clock_.now();
  follow_wall_clock(now);
  learn(now);
  const Judgement judgement = decide(question, now);
  tell(now);
  asked_at_ = now;
  if (judgement.kind != Judgement::Kind::kWaits) counts_.record_latency(clock_.now() - now);
  return judgement;
}

// All rules that apply are charged, or none; those in shadow only for what passes.
Judgement Judge::decide(const Question& question, Instant now) {
  AsksPool& pool = *pools_[question.rules];
  const RuleSet& rules = *pool.rules();
  Request& request = question.described.request;
  const auto repeated = rules.repeated_header(request);
  if (!repeated.empty()) {
    return {.kind = Judgement::Kind::kRepeatedHeader, .at = now, .field = repeated};
  }
  const auto applying = rules.match(request, question.described.match, engine_.wall_time(now));
  if (applying.empty()) return {.at = now};
  asks_.reset();  // to be taken again
  asks_ = pool.take(Operation::kSpendAll);
  for (const Rule* rule : applying) {
    PartScratch tier{};
    Ask ask = ask_about(*rule, request, key_scratch_, tier);
    ask.key = question.key.value_or(ask.key);
    ask.tier = question.tier.value_or(ask.tier);
    if (question.cost) ask.cost = cost_in(*question.cost);
    if (!asks_->add(ask)) return {.kind = Judgement::Kind::kTooManyLimits, .at = now};
  }
  if (asks_->decide(now) == Asks::Progress::kWaits) {
    return {.kind = Judgement::Kind::kWaits, .at = now};
  }
  return read(*asks_, now);
}

Judgement Judge::read(const Asks& asks, Instant now) {
  if (asks.progress() == Asks::Progress::kUnavailable) {
    return {.kind = Judgement::Kind::kUnavailable, .at = now};
  }
  const auto shown = most_pressing(asks);
  if (!shown) return {.at = now};
  Judgement judgement{.kind = Judgement::Kind::kDecided,
                      .at = now,
                      .ask = &asks.ask(*shown),
                      .answer = &asks.answer(*shown),
                      .limit = limit_of_all(asks, *shown, limit_items_)};
  judgement.limit.style = headers_;
  judgement.limit.wall_time = engine_.wall_time(now);
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
    : judge_(judge), asks_(std::move(judge.asks_)), at_(judge.asked_at_) {
  asks_->listen(*this);
}

void Pending::decided() noexcept {
  is_decided_ = true;
  judge_.decided_.push_back(*this);
}

Judgement Pending::judgement() {
  judge_.counts_.record_latency(judge_.clock_.now() - at_);
  return judge_.read(*asks_, at_);
}

std::uint64_t Judge::key_hash(std::string_view rule, std::string_view key) const {
  return hasher_.hash({.rule = rule, .bucket = {}, .key = key}, Quota()).low;
}

}  // namespace weir::nginx
