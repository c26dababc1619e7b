#include "store/redis/calls/redis_trips.h"

#include "base/if_memory.h"

namespace weir {

RedisTrips::RedisTrips(const RedisStoreOptions& options, int failures_max, RedisClient& client,
                       Reactor& reactor, RedisListener& listener, TripOwner& owner)
    : time_(options.time),
      owner_(owner),
      calls_(options, failures_max, client, reactor, listener, *this),
      round_end_(reactor.make_alarm([this](Instant now) { flush(now); })) {
  calls_.queue().reserve(4 * ChargeCall::kChargesMax);
}

bool RedisTrips::add(Errand errand, Instant due) noexcept {
  errand.slot = calls_.slot_for(errand.charge());
  if (!has_memory_for([&] { calls_.queue().push_back(errand); })) return false;
  leave_by(due);
  return true;
}

void RedisTrips::hurry() {
  if (!calls_.queue().empty()) leave_by(Instant{});
}

void RedisTrips::leave_by(Instant due) {
  if (due >= due_) return;
  due_ = due;
  round_end_->set(due);
}

void RedisTrips::cancel_returns(const KeyHash& key, std::uint64_t tag) {
  for (Errand& errand : calls_.queue()) {
    const bool returns = errand.operation == ScriptOperation::kReturn;
    if (returns && errand.key == key && errand.tag == tag) errand.units = errand.terms.settled = 0;
  }
}

// An owner may add errands when one fails, which go along or wait for the next round.
void RedisTrips::flush(Instant now) {
  if (flush_ == Flush::kUnderWay) return;
  flush_ = Flush::kUnderWay;
  due_ = Instant::max();
  calls_.send_queue(now, [this] { return !is_away(); });
  if (is_away()) lose_queue(RedisFailure::kNotAsked, now);
  if (calls_.is_stuck()) lose_queue(RedisFailure::kOverloaded, now);
  flush_ = Flush::kNo;
}

void RedisTrips::lose_queue(RedisFailure failure, Instant now) {
  calls_.lose_queue(failure, now, [](const Errand&) { return true; });
}

bool RedisTrips::pack(Errand& errand, Calls::Call& call, Instant now) {
  if (!call.words.has_room(1)) return false;
  if (time_ == TimeSource::kCaller) call.words.set_time(now);
  owner_.leaving(errand, now);
  const Charge charge = errand.charge();
  switch (errand.operation) {
    case ScriptOperation::kLease: call.words.add_lease(charge, errand.terms); break;
    case ScriptOperation::kReturn:
      call.words.add_return(charge, errand.terms.settled_until, errand.terms.settled);
      break;
    default: call.words.add(errand.operation, {&charge, 1});
  }
  return true;
}

void RedisTrips::answered(const Errand& errand, ChargeReplies& replies, const Calls::Call& call,
                          Instant now) {
  const ChargeFailure failure = owner_.done(errand, replies, call.asked_at, now);
  if (failure != ChargeFailure::kNone) lost(errand, failure_of(failure), {}, now);
}

void RedisTrips::lost(const Errand& errand, RedisFailure failure, std::string_view detail,
                      Instant now) {
  calls_.note(failure, detail, now);
  owner_.lost(errand, now);
}

void RedisTrips::landed(Instant) {
  if (calls_.is_blocked()) round_end_->set(Instant{});
}

}  // namespace weir
