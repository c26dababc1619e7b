// LateStore: a store for tests that answers when the test says so, or not at all.
// LateFleet: the fleet of an engine that shares it.
//
// Thread rule: one thread. Tested by src/engine/asks/asks_modes_test.cc, which uses it.

#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/late_reply.h"
#include "engine/engine.h"
#include "engine/fleet.h"
#include "weir/store.h"

namespace weir {

class LateStore final : public Store {
 public:
  // `store` decides; it must outlive this.
  explicit LateStore(Store& store) : store_(store) {}

  void answer_at_once() { at_once_ = true; }
  // From now on the store fails at once.
  void break_down() { broken_ = true; }
  void recover() { broken_ = false; }

  void answer_one() { answer(*take()); }
  void answer_last() {
    Batch* const batch = waiting_.back();
    waiting_.pop_back();
    answer(*batch);
  }
  void answer_all() {
    while (!waiting_.empty()) answer_one();
  }
  void fail_one() { fail(*take()); }
  void fail_all() {
    while (!waiting_.empty()) fail_one();
  }

  std::size_t waiting() const { return waiting_.size(); }
  int asked() const { return asked_; }  // number of batches

  void decide(Batch& batch, Instant now) noexcept override {
    ++asked_;
    now_ = now;
    if (broken_) return fail(batch);
    if (at_once_) return answer(batch);
    waiting_.push_back(&batch);
  }

 private:
  Batch* take() {
    Batch* const batch = waiting_.front();
    waiting_.pop_front();
    return batch;
  }
  void answer(Batch& batch) { store_.decide(batch, now_); }
  void fail(Batch& batch) {
    batch.error = StoreError::kUnavailable;
    batch.on_done(batch);
  }

  Store& store_;
  std::deque<Batch*> waiting_;
  Instant now_{};
  int asked_ = 0;
  bool at_once_ = false;
  bool broken_ = false;
};

// One store decides all shared modes.
class TestFleet final : public Fleet {
 public:
  explicit TestFleet(Store& store, Mode default_mode = Mode::kStrict)
      : store_(store), default_mode_(default_mode) {}

  Store& store(Mode) override { return store_; }
  Store& leases_at_hand() override { return *at_hand; }
  Mode default_mode() const override { return default_mode_; }
  const KeyHasher* hasher() const override { return own_hasher; }
  bool awaits_hasher() const override { return is_nameless; }
  std::int64_t live_nodes() const override { return nodes; }
  SharingFacts sharing(const Quota&, Instant) const override {
    SharingFacts sharing = facts;
    sharing.nodes = nodes;
    sharing.stores = nodes * facts.stores;
    return sharing;
  }
  bool is_spread() const override { return spread; }
  Duration patience() const override { return std::chrono::milliseconds(20); }
  void admitted_alone(const Charge& charge, Instant) override { alone += charge.cost; }
  void admitted_early(const KeyName& name, std::span<const Quota> limits, std::int64_t cost,
                      Instant) override {
    early.push_back(std::string(name.rule) + "/" + std::string(name.bucket) + "/" +
                    std::string(name.key) + " " + std::to_string(limits.size()) + "x" +
                    std::to_string(cost));
  }

  struct NothingAtHand final : Store {
    void decide(Batch& batch, Instant) noexcept override {
      batch.error = StoreError::kUnavailable;
      batch.on_done(batch);
    }
  };

  bool spread = false;
  const KeyHasher* own_hasher = nullptr;
  bool is_nameless = false;
  std::int64_t nodes = 1;
  SharingFacts facts{};            // stores: of one node
  std::int64_t alone = 0;          // units admitted while the store failed
  std::vector<std::string> early;  // admitted before keys have common names
  NothingAtHand nothing;
  Store* at_hand = &nothing;

 private:
  Store& store_;
  Mode default_mode_;
};

// The engine's fleet, whose store decides by `distant` and answers late.
class LateFleet {
 public:
  LateFleet(Engine& engine, const Instant& now, std::unique_ptr<Store> distant)
      : engine_(engine), now_(now), distant_(std::move(distant)) {
    engine.join(fleet, [this] { has_answers_ = true; });
  }
  // Does what the loop does when answers have come.
  void go_on() {
    if (std::exchange(has_answers_, false)) engine_.go_on(now_);
  }

 private:
  Engine& engine_;
  const Instant& now_;
  const std::unique_ptr<Store> distant_;
  bool has_answers_ = false;

 public:
  LateStore late{*distant_};
  TestFleet fleet{late};
};

struct FlagWaker final : Waker {
  void wake() noexcept override { woken = true; }
  bool woken = false;
};

}  // namespace weir
