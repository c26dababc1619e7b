// Engine: charges in, decisions out. Doors ask in the words of rules (asks.h).
//
// A Check is filled, decide() called, and the answer is there when on_done is called:
// at once from a store in memory, later from one that must be asked. Requests wait for
// such a one in a Visit (visit.h).
//
// Thread rule: one engine a core; a Check is decided on the engine of its core. The
// store below is shared.
// Tested by engine_test.cc and visit_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/waker.h"
#include "engine/fleet.h"
#include "observe/traffic.h"
#include "rules/mode.h"
#include "weir/key.h"
#include "weir/store.h"

namespace weir {

class Abandoned;
class Visit;

// The charges of one request, with room for their quotas and decisions. Lives in its
// session and is reused, so that deciding allocates nothing.
class Check {
 public:
  // Starts over. `on_done` is called exactly once per decide(), on the same core.
  void begin(Operation operation, void (*on_done)(Check&) noexcept);

  // Charges of one tag are kept together (weir/store.h).
  // REQUIRES: size() < Batch::kChargesMax, |cost| <= kCostMax
  void add(KeyHash key, const Quota& quota, std::int64_t cost, std::uint64_t tag = 0);

  // Puts it to a store, which calls on_done, now or later, at `give_up_at` at the latest.
  // Nothing changes until then.
  void decide(Store& store, Instant now, Instant give_up_at = Instant::max()) noexcept;
  // From what was asked to what gives it back.
  void turn_round();

  std::size_t size() const { return size_; }
  // Whether it asks what the other does: for the same keys at the same cost.
  bool asks_same(const Check& other) const;

  // After on_done. If error() is not kNone the decisions mean nothing.
  StoreError error() const { return batch_.error; }
  std::span<const Decision> decisions() const { return {decisions_.data(), size_}; }

 private:
  static void finish(Batch& batch) noexcept;

  Batch batch_;
  std::array<Quota, Batch::kChargesMax> quotas_;
  std::array<Charge, Batch::kChargesMax> charges_;
  std::array<Decision, Batch::kChargesMax> decisions_;
  std::size_t size_ = 0;
  void (*on_done_)(Check&) noexcept = nullptr;
};

class Engine {
 public:
  // All three must outlive the engine.
  Engine(Store& store, const KeyHasher& hasher, CoreTraffic& traffic)
      : store_(store), hasher_(&hasher), traffic_(traffic) {}

  KeyHash hash(const KeyName& name, const Quota& quota) const { return hasher_->hash(name, quota); }
  // From now on keys have other names: what they had counted is forgotten. `hasher` must
  // outlive the engine.
  void use_hasher(const KeyHasher& hasher) { hasher_ = &hasher; }

  // Where counters are that are not shared.
  Store& local() { return store_; }

  // From now on counters may be shared with other nodes; `fleet` must outlive the engine.
  // `on_abandoned` is called when give_back() is to be called, soon.
  void join(Fleet& fleet, std::function<void()> on_abandoned = {});
  // Null: this node is alone.
  Fleet* fleet() { return fleet_; }
  // How a key is decided, if a rule or a call wants it so.
  Mode mode_for(std::optional<Mode> wanted) const {
    if (fleet_ == nullptr) return Mode::kLocal;
    return wanted ? *wanted : fleet_->default_mode();
  }

  // How far the wall clock is ahead of `now`, as of a moment ago. Limits do not follow it.
  void set_wall_lead(Duration lead) { wall_lead_ = lead; }
  // What `now` is by the wall clock: for dates that others have written, and for those they
  // read.
  Instant wall_time(Instant now) const { return now + wall_lead_; }

  // Begins or goes on with what is being handled (visit.h). Null: a new one.
  void resume(std::shared_ptr<Visit> visit);
  Visit& visit();
  // Forgets what was asked since resume(), if all of it is answered; false, and nothing is
  // forgotten, if something waits.
  bool settle();
  // An answer is not there yet.
  bool waits() const;
  // What was handled is to be handled again when `waker` is woken. REQUIRES: waits()
  std::shared_ptr<Visit> pause(Waker& waker);
  // Gives back what requests were charged that went away before all was decided.
  void give_back(Instant now);

  // For the figures of this core.
  void record(const Decision& decision, Algorithm algorithm, Instant now) noexcept {
    traffic_.record(decision, algorithm, now);
  }
  void record_rule(RuleNumber rule, RuleOutcome outcome, KeyHash key, Instant now) noexcept {
    traffic_.record_rule(rule, outcome, key.low, now);
  }
  // How long what has been recorded since the last call took.
  void record_latency(Duration elapsed) noexcept { traffic_.record_latency(elapsed); }
  void record_look() noexcept { traffic_.record_look(); }
  void record_store_error() noexcept { traffic_.record_store_error(); }
  void record_fallback() noexcept { traffic_.record_fallback(); }

 private:
  static constexpr std::size_t kSpareVisitsMax = 64;

  Store& store_;
  const KeyHasher* hasher_;
  CoreTraffic& traffic_;
  Fleet* fleet_ = nullptr;
  Duration wall_lead_{0};
  std::shared_ptr<Abandoned> abandoned_;
  std::shared_ptr<Visit> visit_;  // under way; kept for the next, where nobody waits
  std::vector<std::shared_ptr<Visit>> spare_visits_;  // whose requests are answered
};

}  // namespace weir
