#include "store/redis/leased/leases.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// The units of a new key's first lease.
constexpr std::int64_t kUnitsAtFirst = 8;
// A long lease has at most this part of any lease's units, as in decide.lua.
constexpr std::int64_t kLongPart = 4;
// A lease that the core asks for ahead shares its trip with errands that come soon; this much
// time is left for the trip.
constexpr Duration kTrip = std::chrono::milliseconds(10);
constexpr Duration kGather = LeasedKey::kAheadMin - kTrip;
// Returns are in no hurry either, but the shortest leases have little time left. Planned returns
// gather before they are due.
constexpr Duration kGatherReturns = std::chrono::milliseconds(5);
// Planned returns; some are for keys that have made room. Leases beyond that expire.
constexpr std::size_t kDuePerKey = 8;

}  // namespace

Leases::Leases(const LeasedStoreOptions& options, RedisSender& sender, Reactor& reactor,
               DenialMemory& denials, FleetCounts& counts, Wake wake)
    : options_(options),
      sender_(sender),
      denials_(denials),
      counts_(counts),
      wake_(std::move(wake)),
      keys_(options.keys),
      own_counters_(options.redis.own_counters, options.redis.live_nodes),
      return_alarm_(reactor.make_alarm([this](Instant now) { ring(now); })) {
  due_.reserve(kDuePerKey * options.keys);
}

std::int64_t Leases::share() const { return std::max<std::int64_t>(1, options_.share()); }

void Leases::drop_expired(LeasingKey& key, Instant now) {
  counts_[kLeasedExpired] += key.leased.drop_expired(now);
}

std::uint32_t Leases::number_for(const Charge& charge, Instant now) {
  std::uint32_t number = keys_.find(charge.key, charge.tag);
  if (number == kNobody) {
    if (keys_.is_full() && !make_room(now)) return kNobody;
    number = keys_.add(charge.key, charge.tag);
  }
  LeasingKey& key = keys_[number];
  if (key.leased.follow(*charge.quota)) return number;
  drop_expired(key, now);
  if (key.leased.held() > 0 || key.asked != LeasingKey::Asked::kNo) return kNobody;
  key.leased.set_terms(*charge.quota);
  return number;
}

// Removes a key that holds no units. If all hold units, one gives them back, which makes room for a
// later key.
bool Leases::make_room(Instant now) {
  using MayLeave = Keys::MayLeave;
  const std::uint32_t leaves = keys_.one_to_leave([&](std::uint32_t number) {
    LeasingKey& key = keys_[number];
    if (key.asked != LeasingKey::Asked::kNo) return MayLeave::kNo;
    drop_expired(key, now);
    return key.leased.held() > 0 ? MayLeave::kIfNoOtherDoes : MayLeave::kYes;
  });
  if (leaves == kNobody) return false;
  const bool is_free = keys_[leaves].leased.held() == 0;
  is_free ? keys_.remove(leaves) : give_back(leaves, now);
  return is_free;
}

// The most that a long lease can have, as far as this core knows.
std::int64_t Leases::units_of_long(const LeasedKey& key, Instant now) const {
  if (long_lease_length(key.quota()) == Duration{0}) return 0;
  return key.left(now) / (kLongPart * share());
}

bool Leases::wants_leases(const LeasedKey& key, std::int64_t units, Instant now) const {
  return units_of_long(key, now) >= 2 * units || key.is_busy(now);
}

// ---- asking ----

bool Leases::add(std::uint32_t number, ScriptOperation operation, const Departure& departure,
                 Instant now) {
  const std::uint8_t charges = operation == ScriptOperation::kReturn ? LeasedKey::kLeases : 1;
  const Errand errand{.owner = this, .number = number, .operation = operation, .charges = charges};
  const bool is_added = sender_.add(errand, keys_.charge_of(number), departure, now);
  errands_ += is_added ? 1 : 0;
  return is_added;
}

bool Leases::ask(std::uint32_t number, Instant due, Instant now) {
  LeasingKey& key = keys_[number];
  if (key.asked != LeasingKey::Asked::kNo) return true;
  if (!add(number, ScriptOperation::kLease, {.due = due, .latest = due}, now)) return false;
  key.asked = LeasingKey::Asked::kYes;
  return true;
}

bool Leases::ask_at_once(std::uint32_t number, Instant now) {
  if (!ask(number, Instant{}, now)) return false;
  sender_.hurry();
  return true;
}

void Leases::ask_ahead(std::uint32_t number, Instant now) {
  const LeasingKey& key = keys_[number];
  const bool may_ask = key.asked == LeasingKey::Asked::kNo && key.leased.left(now) > 0;
  if (!may_ask || sender_.is_away() || !wants_leases(key.leased, 1, now)) return;
  const bool hurries = key.leased.held() < key.leased.demand_soon(now);
  ask(number, hurries ? Instant{} : now + kGather, now);
}

// When its denial ends, a busy key finds the units that came back meanwhile. It asks in the
// denial's last quarter, so that a short denial, too, saves most of the trips.
void Leases::ask_before_end(std::uint32_t number, const Charge& charge, Instant now) {
  if (number == kNobody) return;
  const auto [begin, end] = denials_.span_of(charge.key);
  const Duration early = std::min(LeasedKey::kAheadMin, (end - begin) / 4);
  if (end - now > early) return;
  LeasedKey& key = keys_[number].leased;
  key.count_demand(charge.cost, now);
  if (key.is_busy(now) && !sender_.is_away()) ask(number, end - std::min(kTrip, early), now);
}

bool Leases::pack(Errand& errand, ChargeCall& words, Instant now) {
  errand.deadline = now + options_.redis.deadline;
  if (errand.operation == ScriptOperation::kLease) {
    pack_lease(errand.number, words, now);
    return true;
  }
  errand.charges = pack_returns(errand.number, words, now);
  if (errand.charges == 0) --errands_;
  return errand.charges > 0;
}

// Asks for a long lease if a small part of what remains covers the demand, or demand is small.
void Leases::pack_lease(std::uint32_t number, ChargeCall& words, Instant now) {
  LeasedKey& key = keys_[number].leased;
  const std::int64_t awaited = std::exchange(keys_[number].units_awaited, 0);
  const Duration length = lease_length(key.quota());
  const Duration long_length = long_lease_length(key.quota());
  const std::int64_t demand = std::max(kUnitsAtFirst, key.demand_within(long_length, now));
  const bool is_long =
      long_length > Duration{0} && (units_of_long(key, now) >= demand || !key.is_busy(now));
  const std::int64_t units = is_long ? demand : key.demand_within(length, now);
  const std::int64_t needed = awaited + key.demand_soon(now);
  LeaseTerms terms{.share = share(),
                   .needed = needed,
                   .length = length,
                   .long_length = is_long ? long_length : Duration{0}};
  key.settle(terms);
  keys_[number].asked_under = key.quota().switch_number();
  const std::int64_t wanted =
      std::clamp(std::max(needed, units), std::int64_t{1}, LeasedKey::kUnitsMax);
  words.add_lease(keys_.charge_of(number, &key.quota(), wanted), terms);
  ++counts_[kLeases];
}

ChargeFailure Leases::answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                               Instant now) {
  ChargeFailure failure = ChargeFailure::kNone;
  if (errand.operation == ScriptOperation::kReturn) {
    for (int i = 0; i < errand.charges; ++i) failure = std::max(failure, replies.skip(1));
    errands_ -= errand.is_lost || failure != ChargeFailure::kNone ? 0 : 1;
    return failure;
  }
  LeasingKey& key = keys_[errand.number];
  const Charge charge{.key = keys_.key_of(errand.number), .quota = &key.leased.quota(), .cost = 1};
  Lease lease;
  failure = replies.read_lease(charge, lease);
  if (errand.is_lost || failure != ChargeFailure::kNone) return failure;
  --errands_;
  key.leased.note_state(lease.decision, now);
  if (!lease.decision.allowed() && key.asked_under == charge.quota->switch_number()) {
    Duration& retry_after = lease.decision.retry_after;
    retry_after = std::max(retry_after, trickle_length(*charge.quota));
    denials_.note(charge, lease.decision, asked_at);
  }
  const Charge granted{.key = charge.key, .quota = charge.quota, .cost = lease.units};
  own_counters_.enter(granted, lease.decision, now);
  receive(errand.number, {.lease = lease, .asked_at = asked_at, .time_at_redis = replies.time()},
          now);
  wake_(errand.number, StoreError::kNone, now);
  return failure;
}

void Leases::receive(std::uint32_t number, const LeasedKey::Grant& grant, Instant now) {
  LeasingKey& key = keys_[number];
  counts_[kLeasedGranted] += grant.lease.units;
  const auto asked = std::exchange(key.asked, LeasingKey::Asked::kNo);
  if (grant.lease.units == 0 || asked == LeasingKey::Asked::kInVain) return;
  drop_expired(key, now);
  const Instant return_at = key.leased.receive(grant, now);
  if (due_.size() == due_.capacity()) return;  // the lease expires
  due_.push_back({return_at - kGatherReturns, number});
  std::ranges::push_heap(due_, std::ranges::greater{}, &Due::at);
  return_alarm_->set(due_.front().at);
}

void Leases::lost(const Errand& errand, Instant now) {
  --errands_;
  LeasingKey& key = keys_[errand.number];
  const bool has_left = errand.deadline < Instant::max();
  if (errand.operation == ScriptOperation::kReturn) {
    if (!has_left) key.returns = LeasingKey::Returns::kNothing;
    return;
  }
  key.asked = LeasingKey::Asked::kNo;
  wake_(errand.number, StoreError::kUnavailable, now);
}

// ---- units that are not spent ----

void Leases::give_back(std::uint32_t number, Instant now) {
  LeasingKey& key = keys_[number];
  if (key.leased.held() == 0 || key.returns == LeasingKey::Returns::kAll) return;
  const bool is_added = add(number, ScriptOperation::kReturn,
                            {.due = now + kGatherReturns, .latest = now + kGatherReturns}, now);
  if (is_added) key.returns = LeasingKey::Returns::kAll;
}

// A key that has replaced another returns nothing of it: that one held nothing. A planned errand
// may leave early with others, and is for all leases that are due while it gathers.
std::uint8_t Leases::pack_returns(std::uint32_t number, ChargeCall& words, Instant now) {
  LeasingKey& key = keys_[number];
  const auto returns = std::exchange(key.returns, LeasingKey::Returns::kNothing);
  if (returns == LeasingKey::Returns::kNothing) return 0;
  drop_expired(key, now);
  const Instant due = now + kGatherReturns;
  std::uint8_t charges = 0;
  for (std::size_t lease = 0; lease < LeasedKey::kLeases; ++lease) {
    const bool goes = returns == LeasingKey::Returns::kAll || key.leased.is_to_go_back(lease, due);
    const auto returned = goes ? key.leased.give_back(lease, now) : LeasedKey::Returned{};
    if (returned.units == 0) continue;
    const Charge charge = keys_.charge_of(number, &key.leased.quota(), -returned.units);
    words.add_return(charge, returned.end_at_redis, returned.settled);
    counts_[kLeasedReturned] += returned.units;
    denials_.forget(charge.key);
    own_counters_.enter(charge, now);
    ++charges;
  }
  return charges;
}

void Leases::ring(Instant now) {
  while (!due_.empty() && due_.front().at <= now) {
    const auto [at, number] = due_.front();
    std::ranges::pop_heap(due_, std::ranges::greater{}, &Due::at);
    due_.pop_back();
    LeasingKey& key = keys_[number];
    if (key.leased.held() == 0 || key.returns != LeasingKey::Returns::kNothing) continue;
    const Instant due = at + kGatherReturns;
    const Departure departure{.lane = Departure::Lane::kPatient, .due = due, .latest = due};
    const bool is_added =
        !sender_.is_away() && add(number, ScriptOperation::kReturn, departure, now);
    if (is_added) key.returns = LeasingKey::Returns::kWhatIsDue;
  }
  return_alarm_->set(due_.empty() ? Instant::max() : due_.front().at);
}

bool Leases::give_back_all(Instant now) {
  constexpr int kKeysAtOnce = 8 * static_cast<int>(ChargeCall::kChargesMax);
  if (sender_.is_away()) return true;
  due_.clear();  // or planned errands, one by one, would never end
  if (errands_ > 0) return false;
  for (std::size_t asked = keys_.size(); asked > 0 && errands_ < kKeysAtOnce; --asked) {
    const std::uint32_t number = keys_.next_in_turn();
    drop_expired(keys_[number], now);
    give_back(number, now);
  }
  const bool is_done = errands_ == 0;
  sender_.flush(now);
  return is_done;
}

void Leases::forget(const Charge& charge) {
  denials_.forget(charge.key);
  const std::uint32_t number = keys_.find(charge.key, charge.tag);
  if (number == kNobody) return;
  LeasingKey& key = keys_[number];
  counts_[kLeasedExpired] += key.leased.forget();
  if (key.asked == LeasingKey::Asked::kYes) key.asked = LeasingKey::Asked::kInVain;
}

}  // namespace weir
