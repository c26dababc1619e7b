#include "engine/asks/metering.h"

#include <string_view>

#include "algo/proportion.h"

namespace weir {
namespace {

// No rule's id begins like this, so no rule can reach these counters.
constexpr std::string_view kOfferedTo("\0offered", 8);

// Whether the key's offers are counted in the item's mode.
bool is_metered(const Round::Item& item) {
  const Rule* const rule = item.ask.rule;
  return rule != nullptr && rule->is_proportional && !item.is_settled && item.ask.cost >= 0 &&
         item.mode <= Mode::kAsync && item.limits.front().limit() > 0;
}

Operation meter_operation(const Round::Item& item, Operation operation) {
  if (!spends(operation)) return operation;
  return item.own == Operation::kLook || item.ask.cost == 0 ? Operation::kLook : Operation::kCharge;
}

// Whether the rule denies a share of the key's requests, and this may be one of them. A cost that
// never fits is denied by the limit.
bool is_above(const Round::Item& item, Operation operation) {
  const std::int64_t limit = item.limits.front().limit();
  return item.answer.offered > limit && is_hit(operation) && !item.is_apart() &&
         item.ask.cost > 0 && item.ask.cost <= limit;
}

}  // namespace

void meter(Round& round, Engine& engine, Trips& trips, Instant now) {
  trips.send_all([&] {
    for (std::size_t i = 0; i < round.size(); ++i) {
      Round::Item& item = round[i];
      if (!is_metered(item)) continue;
      const auto index = static_cast<std::uint8_t>(i);
      const Operation operation = meter_operation(item, round.operation());
      Trip& trip = trips.next({&index, 1}, item.mode, operation);
      Quota& quota = item.followed.front() = offered_quota(item.limits.front());
      const KeyName name{.rule = kOfferedTo, .bucket = item.ask.rule->id, .key = item.ask.key};
      trip.add(engine.hash(name, quota), quota,
               operation == Operation::kCharge ? item.ask.cost : 0);
      const bool is_here = item.mode == Mode::kLocal;
      trips.send(trip, is_here ? engine.local() : engine.fleet()->store(item.mode), now);
    }
  });
}

void read_meters(Round& round, Engine& engine, Trips& trips) {
  for (const auto& trip : trips.take()) {
    if (trip->error() != StoreError::kNone || trip->operation() == Operation::kReset) continue;
    Round::Item& item = round[trip->members().front()];
    const Decision& said = trip->decisions().front();
    item.answer.offered = units_offered(said);
    if (!is_above(item, round.operation())) continue;
    const Quota& quota = item.limits.front();
    const double share =
        static_cast<double>(quota.limit()) / static_cast<double>(item.answer.offered);
    if (engine.pass_credits().takes(item.hashes.front().low, share, item.ask.cost)) continue;
    item.answer.decision = above_share(quota, said, item.ask.cost);
    item.is_settled = true;
  }
}

void give_back_credits(const Round& round, Engine& engine) {
  for (const auto& item : round.items()) {
    if (item->is_settled || !is_above(*item, round.operation())) continue;
    const bool is_denied =
        round.operation() == Operation::kSpendAll ? round.is_denied() : !item->answer.allowed();
    if (is_denied) engine.pass_credits().give_back(item->hashes.front().low, item->ask.cost);
  }
}

}  // namespace weir
