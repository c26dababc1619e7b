// Engine: charges in, decisions out. Doors ask in the words of rules (asks.h).
//
// A caller fills a KeptBatch and calls decide(). The store calls on_done when it has the answer:
// memory at once, others later. Late answers are collected, and go_on() continues their askers once
// a round of the loop.
//
// Thread rule: one engine a core; a KeptBatch is decided on the engine of its core. The store below
// is shared.
// Tested by engine_test.cc and src/engine/asks/asks_modes_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algo/proportion.h"
#include "base/assert.h"
#include "engine/fleet.h"
#include "engine/switching/active_algorithms.h"
#include "observe/traffic.h"
#include "observe/unusual/unusual_rules.h"
#include "rules/mode.h"
#include "rules/time/calendar.h"
#include "weir/key.h"
#include "weir/store.h"

namespace weir {

class CoreRecentAsks;
class ErrorBar;
class HoldingStore;
class LimitNotices;
class TenantTable;

// The charges of one request, with room for their decisions. A session keeps it and uses it again,
// so deciding allocates nothing.
class KeptBatch {
 public:
  // Starts over. `on_done` is called exactly once per decide(), on the same core.
  void begin(Operation operation, void (*on_done)(KeptBatch&) noexcept);

  // The store keeps charges of one tag together (weir/store.h). The quota must live until on_done.
  // REQUIRES: size() < Batch::kChargesMax, |cost| <= kCostMax
  void add(KeyHash key, const Quota& quota, std::int64_t cost, std::uint64_t tag = 0,
           OnFull on_full = OnFull::kAllow) {
    WEIR_ASSERT(size_ < Batch::kChargesMax);
    WEIR_ASSERT(cost >= -kCostMax && cost <= kCostMax);
    charges_[size_++] = {.key = key, .quota = &quota, .cost = cost, .tag = tag, .on_full = on_full};
  }

  // Decides each charge by its quota's share for one of `nodes` nodes. For calendars, the wall
  // clock is `wall_lead` ahead of this node's time.
  void stand_in(std::int64_t nodes, Duration wall_lead);

  // Asks a store, which calls on_done, now or later, by `give_up_at` at the latest. Until then the
  // caller changes nothing.
  void decide(Store& store, Instant now, Instant give_up_at = Instant::max()) noexcept;

  std::size_t size() const { return size_; }

  // After on_done. If error() is not kNone, the decisions mean nothing.
  StoreError error() const { return batch_.error; }
  std::span<const Decision> decisions() const { return {decisions_.data(), size_}; }

 private:
  static void finish(Batch& batch) noexcept;

  Batch batch_;
  std::array<Charge, Batch::kChargesMax> charges_;
  std::array<Decision, Batch::kChargesMax> decisions_;
  std::vector<Quota> shares_;  // of the charges, after stand_in()
  std::size_t size_ = 0;
  void (*on_done_)(KeptBatch&) noexcept = nullptr;
};

// A KeptBatch for a store that answers before decide() returns, as the memory store does.
class PromptBatch : public KeptBatch {
 public:
  void begin(Operation operation) {
    done_ = false;
    KeptBatch::begin(operation, [](KeptBatch& batch) noexcept {
      static_cast<PromptBatch&>(batch).done_ = true;
    });
  }

  // False if the store could not answer.
  bool decide(Store& store, Instant now) {
    KeptBatch::decide(store, now);
    WEIR_ASSERT(done_);
    return error() == StoreError::kNone;
  }

 private:
  bool done_ = false;
};

// check:allow(methods): most set or read one member, and every asker would need both halves
class Engine {
 public:
  // All three must outlive the engine.
  Engine(Store& store, const KeyHasher& hasher, CoreTraffic& traffic)
      : store_(store), hasher_(&hasher), traffic_(traffic) {}

  KeyHash hash(const KeyName& name, const Quota& quota) const { return hasher_->hash(name, quota); }
  const KeyHasher& hasher() const { return *hasher_; }
  // From now on keys have other names, so their counts start again. `hasher` must outlive the
  // engine.
  void use_hasher(const KeyHasher& hasher) {
    hasher_ = &hasher;
    awaits_hasher_ = false;
  }
  // Until use_hasher(), keys have names that only this node knows.
  void await_hasher() { awaits_hasher_ = true; }
  bool awaits_hasher() const { return awaits_hasher_; }

  // The store for counters that are not shared.
  Store& local() { return store_; }

  // From now on counters may be shared with other nodes; `fleet` must outlive the engine. The
  // engine calls `on_answered` when go_on() should be called soon.
  void join(Fleet& fleet, std::function<void()> on_answered) {
    fleet_ = &fleet;
    on_answered_ = std::move(on_answered);
  }
  // Null: this node is alone.
  Fleet* fleet() const { return fleet_; }
  // The fleet that counts in this mode. REQUIRES: not kLocal, and a rule or a call has the mode
  Fleet& fleet_for(Mode mode) const { return mode == Mode::kWorld ? *world : *fleet_; }
  // The mode that decides a key for which a rule or a call wants this mode.
  Mode mode_for(std::optional<Mode> wanted) const {
    if (fleet_ == nullptr) return Mode::kLocal;
    if (wanted == Mode::kWorld && world == nullptr) return Mode::kAsync;
    return wanted ? *wanted : fleet_->default_mode();
  }

  // From now on limits that switch follow `active`, which must outlive the engine. Otherwise they
  // are sliding windows. `ruleless`: counts charges without a rule that switch.
  void follow(const ActiveAlgorithms& active, RuleNumber ruleless = kNoRuleNumber) {
    active_ = &active;
    ruleless_ = ruleless;
  }
  RuleNumber ruleless() const { return ruleless_; }
  // The algorithm that the rule's switching limits follow now.
  ActiveAlgorithm active_for(RuleNumber rule) const {
    return active_ == nullptr ? ActiveAlgorithm() : active_->of(rule);
  }
  // From now on rules may have other limits while their traffic is unusual; `rules` must outlive
  // the engine.
  void use_unusual_rules(const UnusualRules& rules) { unusual_ = &rules; }
  bool is_unusual(RuleNumber rule) const { return unusual_ != nullptr && unusual_->holds(rule); }

  // From now on `asks` records what rules are asked; it must outlive the engine.
  void remember_in(CoreRecentAsks& asks) { recent_asks_ = &asks; }
  CoreRecentAsks* recent_asks() { return recent_asks_; }  // may be null

  // How far the wall clock is ahead of `now`, as measured a moment ago. Limits do not follow it.
  void set_wall_lead(Duration lead) { wall_lead_ = lead; }
  // `now` by the wall clock: for dates that others have written or will read.
  Instant wall_time(Instant now) const { return now + wall_lead_; }

  CalendarCache& calendars() { return calendars_; }

  // Waits for a store that answers later.
  class Asker {
   public:
    // All its answers are there.
    virtual void answered(Instant now) = 0;

   protected:
    ~Asker() = default;

   private:
    friend class Engine;
    Asker* next_ = nullptr;  // in the engine's list
  };
  // The last answer for `asker` is there. The asker outlives the next go_on().
  void answer_came(Asker& asker) noexcept;
  // Calls answered() of each asker that has all its answers.
  void go_on(Instant now);

  // The nodes of all places; outlives the engine. Null: there is only this place.
  // REQUIRES: fleet() is there, too
  Fleet* world = nullptr;

  // Holds units next to the counters in local(); outlives the engine. Null: rules hold nothing.
  HoldingStore* holds = nullptr;

  // Plans and limits of single keys. Null: there are none.
  std::shared_ptr<const TenantTable> tenants;

  // Judges requests of some keys; outlives the engine. Null: nobody judges.
  ErrorBar* error_bar = nullptr;

  // Notes keys that have used much of a limit; outlives the engine. Null: nobody wants notices.
  LimitNotices* notices = nullptr;

  // Whether the local store may count a key of the quota precisely. Null: it never does.
  bool (*may_be_precise)(const Quota&) = nullptr;

  // The figures of this core.
  CoreTraffic& traffic() { return traffic_; }
  // The credits of keys whose rules deny in proportion.
  PassCredits& pass_credits() { return pass_credits_; }

 private:
  Store& store_;
  const KeyHasher* hasher_;
  bool awaits_hasher_ = false;
  CoreTraffic& traffic_;
  Fleet* fleet_ = nullptr;
  const ActiveAlgorithms* active_ = nullptr;
  RuleNumber ruleless_ = kNoRuleNumber;
  const UnusualRules* unusual_ = nullptr;  // null: the traffic is not watched
  CoreRecentAsks* recent_asks_ = nullptr;
  Duration wall_lead_{0};
  CalendarCache calendars_;
  std::function<void()> on_answered_;
  Asker* first_answered_ = nullptr;  // since the last go_on(), in order of their answers
  Asker* last_answered_ = nullptr;
  PassCredits pass_credits_;
};

}  // namespace weir
