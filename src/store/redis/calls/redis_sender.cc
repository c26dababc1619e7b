#include "store/redis/calls/redis_sender.h"

#include <algorithm>
#include <utility>

#include "base/if_memory.h"

namespace weir {
namespace {

// Errands of one slot stay in the order they came, or charges of one key would overtake each other.
// It sorts by turns, because std::stable_sort allocates.
void sort_by_slot(std::vector<Errand>& errands) {
  std::uint32_t turn = 0;
  for (Errand& errand : errands) errand.turn = turn++;
  std::ranges::sort(errands, {},
                    [](const Errand& errand) { return std::pair(errand.slot, errand.turn); });
}

}  // namespace

// One call of the script, from when it is filled until the last of its errands is answered.
struct RedisSender::Call final : ScriptCall {
  Call(RedisSender& of, std::string_view prefix)
      : ScriptCall(of.client_, ChargeCall::text()), words(prefix), sender(of) {
    errands.reserve(ChargeCall::kChargesMax);
  }
  void answered(const resp::Reply& reply, Instant now) noexcept override {
    sender.read(*this, reply, now);
  }
  void failed(RedisFailure why, Instant now) noexcept override { sender.fail(*this, why, {}, now); }

  void clear(std::uint16_t of_slot) {
    words.clear();
    errands.clear();
    slot = of_slot;
    decides = is_patient = is_judged = false;
    deadline = Instant::min();
    first_deadline = Instant::max();
  }
  bool has_room_for(const Errand& errand) const {
    return errand.slot == slot && words.has_room(errand.charges);
  }

  void take(const Errand& waiting, Instant now);
  void lose_late(Instant now);
  Instant next_deadline() const { return std::min(first_deadline, deadline); }

  ChargeCall words;
  std::vector<Errand> errands;  // in the order of the words; a probe has none
  std::uint16_t slot = 0;
  bool decides = false;     // it has a batch
  bool is_patient = false;  // it has a sync
  bool is_judged = false;   // errands that would not wait longer are lost
  bool is_out = false;
  Instant asked_at;
  Instant deadline;        // when Redis must have answered
  Instant first_deadline;  // of the errands that still wait and are not patient
  RedisSender& sender;
};

void RedisSender::Call::take(const Errand& waiting, Instant now) {
  if (sender.options_.time == TimeSource::kCaller) words.set_time(now);
  Errand& errand = errands.emplace_back(waiting);
  if (!errand.owner->pack(errand, words, now)) return errands.pop_back();
  deadline = std::max(deadline, errand.deadline);
  if (errand.is_patient()) {
    is_patient = true;
  } else {
    first_deadline = std::min(first_deadline, errand.deadline);
  }
  if (errand.batch == nullptr) return;
  decides = true;
  sender.counts_.charges += errand.charges;
}

// The call goes on for its other errands. If only syncs still wait, it counts as a failed call.
void RedisSender::Call::lose_late(Instant now) {
  first_deadline = Instant::max();
  for (Errand& errand : errands) {
    if (errand.is_patient() || errand.is_lost) continue;
    if (errand.deadline <= now) {
      sender.lose(errand, RedisFailure::kTimedOut, {}, now);
    } else {
      first_deadline = std::min(first_deadline, errand.deadline);
    }
  }
  if (first_deadline < Instant::max() || std::exchange(is_judged, true)) return;
  sender.troubles_.call_failed(RedisFailure::kTimedOut, 1, now);
}

RedisSender::RedisSender(const RedisStoreOptions& options, RedisClient& client, Reactor& reactor,
                         RedisListener& listener)
    : options_(options),
      client_(client),
      troubles_(Breaker(options.seed), reactor, listener, counts_.failures,
                [this](Instant now) { probe(now); }),
      departure_(reactor.make_alarm([this](Instant now) {
        if (due_ > now) return departure_->set(due_);
        send_queue(now < latest_ ? Worth::kIfMany : Worth::kYes, now);
      })),
      deadlines_(reactor.make_alarm([this](Instant now) { lose_late(now); })) {
  for (auto& lane : lanes_) lane.reserve(4 * ChargeCall::kChargesMax);
  calls_.reserve(kCallsMax);
  idle_.reserve(kCallsMax);
}

RedisSender::~RedisSender() {
  for (const auto& call : calls_) client_.forget(*call);
}

void RedisSender::give_up() {
  const auto lose_all = [](const std::vector<Errand>& errands) {
    for (const Errand& errand : errands) {
      if (!errand.is_lost) errand.owner->lost(errand, Instant{});
    }
  };
  for (const auto& call : calls_) client_.forget(*call);
  for (const auto& call : calls_) {
    if (call->is_out) lose_all(std::exchange(call->errands, {}));
  }
  for (auto& lane : lanes_) lose_all(std::exchange(lane, {}));
}

// ---- into the queue ----

bool RedisSender::add(Errand errand, const Charge& first, const Departure& departure,
                      Instant now) noexcept {
  auto& lane = lanes_[static_cast<std::size_t>(departure.lane)];
  const bool is_full = departure.lane == Lane::kPrompt && lane.size() >= kWaitingMax;
  const bool is_refused = is_away() || is_full;
  if (is_cluster()) errand.slot = slot_of(first);
  if (is_refused || !has_memory_for([&] { lane.push_back(errand); })) {
    const Failure why = is_away() ? why_away() : Failure{RedisFailure::kOverloaded, {}};
    troubles_.note(why.kind, why.detail, now);
    return false;
  }
  charges_waiting_ += errand.charges;
  ring_by(errand.deadline);
  latest_ = std::min(latest_, departure.latest);
  due_ = std::min(due_, departure.due);
  departure_->set(due_);
  return true;
}

RedisSender::Failure RedisSender::why_away() const {
  if (is_cut()) return {RedisFailure::kDisconnected, client_.state().reason};
  return {RedisFailure::kNotAsked, {}};
}

void RedisSender::hurry() {
  if (lanes_.front().empty()) return;
  due_ = latest_ = Instant{};
  departure_->set(due_);
}

// ---- calls ----

// Does not send a batch that is too late: Redis would charge it, and it would fail all the same.
void RedisSender::send_queue(Worth worth, Instant now) {
  if (std::exchange(is_sending_, true)) return;
  const Instant due = std::exchange(due_, Instant::max());
  const Instant latest = std::exchange(latest_, Instant::max());
  if (next_deadline_ <= now) lose_waiting({RedisFailure::kTimedOut, {}}, now, now);
  if (is_away()) lose_waiting(why_away(), Instant::max(), now);
  rest_ = Rest::kNone;
  Call* call = nullptr;
  for (const Lane lane : {Lane::kPrompt, Lane::kPatient}) call = send_lane(lane, call, worth, now);
  if (call != nullptr) send(*call, now);
  const bool is_stuck = rest_ == Rest::kBlocked && idle_.size() == calls_.size();
  if (is_stuck) lose_waiting({RedisFailure::kOverloaded, {}}, Instant::max(), now);
  is_sending_ = false;
  if (rest_ == Rest::kNone || is_stuck) return departure_->set(due_);
  due_ = std::min(due_, due);
  latest_ = std::min(latest_, latest);
  departure_->set(rest_ == Rest::kGathers ? latest_ : Instant::max());
}

// Fills the call, and others. Returns the last, in which there may be room. Owners may add errands
// when some are lost; these wait for the next round.
RedisSender::Call* RedisSender::send_lane(Lane of, Call* call, Worth worth, Instant now) {
  auto& lane = lanes_[static_cast<std::size_t>(of)];
  if (is_cluster()) sort_by_slot(lane);
  // In a cluster each slot has its own calls, which cannot gather errands of other slots.
  const auto is_worth_a_call = [&] {
    return worth == Worth::kYes || idle_.size() == calls_.size() ||
           charges_waiting_ >= kChargesWorthACall || is_cluster();
  };
  const std::size_t waiting = lane.size();
  std::size_t taken = 0;
  for (; taken < waiting; ++taken) {
    if (call != nullptr && !call->has_room_for(lane[taken]))
      send(*std::exchange(call, nullptr), now);
    if (call == nullptr) {
      rest_ = is_worth_a_call() ? Rest::kBlocked : Rest::kGathers;
      if (rest_ == Rest::kBlocked) call = idle_call(of);
      if (call == nullptr) break;
      rest_ = Rest::kNone;
      call->clear(lane[taken].slot);
    }
    charges_waiting_ -= lane[taken].charges;
    call->take(lane[taken], now);
  }
  lane.erase(lane.begin(), lane.begin() + static_cast<std::ptrdiff_t>(taken));
  return call;
}

// Null: all calls are out, or there is no memory for another.
RedisSender::Call* RedisSender::idle_call(Lane lane) {
  const std::size_t out = calls_.size() - idle_.size();
  if (out >= (lane == Lane::kPrompt ? kCallsMax : kCallsMax / 2)) return nullptr;
  if (idle_.empty()) {
    auto made = make_if_memory<Call>(*this, options_.prefix);
    return made == nullptr ? nullptr : calls_.emplace_back(std::move(made)).get();
  }
  Call* const call = idle_.back();
  idle_.pop_back();
  return call;
}

void RedisSender::send(Call& call, Instant now) {
  if (call.words.charges() == 0) return idle_.push_back(&call);
  call.is_out = true;
  call.asked_at = now;
  counts_.calls += call.decides ? 1 : 0;
  ring_by(call.next_deadline());
  const auto refusal = call.send(call.words.words(), call.slot, call.deadline, now);
  if (refusal) fail(call, *refusal, client_.state().reason, now);
}

void RedisSender::probe(Instant now) {
  Call* const call = idle_call(Lane::kPrompt);
  if (call == nullptr) return troubles_.probe_failed(RedisFailure::kOverloaded, now);
  const Charge charge = troubles_.take_probe();
  call->clear(slot_of(charge));
  call->deadline = now + options_.deadline;
  call->words.add(ScriptOperation::kSpendEach, {&charge, 1});
  send(*call, now);
}

// ---- answers ----

void RedisSender::read(Call& call, const resp::Reply& reply, Instant now) {
  if (reply.is_error()) return fail(call, failure_of_error(reply), reply.text(), now);
  ChargeReplies replies(reply);
  if (replies.time() == Instant{}) {
    return fail(call, RedisFailure::kOther, "a reply that the script does not give", now);
  }
  troubles_.answered(now);
  for (Errand& errand : call.errands) {
    const ChargeFailure failure = errand.owner->answered(errand, replies, call.asked_at, now);
    if (failure != ChargeFailure::kNone) lose(errand, failure_of(failure), {}, now);
  }
  land(call);
}

// A single server that does not answer a sync is away; in a cluster others may answer.
void RedisSender::fail(Call& call, RedisFailure failure, std::string_view detail, Instant now) {
  const bool is_outage = call.is_patient && !is_cluster();
  if (call.errands.empty()) {
    troubles_.probe_failed(failure, now);
  } else if (is_outage || !call.is_judged) {
    troubles_.call_failed(failure, is_outage ? Breaker::kFailuresMax : 1, now);
  }
  for (Errand& errand : call.errands) lose(errand, failure, detail, now);
  land(call);
}

void RedisSender::land(Call& call) {
  call.is_out = false;
  counts_.reloads += call.was_unknown() ? 1 : 0;
  idle_.push_back(&call);
  if (rest_ != Rest::kNone) departure_->set(Instant{});
  if (idle_.size() < calls_.size() || !lanes_.front().empty()) return;
  next_deadline_ = Instant::max();
  deadlines_->set(next_deadline_);
}

void RedisSender::lose(Errand& errand, RedisFailure failure, std::string_view detail, Instant now) {
  if (std::exchange(errand.is_lost, true)) return;
  troubles_.note(failure, detail, now);
  errand.owner->lost(errand, now);
}

// Loses errands that are due by then. Errands that come meanwhile stay.
void RedisSender::lose_waiting(const Failure& failure, Instant due_by, Instant now) {
  for (auto& lane : lanes_) {
    const std::size_t waiting = lane.size();
    std::size_t kept = 0;
    for (std::size_t index = 0; index < waiting; ++index) {
      Errand errand = lane[index];
      if (errand.deadline > due_by) {
        lane[kept++] = errand;
        continue;
      }
      charges_waiting_ -= errand.charges;
      lose(errand, failure.kind, failure.detail, now);
    }
    lane.erase(lane.begin() + static_cast<std::ptrdiff_t>(kept),
               lane.begin() + static_cast<std::ptrdiff_t>(waiting));
  }
}

// ---- time ----

void RedisSender::ring_by(Instant deadline) {
  if (deadline >= next_deadline_) return;
  next_deadline_ = deadline;
  deadlines_->set(deadline);
}

// Fails errands that have waited too long; nobody reads a late reply.
void RedisSender::lose_late(Instant now) {
  next_deadline_ = Instant::max();
  lose_waiting({RedisFailure::kTimedOut, {}}, now, now);
  for (const Errand& errand : lanes_.front()) ring_by(errand.deadline);
  for (const auto& call : calls_) {
    if (!call->is_out) continue;
    if (call->deadline <= now) {
      client_.forget(*call);
      fail(*call, RedisFailure::kTimedOut, {}, now);
      continue;
    }
    if (call->first_deadline <= now) call->lose_late(now);
    ring_by(call->next_deadline());
  }
}

}  // namespace weir
