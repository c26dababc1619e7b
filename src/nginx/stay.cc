#include "nginx/stay.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/decimal.h"
#include "config/rules/rule_config.h"

namespace weir::nginx {

std::int64_t cost_by(std::string_view text) {
  return read_decimal<std::int64_t>(text) == 0 ? 0 : cost_in(text);
}

namespace {

// No id of a rule begins like these.
constexpr std::string_view kWaitingFor("\0waiting", 8);
constexpr std::string_view kMayCount("\0may count", 10);

bool is_error(int status) { return status >= 400; }

bool is_listed(const Ask& ask) { return ask.is_on_deny_list() || ask.is_on_allow_list(); }

// The requests under way, with this one, as a limit counts them; 0: unknown.
std::int64_t counted(const Concurrency::Entrance& entrance, std::int64_t limit, const Rule& rule) {
  if (entrance.has_entered()) return entrance.under_way;
  const bool is_over = entrance.kind == Concurrency::Entrance::Kind::kOver;
  return is_over || rule.on_full == OnFull::kDeny ? limit + 1 : 0;
}

static_assert(ResponseCount::kPathMax <= JsonNumbers::kPathMax);
static_assert(ResponseCount::kPathNamesMax <= JsonNumbers::kNamesMax);

std::int64_t least_of(std::span<const Quota> limits) {
  return std::ranges::min(limits, {}, &Quota::capacity).capacity();
}

// The request's own statement of its cost, in units of the rule.
AskedCost asked_of(const ResponseCount& count, const BodyStart* body) {
  const auto& path = count.reserved_path;
  if (!path || body == nullptr) return {.units = count.reserved};
  if (count.prices != nullptr) return asked_cost(*body, *path, count.reserved, *count.prices);
  return {.units = asked_tokens(*body, *path, count.reserved)};
}

// Work without a known response costs the estimate. nullopt: the request's own cost counts.
std::optional<std::int64_t> cost_of(const ResponseHead& response, const ResponseCount& count,
                                    std::int64_t estimate) {
  if (count.cost_from == ResponseCount::CostFrom::kNowhere) return std::nullopt;
  if (count.is_of_body()) {
    return response.is_known && is_error(response.status) ? 0 : estimate;
  }
  const std::string_view text = response.field(count.cost_name);
  const bool is_known = response.is_known || !text.empty();
  return is_known ? cost_by(text) : estimate;
}

}  // namespace

void Stay::admit(Ask& ask, std::size_t place, const BodyStart* body) {
  const Rule& rule = *ask.rule;
  const bool is_of_responses = rule.response.has_value();
  const bool is_of_concurrency = rule.effect == Rule::Effect::kConcurrency;
  if (!is_of_responses && !is_of_concurrency && rule.denial.delay_max == Duration{0}) return;
  is_empty_ = false;  // perhaps: passes() looks again
  if (is_of_concurrency) ask.under_way = enter(ask);
  if (is_of_responses) {
    const bool is_free = is_listed(ask);
    lacks_body_ = lacks_body_ || (body == nullptr && !is_free && rule.response->reserved_path);
    if (lacks_body_) return;
    const std::int64_t limit = least_of(rule.limits_for(ask.key, ask.tier));
    Bill& bill = owe(ask, place, limit, is_free ? nullptr : body);
    ask.cost = 1;
    ask.counting = Ask::Counting::kNothing;
    if (rule.response->reserved > 0 && !is_free) reserve(ask, limit, bill);
  }
  ask.patience = patience(ask);
}

std::int64_t Stay::enter(const Ask& ask) {
  if (is_listed(ask)) return 0;
  const Rule& rule = *ask.rule;
  const KeyHash key = hasher_.hash({.rule = rule.id, .bucket = {}, .key = ask.key}, rule.quota);
  const auto entrance = under_way_.enter(key, rule.quota.limit());
  if (entrance.has_entered()) held_.push_back(key);
  return counted(entrance, rule.quota.limit(), rule);
}

// An ask that no limit has room for holds nothing. Else requests that are sure to be denied would
// take others' places while they wait for a Redis.
void Stay::reserve(Ask& ask, std::int64_t limit, Bill& bill) {
  const Rule& rule = *ask.rule;
  const KeyHash share =
      hasher_.hash({.rule = kMayCount, .bucket = rule.id, .key = ask.key}, rule.quota);
  const auto entrance = under_way_.enter(share, limit, Concurrency::Count::kLiving, bill.estimate);
  if (entrance.has_entered()) bill.share = share;
  // If too little is left whatever the others do, the look says when there is enough.
  const bool is_by_levels = rule.quota.algorithm() == Algorithm::kExponentialBackoff;
  if (!is_by_levels) ask.cost = bill.estimate;
  ask.under_way = counted(entrance, limit, rule);
  ask.is_alone = entrance.is_alone;
}

// How long the request may wait: not at all, unless there is a place for one more request.
Duration Stay::patience(const Ask& ask) {
  const Rule& rule = *ask.rule;
  const Denial& denial = rule.denial;
  if (denial.delay_max == Duration{0} || ask.cost == 0) return Duration{0};
  if (ask.is_shadow()) return denial.delay_max;  // counted as waiting, but does not wait
  const KeyHash place =
      hasher_.hash({.rule = kWaitingFor, .bucket = rule.id, .key = {}}, rule.quota);
  if (!under_way_.enter(place, denial.waiting_max).has_entered()) return Duration{0};
  waiting_.push_back(place);
  return denial.delay_max;
}

// The estimate is at most the limit: with more the request could never pass.
Stay::Bill& Stay::owe(const Ask& ask, std::size_t look, std::int64_t limit, const BodyStart* body) {
  const auto [units, prices] = asked_of(*ask.rule->response, body);
  bills_.push_back(
      {.ask = ask,
       .look = look,
       .rule = ask.rule->id,
       .key = std::string(ask.key),
       .tier = std::string(ask.tier),
       .estimate = std::clamp<std::int64_t>(units, 1, std::max<std::int64_t>(1, limit)),
       .asked = prices,
       .wants_body = ask.rule->response->is_of_body()});
  bills_.back().ask.choices = nullptr;  // it is the request's, like the texts
  return bills_.back();
}

void Stay::go_on() {
  for (const KeyHash& place : waiting_) under_way_.leave(place);
  waiting_.clear();
}

void Stay::let_all_go() {
  go_on();
  for (const Bill& bill : bills_) leave(bill);
  bills_.clear();
  for (const KeyHash& key : held_) under_way_.leave(key);
  held_.clear();
  leased_.give_back(slots_);
  is_empty_ = true;
  lacks_body_ = false;
}

void Stay::leave(const Bill& bill) {
  if (bill.share) under_way_.leave(*bill.share, bill.estimate);
}

void Stay::passes(const Asks& looks, Duration wait, Instant now) {
  slots_.let_stay(now);
  if (wait == Duration{0}) go_on();
  std::erase_if(bills_, [&](const Bill& bill) {
    const bool is_denied = looks.answer(bill.look).over;
    if (is_denied) leave(bill);
    return is_denied;
  });
  is_empty_ = bills_.empty() && held_.empty() && waiting_.empty() && slots_.empty();
}

bool Stay::counts(const ResponseCount& count, const ResponseHead& response) {
  return count.counts(response.status) || (!response.is_known && count.counts(kUnknownStatus));
}

bool Stay::owes() const { return !std::ranges::all_of(bills_, &Bill::is_paid); }

bool Stay::wants_body() const { return std::ranges::any_of(bills_, &Bill::wants_body); }

bool Stay::reads_body() const {
  return std::ranges::any_of(bills_, [](const Bill& bill) { return bill.body != nullptr; });
}

void Stay::add_due(Bill& bill, const Rule& rule, std::optional<std::int64_t> cost, Asks& asks) {
  Ask due = bill.ask;
  due.rule = &rule;
  due.key = bill.key;
  due.tier = bill.tier;
  due.cost = cost.value_or(due.cost);
  if (due.cost > 0) WEIR_ASSERT(asks.add(due));
}

void Stay::pay(const ResponseHead& response, const RuleSet& rules, Asks& asks) {
  is_error_ = is_error(response.status);
  for (Bill& bill : bills_) {
    bill.is_paid = true;
    const Rule* const rule = rules.find(bill.rule);
    if (rule == nullptr || !rule->response || !counts(*rule->response, response)) continue;
    const ResponseCount& count = *rule->response;
    if (count.is_of_body() && response.is_known && response.body) {
      bill.is_paid = false;
      bill.body = count.prices == nullptr
                      ? std::make_unique<UsageReader>(*response.body, count.cost_name)
                      : std::make_unique<UsageReader>(*response.body, count.prices);
    } else {
      add_due(bill, *rule, cost_of(response, count, bill.estimate), asks);
    }
  }
}

void Stay::read(std::string_view piece) noexcept {
  for (const Bill& bill : bills_) {
    if (bill.body != nullptr) bill.body->feed(piece);
  }
}

std::optional<std::string> Stay::pay_for_body(const RuleSet& rules, Asks& asks) {
  std::optional<std::string> unknown;
  for (Bill& bill : bills_) {
    bill.is_paid = true;
    const auto body = std::exchange(bill.body, nullptr);
    const Rule* const rule = rules.find(bill.rule);
    if (body == nullptr || rule == nullptr || !rule->response) continue;
    const std::int64_t unsaid = is_error_ ? 0 : bill.estimate;
    const auto cost = body->has_prices() ? body->cost(bill.asked) : body->units();
    const bool has_price = body->knows_model() || bill.asked;
    if (body->has_prices() && cost && !has_price) unknown = body->unknown_model();
    add_due(bill, *rule, cost.value_or(unsaid), asks);
  }
  return unknown;
}

void Stay::let_go() {
  std::erase_if(bills_, [&](const Bill& bill) {
    if (bill.is_paid) leave(bill);
    return bill.is_paid;
  });
}

}  // namespace weir::nginx
