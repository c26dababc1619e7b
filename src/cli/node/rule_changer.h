// RuleChanger: the one thread that changes rules, one change after the other, for requests and for
// files.
//
//   cores  ── change() ──►  waiting, 64 at most  ──►  this thread: Rulebook  ──►  cores swap
//   main   ── run() ─────►
//
// In a fleet it offers each change to the other nodes before it puts the change in force. It also
// makes the other nodes' changes (engine/shared/shared_rules.h).
//
// Thread rule: one thread makes it, stops it and destroys it; the rest from any.
// Tested by rule_changer_test.cc and tests/e2e/rules_test.py.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "engine/shared/shared_rules.h"
#include "rulebook/rule_desk.h"
#include "rulebook/rulebook.h"

namespace weir {

class RuleChanger final : public RuleDesk {
 public:
  static constexpr std::size_t kWaitingMax = 64;

  // How long a change waits for Redis, and then for the other nodes.
  static constexpr Duration kOfferMax = std::chrono::seconds(1);
  static constexpr Duration kNodesMax = std::chrono::seconds(1);

  using Work = std::function<RuleReply()>;

  // Starts the thread. Signals that are blocked in the caller are blocked in it. `book` must
  // outlive this; from the first change() or run() on it is this thread's. `fleet`: null if the
  // node is alone; it outlives the thread. `title`: people's name for the node.
  RuleChanger(Rulebook& book, SharedRules* fleet, std::string title = {});
  // Sets the memory of the latest requests. Call before the first trial; it outlives the thread.
  // `precise_keys`: how many keys the node counts precisely.
  void remember_in(const RecentAsks& memory, std::size_t precise_keys) {
    memory_ = &memory;
    precise_keys_ = precise_keys;
  }
  ~RuleChanger() override { stop(); }
  RuleChanger(const RuleChanger&) = delete;
  RuleChanger& operator=(const RuleChanger&) = delete;

  std::shared_ptr<const RulesView> view() const override { return book_.view(); }
  RuleHistory history() const override { return book_.history(); }
  std::optional<RuleHold> hold() const override;
  void change(RuleChange change, Done done, Instant now) override;
  void judge(RuleTrial trial, Judged done, Instant now) override;

  // The same for work on the book without a request, such as a reload. `done` receives the reply of
  // `work`, or why it was not done.
  void run(Work work, Done done);
  // The same for other nodes' changes.
  void follow_fleet(Instant now);

  // Puts other rules in force. Changes by request that hold in the fleet stay, if they were made on
  // the rules of this file. REQUIRES: runs as Work
  Rulebook::Loaded load(Config config, Instant now);

  // Ends the current change, and refuses waiting and later changes.
  void stop();

 private:
  struct Job {
    Work work;
    Done done;
  };

  RuleReply refusal(std::string detail) const;
  RuleReply reply_to(const Job& job) const;
  void work_off(const std::stop_token& stop);
  RuleReply make(RuleChange change, Instant now);
  SharedHead offer(std::string by_hand);
  void follow(Instant now);
  RuleVerdict verdict_on(const RuleTrial& trial, Instant now) const;

  Rulebook& book_;
  SharedRules* const fleet_;
  const std::string title_;
  const RecentAsks* memory_ = nullptr;  // null: nothing is remembered
  std::size_t precise_keys_ = 0;
  std::atomic_flag has_dry_run_;  // one dry run waits, or is under way
  std::mutex mutex_;              // guards waiting_
  std::condition_variable_any wake_;
  std::deque<Job> waiting_;
  std::jthread thread_;
};

}  // namespace weir
