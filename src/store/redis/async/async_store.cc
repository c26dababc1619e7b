#include "store/redis/async/async_store.h"

#include <algorithm>

// A key of a fixed_window, 100 a minute, on three nodes. sync_interval is 100 ms, so each node
// syncs every 50 ms. Numbers are units spent: by a node's copy, and as Redis counts them.
//
//   time      node A                   node B                   node C                      Redis
//   0 ms      a first check: 1         a first check: 1         a first check: 1                0
//             allowed; a sync leaves   allowed; a sync leaves   allowed; a sync leaves
//   1 ms      copy 1                   copy 2                   copy 3                          3
//   1 to 50   allows 40: copy 41       allows 30: copy 32       allows 20: copy 23              3
//   50 ms     pushes 40                pushes 30                pushes 20                      93
//   51 ms     copy 43                  copy 73                  copy 93
//   to 100    allows 20: copy 63       allows 10: copy 83       allows 7: copy 100,            93
//                                                               then denies
//   100 ms    pushes 20                pushes 10                pushes 7                      130
//   101 ms    copy 113: denies         copy 123: denies         copy 130: denies
//
// Over by 30: the units that arrived within an interval and a trip. Redis charges all of them, so
// the next decisions are right: a bucket pays the 30 back first.

namespace weir {
namespace {

bool is_for_copies(const Charge& charge) {
  return charge.cost >= 0 && is_copied(charge.quota->active());
}

}  // namespace

AsyncStore::AsyncStore(const AsyncStoreOptions& options, Store& strict, RedisSender& sender,
                       Reactor& reactor)
    : strict_(strict),
      sender_(sender),
      interval_(options.interval / 2 * 2),
      is_far_(options.reach == AsyncStoreOptions::Reach::kFar),
      syncs_(options, sender, reactor, counts_) {}

// ---- checks ----

void AsyncStore::decide(Batch& batch, Instant now) noexcept {
  if (!has_charges(batch)) return;
  const bool for_copies =
      batch.operation != Operation::kReset && std::ranges::all_of(batch.charges, is_for_copies);
  if (!for_copies) {
    if (!take_back(batch, now)) pass_on(batch, now);
    return;
  }
  syncs_.keys().prefetch(batch.charges);
  if (sender_.is_away()) return fail(batch, now);
  Numbers numbers;
  const bool are_all = find_all(batch, numbers);
  const auto trusted = are_all ? trust(batch, numbers, now) : AsyncKey::Trust::kNo;
  if (trusted == AsyncKey::Trust::kLost) return fail(batch, now);
  if (trusted == AsyncKey::Trust::kNo) return is_far_ ? fail(batch, now) : pass_on(batch, now);
  ++counts_[kAsyncFromMemory];
  decide_here(batch, numbers, now);
  batch.on_done(batch);
}

// A look adds no key, unless Redis is far away.
bool AsyncStore::find_all(const Batch& batch, Numbers& numbers) {
  const bool looks = batch.operation == Operation::kLook && !is_far_;
  const std::uint64_t removed = syncs_.removed();
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];
    numbers[index] = looks ? syncs_.keys().find(charge.key, charge.tag) : syncs_.number_for(charge);
    if (numbers[index] == kNobody) return false;
  }
  if (removed == syncs_.removed()) return true;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];  // one may have made room for another
    if (syncs_.keys().find(charge.key, charge.tag) != numbers[index]) return false;
  }
  return true;
}

AsyncKey::Trust AsyncStore::trust(const Batch& batch, const Numbers& numbers, Instant now) {
  const auto is_whole = AsyncKey::IsWhole{sender_.is_whole()};
  auto least = AsyncKey::Trust::kYes;
  // If Redis is far away, no copy is too old, not even for a look.
  const Operation operation = is_far_ ? Operation::kSpendEach : batch.operation;
  const Duration age_max = is_far_ ? Duration::max() : interval_;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const AsyncKey& copy = copy_at(numbers[index]);
    least = std::max(least, copy.trust(operation, is_whole, age_max, now));
  }
  return least;
}

// The next sync tries the keys again.
void AsyncStore::fail(Batch& batch, Instant now) {
  for (const Charge& charge : batch.charges) {
    const std::uint32_t number = syncs_.keys().find(charge.key, charge.tag);
    if (number == kNobody) continue;
    syncs_.enter_pending(number, now);
    syncs_.touch(number, now);
  }
  batch.fail();
}

void AsyncStore::decide_here(Batch& batch, const Numbers& numbers, Instant now) {
  if (batch.operation == Operation::kSpendAll) return spend_all(batch, numbers, now);
  const bool looks = batch.operation == Operation::kLook;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];
    batch.decisions[index] = looks ? look(numbers[index], charge, now)
                                   : spend_at(numbers[index], charge, batch.operation, now);
  }
}

// A key that comes twice may not fit after all; then the charges before it are undone. Only a key
// that does not fit needs Redis's state at once.
void AsyncStore::spend_all(Batch& batch, const Numbers& numbers, Instant now) {
  bool fits = true;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];
    batch.decisions[index] = copy_at(numbers[index]).look(*charge.quota, charge.cost, now);
    if (batch.decisions[index].allowed()) continue;
    fits = false;
    syncs_.touch(numbers[index], now);
  }
  std::array<Decision, Batch::kChargesMax> spent;
  std::array<AsyncKey::Mark, Batch::kChargesMax> before;
  for (std::size_t index = 0; fits && index < batch.charges.size(); ++index) {
    before[index] = copy_at(numbers[index]).mark();
    spent[index] = spend_at(numbers[index], batch.charges[index], batch.operation, now);
    if (spent[index].allowed()) continue;
    fits = false;
    batch.decisions[index] = spent[index];
    for (std::size_t undone = index; undone-- > 0;) {
      copy_at(numbers[undone]).undo(before[undone]);
      syncs_.note(numbers[undone]);
    }
  }
  if (fits) std::copy_n(spent.begin(), batch.charges.size(), batch.decisions.begin());
}

Decision AsyncStore::spend_at(std::uint32_t number, const Charge& charge, Operation operation,
                              Instant now) {
  syncs_.follow(number, *charge.quota);
  const Decision decision = copy_at(number).spend(operation, charge.cost, now);
  syncs_.spent(number, decision, now);
  return decision;
}

Decision AsyncStore::look(std::uint32_t number, const Charge& charge, Instant now) {
  syncs_.touch(number, now);
  return copy_at(number).look(*charge.quota, charge.cost, now);
}

// The strict store decides, after Redis has charged this core's units.
void AsyncStore::pass_on(Batch& batch, Instant now) {
  ++counts_[kAsyncPassedOn];
  for (const Charge& charge : batch.charges) {
    const std::uint32_t number = syncs_.keys().find(charge.key, charge.tag);
    if (number == kNobody) continue;
    AsyncKey& copy = copy_at(number);
    if (batch.operation == Operation::kReset) {
      copy.forget();
      syncs_.note(number);
    } else if (copy.owed().units > 0 && !copy.is_out()) {
      syncs_.set_out(number, Departure::Lane::kPrompt, now);
    }
    if (!is_copied(charge.quota->active())) continue;
    if (charge.cost < 0 && batch.operation != Operation::kReset) copy.give_back(charge.cost, now);
    syncs_.touch(number, now);
  }
  strict_.decide(batch, now);
}

// Refunds units that no sync has pushed. They were never spent in Redis, so this needs no trip.
// False if the refund exceeds them.
bool AsyncStore::take_back(Batch& batch, Instant now) {
  const Charge& charge = batch.charges.front();
  const bool gives_back =
      charge.cost < 0 && spends(batch.operation) && is_copied(charge.quota->active());
  const std::uint32_t number = syncs_.keys().find(charge.key, charge.tag);
  if (!gives_back || batch.charges.size() != 1 || number == kNobody) return false;
  const auto decision = copy_at(number).take_back(charge.cost, now);
  if (!decision) return false;
  syncs_.note(number);
  batch.decisions.front() = *decision;
  ++counts_[kAsyncFromMemory];
  batch.on_done(batch);
  return true;
}

void AsyncStore::note_admitted(const Charge& charge, Instant now) {
  if (charge.cost <= 0) return;
  counts_[kAsyncAlone] += charge.cost;
  owe(charge, charge.cost, now);
}

}  // namespace weir
