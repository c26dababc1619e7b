#include "store/redis/leased/leased_store.h"

#include <algorithm>
#include <utility>

// A key of a sliding_window, 1,000 a minute, on three nodes of one core each: share() is 6.
//
//   time      node A                        node B               node C             left in Redis
//   0 ms      a check waits;                                                                 1000
//             A asks for 8, long
//   1 ms      8 granted; the check                                                            992
//             spends 1
//   9 ms      6 spent, busy: asks ahead
//   10 ms     165 granted, short: 992 / 6                                                     827
//   11 ms     checks cost no trip           a check waits;
//                                           B asks for 8
//   12 ms                                   8 granted                                         819
//   760 ms    3/4 of A's second are over:                                                     844
//             25 unspent go back
//    ...      grants shrink: 844 / 6,
//             then 704 / 6, down to 1 each
//   20 s      denied: A denies for 250 ms   spends the last 2                                   0
//             without a trip
//   30 s                                                         a check waits,                 0
//                                                                and is denied
//
// At any time spent + held + left is 1,000 at most. While B holds 2, the others deny although 2 are
// unspent: that is the price of the mode.

namespace weir {
namespace {

bool is_leased(const Charge& charge) {
  const std::int64_t most = std::min(LeasedKey::kUnitsMax, charge.quota->capacity());
  return charge.cost >= 0 && charge.cost <= most &&
         lease_length(*charge.quota) >= LeasedStore::kLengthMin;
}

bool is_for_leases(const Batch& batch) {
  return batch.operation != Operation::kReset && std::ranges::all_of(batch.charges, is_leased);
}

}  // namespace

LeasedStore::LeasedStore(const LeasedStoreOptions& options, Store& strict, RedisSender& sender,
                         Reactor& reactor)
    : strict_(strict),
      sender_(sender),
      denials_(options.redis.denied_keys),
      leases_(options, sender, reactor, denials_, counts_,
              [this](std::uint32_t number, StoreError error, Instant now) {
                wake(number, error, now);
              }),
      waiting_(kWaitingMax),
      waiters_(kWaitingMax * Batch::kChargesMax, kNobody) {
  waiting_free_.reserve(kWaitingMax);
  for (std::uint32_t index = kWaitingMax; index > 0; --index) waiting_free_.push_back(index - 1);
}

// ---- checks ----

void LeasedStore::decide(Batch& batch, Instant now) noexcept {
  if (!has_charges(batch)) return;
  if (!is_for_leases(batch)) {
    if (!take_back(batch, now)) pass_on(batch, now, now);
    return;
  }
  if (answer_at_once(batch, now)) return;
  // Only Redis can take what is left.
  const bool helps = spends(batch.operation) && batch.operation != Operation::kDrain;
  if (!helps) return pass_on(batch, now, now);
  wait_for_leases(batch, now);
}

void LeasedStore::AtHand::decide(Batch& batch, Instant now) noexcept {
  batch.error = StoreError::kNone;
  leased_.leases_.keys().prefetch(batch.charges);
  if (!is_for_leases(batch) || !leased_.answer_at_once(batch, now)) batch.fail();
}

bool LeasedStore::answer_at_once(Batch& batch, Instant now) {
  if (!answer_from_memory(batch, find(batch.charges), now)) return false;
  ++counts_[kLeasedFromMemory];
  return true;
}

LeasedStore::Numbers LeasedStore::find(std::span<const Charge> charges) {
  Numbers numbers;
  for (std::size_t index = 0; index < charges.size(); ++index) {
    numbers[index] = leases_.keys().find(charges[index].key, charges[index].tag);
  }
  return numbers;
}

LeasedStore::Known LeasedStore::known_of(const Batch& batch, const Numbers& numbers,
                                         std::size_t index, Instant now) {
  const Charge& charge = batch.charges[index];
  if (numbers[index] != kNobody) {
    LeasingKey& key = leases_.keys()[numbers[index]];
    std::int64_t needed = std::max<std::int64_t>(1, charge.cost);
    for (std::size_t before = 0; spends(batch.operation) && before < index; ++before) {
      if (numbers[before] == numbers[index]) needed += batch.charges[before].cost;
    }
    leases_.drop_expired(key, now);
    if (key.leased.held() >= needed && key.leased.follow(*charge.quota)) return Known::kUnits;
  }
  const bool counts_always = batch.operation == Operation::kCharge;  // so Redis has to count it
  const bool takes_units = batch.operation == Operation::kDrain && numbers[index] != kNobody &&
                           leases_.keys()[numbers[index]].leased.held() > 0;
  if (counts_always || takes_units) return Known::kNothing;
  return denials_.find(charge, now, batch.operation) ? Known::kDenial : Known::kNothing;
}

// False, and nothing is spent, if memory cannot answer all charges.
bool LeasedStore::answer_from_memory(Batch& batch, const Numbers& numbers, Instant now) {
  std::array<Known, Batch::kChargesMax> known;
  bool denied = false;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    known[index] = known_of(batch, numbers, index, now);
    if (known[index] == Known::kNothing) return false;
    denied = denied || known[index] == Known::kDenial;
  }
  const bool only_looks =
      !spends(batch.operation) || (denied && batch.operation == Operation::kSpendAll);
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];
    if (known[index] == Known::kDenial) {
      batch.decisions[index] = *denials_.find(charge, now);
      if (spends(batch.operation)) leases_.ask_before_end(numbers[index], charge, now);
    } else {
      batch.decisions[index] = spend(numbers[index], only_looks ? 0 : charge.cost, now);
    }
  }
  batch.on_done(batch);
  return true;
}

// REQUIRES: the core holds so many units
Decision LeasedStore::spend(std::uint32_t number, std::int64_t cost, Instant now) {
  LeasedKey& key = leases_.keys()[number].leased;
  const Decision decision = key.spend(cost, now);
  if (key.runs_low(now)) leases_.ask_ahead(number, now);
  return decision;
}

// A look needs no lease, no lease covers a large cost, and an empty key grants none.
bool LeasedStore::is_worth_a_lease(const LeasedKey& key, const Charge& charge, Instant now) {
  Charge one_unit = charge;
  one_unit.cost = 1;
  return charge.cost > 0 && charge.cost <= charge.quota->capacity() / leases_.share() &&
         leases_.wants_leases(key, charge.cost, now) && !denials_.find(one_unit, now);
}

// Waits if leases help; else the strict store decides.
void LeasedStore::wait_for_leases(Batch& batch, Instant now) {
  if (sender_.is_away() || batch.give_up_at <= now) return batch.fail();
  for (const Charge& charge : batch.charges) {
    if (leases_.number_for(charge, now) == kNobody) return pass_on(batch, now, now);
  }
  const Numbers numbers = find(batch.charges);  // one may have made room for another
  std::array<std::size_t, Batch::kChargesMax> lacking;
  std::uint8_t lacks = 0;
  bool help = !waiting_free_.empty();
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    if (numbers[index] == kNobody) return pass_on(batch, now, now);
    if (known_of(batch, numbers, index, now) != Known::kNothing) continue;
    help =
        help && is_worth_a_lease(leases_.keys()[numbers[index]].leased, batch.charges[index], now);
    lacking[lacks++] = index;
  }
  if (!help) {
    for (std::size_t index = 0; index < batch.charges.size(); ++index) {
      leases_.keys()[numbers[index]].leased.count_demand(batch.charges[index].cost, now);
    }
    return pass_on(batch, now, now);
  }
  wait(batch, numbers, std::span(lacking).first(lacks), now);
}

void LeasedStore::wait(Batch& batch, const Numbers& numbers, std::span<const std::size_t> lacking,
                       Instant now) {
  for (const std::size_t index : lacking) {
    if (!leases_.ask_at_once(numbers[index], now)) return batch.fail();
  }
  const std::uint32_t waiting = waiting_free_.back();
  waiting_free_.pop_back();
  waiting_[waiting] = {
      .batch = &batch, .since = now, .leases_awaited = static_cast<std::uint8_t>(lacking.size())};
  ++counts_[kLeasedWaited];
  for (const std::size_t index : lacking) {
    leases_.keys()[numbers[index]].units_awaited += batch.charges[index].cost;
    add_waiter(numbers[index], static_cast<std::uint32_t>(waiting * Batch::kChargesMax + index));
  }
}

// The strict store decides, after this core's units have gone back.
void LeasedStore::pass_on(Batch& batch, Instant since, Instant now) {
  ++counts_[kLeasedPassedOn];
  for (const Charge& charge : batch.charges) {
    if (charge.cost < 0 || batch.operation == Operation::kCharge) denials_.forget(charge.key);
    const std::uint32_t number = leases_.keys().find(charge.key, charge.tag);
    if (batch.operation == Operation::kReset) {
      leases_.forget(charge);
    } else if (number != kNobody) {
      leases_.give_back(number, now);
    }
  }
  strict_.decide(batch, since);
}

// A refund of units from a lease that is out returns to that lease: it needs no trip. False,
// without a change, if that does not cover the whole batch.
bool LeasedStore::take_back(Batch& batch, Instant now) {
  const Numbers numbers = find(batch.charges);
  std::size_t taken = 0;
  while (taken < batch.charges.size() && spends(batch.operation) &&
         take_back_one(numbers[taken], batch.charges[taken], now)) {
    ++taken;
  }
  const bool is_all = taken == batch.charges.size();
  for (std::size_t index = 0; index < taken; ++index) {
    if (is_all) {
      batch.decisions[index] = spend(numbers[index], 0, now);
    } else {  // undone
      leases_.keys()[numbers[index]].leased.spend(-batch.charges[index].cost, now);
    }
  }
  if (is_all) batch.on_done(batch);
  return is_all;
}

bool LeasedStore::take_back_one(std::uint32_t number, const Charge& charge, Instant now) {
  if (number == kNobody || charge.cost > 0) return false;
  LeasingKey& key = leases_.keys()[number];
  if (key.asked == LeasingKey::Asked::kInVain || !key.leased.follow(*charge.quota)) return false;
  leases_.drop_expired(key, now);
  return key.leased.take_back(-charge.cost, now);
}

// ---- checks that wait ----

void LeasedStore::add_waiter(std::uint32_t number, std::uint32_t waiter) {
  LeasingKey& key = leases_.keys()[number];
  waiters_[waiter] = kNobody;
  if (key.first_waiter == kNobody) {
    key.first_waiter = waiter;
  } else {
    waiters_[key.last_waiter] = waiter;
  }
  key.last_waiter = waiter;
}

// Answers checks in the order they came. A callback may decide again, and then waits again.
void LeasedStore::wake(std::uint32_t number, StoreError error, Instant now) {
  std::uint32_t waiter = std::exchange(leases_.keys()[number].first_waiter, kNobody);
  while (waiter != kNobody) {
    const std::uint32_t next = waiters_[waiter];
    const auto index = static_cast<std::uint32_t>(waiter / Batch::kChargesMax);
    WaitingBatch& waiting = waiting_[index];
    if (error != StoreError::kNone) waiting.error = error;
    if (--waiting.leases_awaited == 0) resolve(index, now);
    waiter = next;
  }
}

// All leases that the check waited for have come, or will not come.
void LeasedStore::resolve(std::uint32_t index, Instant now) {
  const WaitingBatch waiting = std::exchange(waiting_[index], {});
  waiting_free_.push_back(index);
  Batch& batch = *waiting.batch;
  if (waiting.error != StoreError::kNone) return batch.fail();
  if (answer_from_memory(batch, find(batch.charges), now)) return;
  pass_on(batch, waiting.since, now);
}

}  // namespace weir
