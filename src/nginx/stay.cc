#include "nginx/stay.h"

#include <algorithm>

#include "base/assert.h"
#include "base/decimal.h"
#include "config/rules/rule_config.h"

namespace weir::nginx {

std::int64_t cost_by(std::string_view text) {
  return read_decimal<std::int64_t>(text) == 0 ? 0 : cost_in(text);
}

namespace {

// Work that nobody waited for costs what was reserved for it.
std::int64_t cost_of(const ResponseHead& response, const ResponseCount& count) {
  const std::string_view text = response.field(count.cost_header);
  const bool is_known = response.is_known || !text.empty();
  return is_known ? cost_by(text) : std::max<std::int64_t>(1, count.reserved);
}

}  // namespace

Stay::~Stay() {
  go_on();
  let_go();
  for (const KeyHash& key : held_) under_way_.leave(key);
}

void Stay::go_on() {
  for (const KeyHash& place : waiting_) under_way_.leave(place);
  waiting_.clear();
}

void Stay::owe(const Ask& ask, std::size_t look) {
  WEIR_ASSERT(ask.rule != nullptr && ask.rule->response);
  charges_.push_back({.ask = ask,
                      .look = look,
                      .rule = ask.rule->id,
                      .key = std::string(ask.key),
                      .tier = std::string(ask.tier)});
  charges_.back().ask.choices = nullptr;  // the request's, like the texts
}

void Stay::leave(const Charge& charge) {
  if (charge.share) under_way_.leave(*charge.share);
}

void Stay::forget_denied(const Asks& looks) {
  std::erase_if(charges_, [&](const Charge& charge) {
    const bool is_denied = looks.answer(charge.look).over;
    if (is_denied) leave(charge);
    return is_denied;
  });
}

bool Stay::counts(const ResponseCount& count, const ResponseHead& response) {
  return count.counts(response.status) || (!response.is_known && count.counts(kUnknownStatus));
}

void Stay::pay(const ResponseHead& response, const RuleSet& rules, Asks& asks) {
  is_paid_ = true;
  for (const Charge& charge : charges_) {
    const Rule* const rule = rules.find(charge.rule);
    if (rule == nullptr || !rule->response || !counts(*rule->response, response)) continue;
    Ask due = charge.ask;
    due.rule = rule;
    due.key = charge.key;
    due.tier = charge.tier;
    if (!rule->response->cost_header.empty()) due.cost = cost_of(response, *rule->response);
    if (due.cost > 0) WEIR_ASSERT(asks.add(due));
  }
}

void Stay::let_go() {
  for (const Charge& charge : charges_) leave(charge);
  charges_.clear();
}

}  // namespace weir::nginx
