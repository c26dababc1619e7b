// ScriptCalls: how every mode reaches Redis. Items wait in a queue, the items of one slot share
// a call of the script, and the reply answers them in the order of the call.
//
//   queue ──send_queue()──> calls (one EVALSHA each) ─> Redis ─> Owner::answered(), lost()
//
// If Redis does not know the script (after a restart or a failover), the same call goes again
// with the script's text: a script that did not run has charged nothing.
//
// Calls that fail open a breaker (RedisTroubles). While it is open, the owner sends nothing, and
// a probe, a charge of a key of its own, leaves now and then until Redis answers one.
//
// The owner keeps the time: it says when the queue leaves, and what of it waits no longer. It has
//   bool pack(Item&, Call&, Instant)    adds the item's charges to call.words, and sets the call's
//                                       deadlines; false: the item goes with a later call
//   void answered(Item&, ChargeReplies&, const Call&, Instant)    reads its part of the replies
//   void lost(Item&, RedisFailure, std::string_view detail, Instant)    there is no reply
//   void landed(Instant)                a call has come back; there is room for another
// and an Item has `slot`, which the owner sets, and `turn`, which the queue sets.
//
// Thread rule: one core. A call allocates when it is made, never after. Tested by
// redis_trips_test.cc, src/store/redis/strict/redis_store_test.cc and
// tests/redis/redis_store_faults_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/if_memory.h"
#include "proto/reactor.h"
#include "store/redis/calls/redis_troubles.h"
#include "store/redis/client/redis_client.h"
#include "store/redis/client/redis_failure.h"
#include "store/redis/script/charge_script.h"
#include "weir/store.h"

namespace weir {

// The clock that decides: Redis's, or in tests the caller's.
enum class TimeSource : std::uint8_t { kRedis, kCaller };

// Keys of one call may be anywhere, or must be in one slot.
enum class KeySpread : std::uint8_t { kOneServer, kCluster };

struct RedisStoreOptions {
  std::string prefix = "weir:";                       // of our keys; no {
  Duration deadline = std::chrono::milliseconds(20);  // of a call
  KeySpread spread = KeySpread::kOneServer;
  TimeSource time = TimeSource::kRedis;
  std::size_t denied_keys = 4096;              // remembered
  std::uint64_t seed = 1;                      // of the breaker's jitter
  Store* own_counters = nullptr;               // this node's, which stay warm; null: none
  std::function<std::int64_t()> live_nodes{};  // among which the node has a share; empty: 1
};

struct CallCounts {
  std::uint64_t calls = 0;
  std::uint64_t charges = 0;  // in calls
  std::uint64_t reloads = 0;  // of the script
  FailureCounts failures{};   // of items
};

template <typename Item, typename Owner>
class ScriptCalls {
 public:
  static constexpr std::size_t kCallsMax = 64;  // that are out at a time

  // One call of the script, from when it is filled until the last of its items is answered.
  struct Call final : RedisCall {
    Call(ScriptCalls& of, std::string_view prefix) : words(prefix), calls(of) {
      items.reserve(ChargeCall::kChargesMax);
    }
    void replied(const resp::Reply& reply, Instant now) noexcept override {
      calls.read(*this, reply, now);
    }
    void failed(RedisFailure why, Instant now) noexcept override {
      calls.fail(*this, why, {}, now);
    }

    ChargeCall words;
    std::vector<Item> items;  // in the order of the words; a probe has none
    std::uint16_t slot = 0;
    Instant asked_at;
    Instant deadline;        // until when Redis may answer
    Instant first_deadline;  // of the items that still wait, if the owner wants to know
    enum class Phase : std::uint8_t { kIdle, kOut, kReloading } phase = Phase::kIdle;
    ScriptCalls& calls;
  };

  // All outlive this. The breaker opens after `failures_max` failures in a row.
  ScriptCalls(const RedisStoreOptions& options, int failures_max, RedisClient& client,
              Reactor& reactor, RedisListener& listener, Owner& owner)
      : options_(options),
        client_(client),
        owner_(owner),
        troubles_(Breaker(options.seed, failures_max), reactor, listener, counts_.failures,
                  [this](Instant now) { probe(now); }) {
    calls_.reserve(kCallsMax);
  }
  // The items of calls that are out have no answer.
  ~ScriptCalls() { forget_calls(); }
  ScriptCalls(const ScriptCalls&) = delete;
  ScriptCalls& operator=(const ScriptCalls&) = delete;

  // Items wait here for send_queue(). The owner adds them, and may change those that wait.
  std::vector<Item>& queue() { return queue_; }

  bool is_cluster() const { return options_.spread == KeySpread::kCluster; }
  std::uint16_t slot_for(const Charge& charge) const { return is_cluster() ? slot_of(charge) : 0; }
  const LinkState& link() const { return client_.state(); }
  // There is no connection at all. In a cluster the masters that are there go on.
  bool is_cut() const { return !is_cluster() && link().phase != LinkState::Phase::kConnected; }
  bool is_idle() const { return out_ == 0 && queue_.empty(); }
  std::size_t out() const { return out_; }
  // The last send_queue() found no call for some that wait: a landing helps, unless none is out.
  bool is_blocked() const { return is_blocked_; }
  bool is_stuck() const { return is_blocked_ && out_ == 0; }
  const Breaker& breaker() const { return troubles_.breaker(); }
  const CallCounts& counts() const { return counts_; }

  // Counts a failure, and says so if it is news.
  void note(RedisFailure failure, std::string_view detail, Instant now) {
    troubles_.note(failure, detail, now);
  }

  // Closes the breaker: Redis has answered others.
  void believe(Instant now) { troubles_.answered(now); }

  // Sends what waits, from the front, while may_send() holds.
  template <typename MaySend>
  void send_queue(Instant now, MaySend may_send) {
    if (is_cluster()) sort_by_slot();
    is_blocked_ = out_ == kCallsMax;
    std::size_t sent = 0;
    while (sent < queue_.size() && may_send()) {
      Call* const call = idle_call();
      is_blocked_ = call == nullptr;
      if (is_blocked_) break;
      sent = fill(*call, sent, now);
      send(*call, now);
    }
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(sent));
  }

  // Loses the items of the queue for which is_due(item) holds. Items that come meanwhile stay.
  template <typename IsDue>
  void lose_queue(RedisFailure failure, Instant now, IsDue is_due) {
    const std::size_t waiting = queue_.size();
    std::size_t kept = 0;
    for (std::size_t index = 0; index < waiting; ++index) {
      Item item = queue_[index];
      if (is_due(item)) {
        owner_.lost(item, failure, {}, now);
      } else {
        queue_[kept++] = item;
      }
    }
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(kept),
                 queue_.begin() + static_cast<std::ptrdiff_t>(waiting));
  }

  // Every call that is out.
  template <typename Action>
  void for_each_out(Action action) {
    for (const auto& call : calls_) {
      if (call->phase != Call::Phase::kIdle) action(*call);
    }
  }

  // Forgets all calls, then hands over every item that is out or waits. The action must not use
  // this.
  template <typename Action>
  void give_up(Action action) {
    forget_calls();
    for_each_out([&](Call& call) { std::ranges::for_each(std::exchange(call.items, {}), action); });
    std::ranges::for_each(std::exchange(queue_, {}), action);
  }

 private:
  void forget_calls() {
    for (const auto& call : calls_) client_.forget(*call);
  }

  // Items of one slot stay in the order they came, or charges of one key would overtake each
  // other. By their turns, as std::stable_sort allocates.
  void sort_by_slot() {
    std::uint32_t turn = 0;
    for (Item& item : queue_) item.turn = turn++;
    std::ranges::sort(queue_, {}, [](const Item& item) { return std::pair(item.slot, item.turn); });
  }

  // Null: all are out, or there is no memory for another.
  Call* idle_call() {
    for (const auto& call : calls_) {
      if (call->phase == Call::Phase::kIdle) return call.get();
    }
    if (calls_.size() == kCallsMax) return nullptr;
    auto made = make_if_memory<Call>(*this, options_.prefix);
    return made == nullptr ? nullptr : calls_.emplace_back(std::move(made)).get();
  }

  void clear(Call& call, std::uint16_t slot, Instant now) {
    call.words.clear();
    call.items.clear();
    call.slot = slot;
    call.deadline = now + options_.deadline;
    call.first_deadline = Instant::max();
  }

  // Takes as many items as go together, from `first` on. Returns the place of the next one.
  std::size_t fill(Call& call, std::size_t first, Instant now) {
    clear(call, queue_[first].slot, now);
    for (; first < queue_.size() && queue_[first].slot == call.slot; ++first) {
      if (!owner_.pack(queue_[first], call, now)) break;
      call.items.push_back(queue_[first]);
    }
    return first;
  }

  void send(Call& call, Instant now) {
    call.phase = Call::Phase::kOut;
    call.asked_at = now;
    ++out_;
    ++counts_.calls;
    counts_.charges += call.words.charges();
    send(call, call.words.words(), now);
  }

  void send(Call& call, std::span<const std::string_view> words, Instant now) {
    const auto refusal = client_.send(words, call.slot, call.deadline, call, now);
    if (refusal) fail(call, *refusal, link().reason, now);
  }

  void read(Call& call, const resp::Reply& reply, Instant now) {
    if (reply.error_code() == "NOSCRIPT" && call.phase == Call::Phase::kOut) {
      call.phase = Call::Phase::kReloading;
      ++counts_.reloads;
      return send(call, call.words.words_with_text(), now);
    }
    if (reply.is_error()) return fail(call, failure_of_error(reply), reply.text(), now);
    ChargeReplies replies(reply);
    if (replies.time() == Instant{}) {
      return fail(call, RedisFailure::kOther, "a reply that the script does not give", now);
    }
    troubles_.answered(now);
    for (Item& item : call.items) owner_.answered(item, replies, call, now);
    land(call, now);
  }

  void fail(Call& call, RedisFailure failure, std::string_view detail, Instant now) {
    if (call.items.empty()) {
      troubles_.probe_failed(failure, now);
    } else {
      troubles_.call_failed(failure, now);
    }
    for (Item& item : call.items) owner_.lost(item, failure, detail, now);
    land(call, now);
  }

  void land(Call& call, Instant now) {
    call.phase = Call::Phase::kIdle;
    --out_;
    owner_.landed(now);
  }

  void probe(Instant now) {
    Call* const call = idle_call();
    if (call == nullptr) return troubles_.probe_failed(RedisFailure::kOverloaded, now);
    const Charge charge = troubles_.take_probe();
    clear(*call, slot_of(charge), now);
    call->words.add(ScriptOperation::kSpendEach, {&charge, 1});
    send(*call, now);
  }

  const RedisStoreOptions options_;
  RedisClient& client_;
  Owner& owner_;
  CallCounts counts_;
  RedisTroubles troubles_;
  std::vector<Item> queue_;
  std::vector<std::unique_ptr<Call>> calls_;  // all that there are, out or not
  std::size_t out_ = 0;
  bool is_blocked_ = false;
};

}  // namespace weir
