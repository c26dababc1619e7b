// Engine: charges in, decisions out. Doors ask in the words of rules (asks.h).
//
// A Check is filled, decide() called, and the answer is there when on_done is called:
// at once from a store in memory, later from one that must be asked.
//
// Thread rule: one engine a core; a Check is decided on the engine of its core. The
// store below is shared.
// Tested by engine_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "observe/traffic.h"
#include "weir/key.h"
#include "weir/store.h"

namespace weir {

class Engine;

// The charges of one request, with room for their quotas and decisions. Lives in its
// session and is reused, so that deciding allocates nothing.
class Check {
 public:
  // Starts over. `on_done` is called exactly once per decide(), on the same core.
  void begin(Operation operation, void (*on_done)(Check&) noexcept);

  // REQUIRES: size() < Batch::kChargesMax, |cost| <= kCostMax
  void add(KeyHash key, const Quota& quota, std::int64_t cost);

  std::size_t size() const { return size_; }
  bool full() const { return size_ == Batch::kChargesMax; }
  const Quota& quota(std::size_t index) const { return quotas_[index]; }

  // After on_done. If error() is not kNone the decisions mean nothing.
  StoreError error() const { return batch_.error; }
  std::span<const Decision> decisions() const { return {decisions_.data(), size_}; }

 private:
  friend class Engine;
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
      : store_(store), hasher_(hasher), traffic_(traffic) {}

  KeyHash hash(const KeyName& name, const Quota& quota) const { return hasher_.hash(name, quota); }

  // Decides `check` as of `now` and calls its on_done, now or later.
  void decide(Check& check, Instant now) noexcept;

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

 private:
  static void finish(Batch& batch) noexcept;

  Store& store_;
  const KeyHasher& hasher_;
  CoreTraffic& traffic_;
};

}  // namespace weir
