#include "store/redis/redis_trips.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.h"
#include "base/make_if_memory.h"

namespace weir {

class RedisTrips::Trip final : public RedisCall {
 public:
  Trip(RedisTrips& trips, std::string_view prefix) : call(prefix), trips_(trips) {
    errands.reserve(ChargeCall::kChargesMax);
  }

  void replied(const resp::Reply& reply, Instant now) noexcept override {
    trips_.read(*this, reply, now);
  }
  void failed(CallFailure why, Instant now) noexcept override {
    trips_.fail(*this, failure_of(why), {}, now);
  }

  bool is_probe() const { return errands.empty(); }

  ChargeCall call;
  std::vector<Errand> errands;  // in the order of the call; a probe has none
  std::uint16_t slot = 0;
  Instant asked_at;
  Instant deadline;
  enum class Phase : std::uint8_t { kIdle, kOut, kReloading } phase = Phase::kIdle;

 private:
  RedisTrips& trips_;
};

RedisTrips::RedisTrips(const RedisTripsOptions& options, RedisClient& client, Reactor& reactor,
                       RedisStoreListener& listener, TripOwner& owner)
    : options_(options),
      client_(client),
      owner_(owner),
      troubles_(Breaker(options.redis.seed, options.failures_max), reactor, listener,
                counts_.failures, [this](Instant now) { probe(now); }),
      round_end_(reactor.make_alarm([this](Instant now) { flush(now); })) {
  queue_.reserve(4 * ChargeCall::kChargesMax);
  trips_.reserve(kTripsMax);
}

RedisTrips::~RedisTrips() {
  for (const auto& trip : trips_) client_.forget(*trip);
}

bool RedisTrips::is_away() const {
  // Of a cluster, the masters that are there go on.
  const bool one_server = options_.redis.spread == KeySpread::kOneServer;
  return !breaker().closed() ||
         (one_server && client_.state().phase != LinkState::Phase::kConnected);
}

// ---- setting out ----

bool RedisTrips::add(const Errand& errand, Instant due) noexcept {
  try {
    queue_.push_back(errand);
  } catch (const std::bad_alloc&) {
    return false;
  }
  leave_by(due);
  return true;
}

void RedisTrips::hurry() {
  if (!queue_.empty()) leave_by(Instant{});
}

void RedisTrips::leave_by(Instant due) {
  if (due >= due_) return;
  due_ = due;
  round_end_->set(due);
}

void RedisTrips::cancel_returns(const KeyHash& key, std::uint64_t tag) {
  for (Errand& errand : queue_) {
    const bool returns = errand.operation == ScriptOperation::kReturn;
    if (returns && errand.key == key && errand.tag == tag) errand.units = errand.terms.settled = 0;
  }
}

std::uint16_t RedisTrips::slot_for(const Errand& errand) const {
  if (options_.redis.spread == KeySpread::kOneServer) return 0;
  return slot_of(errand.charge());
}

// Who is told of a failure may add more, which goes along or waits for the next round.
void RedisTrips::flush(Instant now) {
  if (flush_ == Flush::kUnderWay) return;
  flush_ = Flush::kUnderWay;
  due_ = Instant::max();
  is_blocked_ = false;
  if (options_.redis.spread == KeySpread::kCluster) sort_by_slot();
  std::size_t sent = 0;
  while (sent < queue_.size() && !is_away()) {
    Trip* const trip = idle_trip();
    is_blocked_ = trip == nullptr;
    if (is_blocked_) break;
    sent = fill(*trip, sent, now);
    send(*trip, now);
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(sent));
  if (is_away()) lose_queue(RedisFailure::kNotAsked, now);
  // No memory for a trip, and none is out whose landing would help.
  if (is_blocked_ && out_ == 0) lose_queue(RedisFailure::kOverloaded, now);
  flush_ = Flush::kNo;
}

// Those of one slot stay in the order they came: a lease must not overtake what its key gives
// back. By their turns, as std::stable_sort allocates.
void RedisTrips::sort_by_slot() {
  std::uint32_t turn = 0;
  for (Errand& errand : queue_) errand.turn = turn++;
  std::ranges::sort(queue_, {}, [this](const Errand& errand) {
    return std::pair(slot_for(errand), errand.turn);
  });
}

RedisTrips::Trip* RedisTrips::idle_trip() {
  for (const auto& trip : trips_) {
    if (trip->phase == Trip::Phase::kIdle) return trip.get();
  }
  if (trips_.size() == kTripsMax) return nullptr;
  auto made = make_if_memory<Trip>(*this, options_.redis.prefix);
  return made == nullptr ? nullptr : trips_.emplace_back(std::move(made)).get();
}

// With as many as go together, from `first` on. Returns who comes next.
std::size_t RedisTrips::fill(Trip& trip, std::size_t first, Instant now) {
  trip.call.clear();
  trip.errands.clear();
  trip.slot = slot_for(queue_[first]);
  if (options_.redis.time == TimeSource::kCaller) trip.call.set_time(now);
  for (; first < queue_.size() && trip.call.has_room(1); ++first) {
    Errand& errand = queue_[first];
    if (slot_for(errand) != trip.slot) break;
    owner_.leaving(errand, now);
    pack(trip, errand);
  }
  return first;
}

void RedisTrips::pack(Trip& trip, const Errand& errand) {
  trip.errands.push_back(errand);
  const Charge charge = trip.errands.back().charge();
  switch (errand.operation) {
    case ScriptOperation::kLease: return trip.call.add_lease({&charge, 1}, errand.terms);
    case ScriptOperation::kReturn:
      return trip.call.add_return({&charge, 1}, errand.terms.settled_until, errand.terms.settled);
    default: return trip.call.add(errand.operation, {&charge, 1});
  }
}

void RedisTrips::send(Trip& trip, Instant now) {
  trip.phase = Trip::Phase::kOut;
  trip.asked_at = now;
  trip.deadline = now + options_.deadline;
  ++out_;
  ++counts_.calls;
  counts_.errands += trip.errands.size();
  const auto refusal = client_.send(trip.call.words(), trip.slot, trip.deadline, trip, now);
  if (refusal) fail(trip, failure_of(*refusal), client_.state().reason, now);
}

// ---- coming back ----

void RedisTrips::read(Trip& trip, const resp::Reply& reply, Instant now) {
  if (reply.error_code() == "NOSCRIPT" && trip.phase == Trip::Phase::kOut) {
    return load_script(trip, now);
  }
  if (reply.is_error()) return fail(trip, failure_of_error(reply), reply.text(), now);
  ChargeReplies replies(reply);
  if (replies.time() == Instant{}) {
    return fail(trip, RedisFailure::kOther, "a reply that the script does not give", now);
  }
  troubles_.answered(now);
  for (const Errand& errand : trip.errands) {
    const ChargeFailure failure = owner_.done(errand, replies, trip.asked_at, now);
    if (failure != ChargeFailure::kNone) lose(errand, failure_of(failure), {}, now);
  }
  land(trip);
}

void RedisTrips::load_script(Trip& trip, Instant now) {
  trip.phase = Trip::Phase::kReloading;
  ++counts_.reloads;
  const auto refusal =
      client_.send(trip.call.words_with_text(), trip.slot, trip.deadline, trip, now);
  if (refusal) fail(trip, failure_of(*refusal), client_.state().reason, now);
}

void RedisTrips::fail(Trip& trip, RedisFailure failure, std::string_view detail, Instant now) {
  if (trip.is_probe()) {
    troubles_.probe_failed(failure, now);
  } else {
    troubles_.call_failed(failure, now);
  }
  for (const Errand& errand : trip.errands) lose(errand, failure, detail, now);
  land(trip);
}

void RedisTrips::lose(const Errand& errand, RedisFailure failure, std::string_view detail,
                      Instant now) {
  troubles_.note(failure, detail, now);
  owner_.lost(errand, now);
}

// What is added meanwhile stays.
void RedisTrips::lose_queue(RedisFailure failure, Instant now) {
  const std::size_t waiting = queue_.size();
  for (std::size_t index = 0; index < waiting; ++index) {
    const Errand errand = queue_[index];
    lose(errand, failure, {}, now);
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(waiting));
}

void RedisTrips::land(Trip& trip) {
  trip.phase = Trip::Phase::kIdle;
  --out_;
  if (is_blocked_) round_end_->set(Instant{});
}

void RedisTrips::probe(Instant now) {
  Trip* const trip = idle_trip();
  if (trip == nullptr) return troubles_.probe_failed(RedisFailure::kOverloaded, now);
  const Charge charge = troubles_.take_probe();
  trip->call.clear();
  trip->errands.clear();
  trip->call.add(ScriptOperation::kSpendEach, {&charge, 1});
  trip->slot = slot_of(charge);
  send(*trip, now);
}

}  // namespace weir
