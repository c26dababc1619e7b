// SplitStore: decides batches whose charges are in several slots of a cluster. One call of the
// script can have only one slot.
//
// Each slot decides its charges for itself. In a second trip, for which the batch does not wait,
// the store gives back charges made in vain:
//   kSpendAll   if some are denied or fail, the charges of the others
//   kSpendEach  if some fail, the charges of the others: the batch has one error for all,
//               so its caller decides all of it again, and nothing may count twice
// So too little is never charged. Until that trip others may be denied, and a token bucket may lose
// what it would have earned meanwhile. A charge that ran out of time may stay charged. So may a
// charge whose window is about to end, as the refund would go to the next window. Refunds by a
// failed batch stay.
//
// Batches of one slot pass as they are. Nearly all batches do, as a request's charges have a common
// tag.
//
// Thread rule: the store's core. Tested by split_store_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "proto/reactor.h"
#include "weir/store.h"

namespace weir {

class SplitStore final : public Store {
 public:
  static constexpr std::size_t kSplitsMax = 4096;  // at a time

  // `reactor` outlives this.
  SplitStore(std::unique_ptr<Store> store, Reactor& reactor);
  // As for the store below: batches that wait are dropped.
  ~SplitStore() override;

  void decide(Batch& batch, Instant now) noexcept override;

 private:
  struct Split;

  Split* free_split();
  void send(Split& split, Instant now);
  void part_done(Split& split);
  void answer(Split& split, Batch& whole);
  bool becomes_what_is_given_back(Split& split);
  void give_back(Instant now);
  static void keep_what_is_late(Split& split, Instant now);

  std::vector<std::unique_ptr<Split>> splits_;
  std::vector<Split*> free_;
  std::vector<Split*> to_give_back_;  // at the end of the round
  std::unique_ptr<Alarm> round_end_;
  std::unique_ptr<Store> store_;  // goes first: it knows our batches
};

}  // namespace weir
