// Promises about answers, blocks, memory and the fleet.

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulate/judging.h"
#include "simulate/promises.h"
#include "store/redis/fleet/beat_fields.h"

namespace weir::sim {
namespace {

constexpr Duration kSecond = std::chrono::seconds(1);

// Every request is answered by its deadline.
class AnsweredInTime final : public Check {
 public:
  using Check::Check;
  std::string_view promise() const override { return "answered in time"; }

  void answered(const Answered& answered) override { judge(answered.asked, answered.at); }
  void look() override {
    world_.each_waiting([this](const Asked& asked) { judge(asked, world_.now()); });
  }

 private:
  void judge(const Asked& asked, Instant at) {
    if (at - asked.at <= world_.patience() + kSlack) return;
    const Machine& machine = world_.machine(asked.node);
    if (machine.frozen_until >= asked.at) return;
    fail("request " + std::to_string(asked.number) + " at node " + std::to_string(asked.node) +
         " waits for " + format_duration(at - asked.at));
  }
  static constexpr Duration kSlack = std::chrono::milliseconds(1);
};

// A lone client that comes back when it was told to is admitted.
class RetryTruthful final : public Check {
 public:
  explicit RetryTruthful(World& world)
      : Check(world),
        trip_(2 * (world.scenario().latency + world.scenario().jitter) +
              std::chrono::milliseconds(2)) {}
  std::string_view promise() const override { return "retry_after is true"; }

  void answered(const Answered& answered) override {
    const Asked& asked = answered.asked;
    for (std::size_t i = 0; i < asked.parts.size(); ++i) judge_calendar(answered, i);
    if (asked.source == Asked::kNoSource || asked.parts.size() != 1) return;
    const TrafficSource& source = world_.scenario().traffic[asked.source];
    const Part& part = asked.parts.front();
    const bool is_simple = source.kind == TrafficSource::Kind::kPatient && source.cost == 1 &&
                           source.looks + source.refunds + source.charges == 0;
    if (!is_simple || !is_decided_at_one_place(source, part.rule)) return;
    const Answer& answer = answered.answers.front();
    const auto key = std::pair(part.rule, part.key);
    const auto told = told_.find(key);
    const bool is_whole = told != told_.end() && !answer.is_alone && !answered.is_unavailable &&
                          world_.is_whole_for(world_.now() - told->second.at + kSecond);
    // A node remembers a denial from when it asked Redis. Others hear of a block a trip later, in
    // whole milliseconds. Where packets are lost, a node may hear of a block, and lift it, so late
    // that others have admitted requests meanwhile.
    const bool is_late = answer.decision.retry_after > trip_;
    if (is_whole && is_late && !answer.allowed() && asked.at >= told->second.retry) {
      return fail(world_.rules()[part.rule].id + " " + world_.key_text(part.key) +
                  " came back when it was told to, " + format_duration(asked.at - told->second.at) +
                  " later, and is to wait for " + format_duration(answer.decision.retry_after));
    }
    told_.erase(key);
    // Redis is charged later for the node's lone admissions.
    if (answer.is_alone || answered.is_unavailable) charged_by_[key] = answered.at + kCharged;
    const bool is_told = !answer.allowed() && answer.decision.verdict == Verdict::kDenied &&
                         charged_by_[key] < answered.at && !answer.decision.is_store_full &&
                         (answer.cause != Answer::Cause::kBlocked || world_.scenario().loss <= 0);
    if (is_told) {
      told_[key] = {.at = answered.at, .retry = answered.at + answer.decision.retry_after};
    }
  }
  void restarted(std::size_t) override { told_.clear(); }

 private:
  struct Told {
    Instant at;
    Instant retry;
  };
  // By a calendar a denial holds until its window ends, on the deciding clock. A node remembers a
  // denial from when it asked.
  void judge_calendar(const Answered& answered, std::size_t index) {
    const Asked& asked = answered.asked;
    const Rule& rule = world_.rules()[asked.parts[index].rule];
    const Answer& answer = answered.answers[index];
    if (!rule.quota.is_by_calendar() || !is_plain(rule) || !rule.denial.blocks.empty()) return;
    const Mode mode = world_.mode_of(asked.parts[index].rule);
    const bool is_denial = answer.cause == Answer::Cause::kCounted && !answer.is_alone &&
                           answer.decision.verdict == Verdict::kDenied && !answered.is_unavailable;
    if (!is_denial || mode == Mode::kAsync || answer.decision.is_store_full) return;
    if (world_.has_clock_steps() || world_.has_fault(Fault::Kind::kZone)) return;
    const bool is_local = mode == Mode::kLocal;
    const Machine& machine = is_local ? world_.machine(asked.node) : world_.redis()->machine();
    const Instant from = is_local ? asked.at_node : asked.at_redis;
    const Instant to = machine.clock.at(answered.at);
    const Duration retry = answer.decision.retry_after;
    const Duration slack = is_local ? Duration(0) : trip_ + world_.patience();
    const WindowEnds ends = rule.quota.window_ends();
    for (const Instant end : {ends.previous, ends.current, ends.next}) {
      if (end <= from) continue;
      if (retry >= end - to - slack && retry <= end - from + slack) return;
      if (end > to + slack) break;  // else it may have been decided in the next window
    }
    fail(about(world_, asked.parts[index]) + " is to wait for " + format_duration(retry) +
         ", and its window ends in " + format_duration(ends.current - to));
  }
  bool is_decided_at_one_place(const TrafficSource& source, std::uint32_t rule) const {
    const Mode mode = world_.mode_of(rule);
    const Rule& asked = world_.rules()[rule];
    if (asked.enforced_percent < 100 || world_.scenario().drift > 0) return false;
    if (asked.quota.switches()) return false;  // afterwards another algorithm decides
    if (mode == Mode::kStrict) return true;
    return mode == Mode::kLocal && (source.node || world_.nodes() == 1);
  }
  static constexpr Duration kCharged = 2 * kSecond;

  Duration trip_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Told> told_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Instant> charged_by_;
};

// All nodes deny keys that one node has blocked, and allow keys that one has lifted.
class BlocksReachAll final : public Check {
 public:
  explicit BlocksReachAll(World& world) : Check(world) {
    if (world.scenario().loss > 0) apart_max_ += 3 * kSecond;
    if (world.has_places()) bound_ += kLate;
  }
  std::string_view promise() const override { return "blocks reach all"; }

  void answered(const Answered& answered) override {
    for (std::size_t i = 0; i < answered.answers.size(); ++i) {
      const Part& part = answered.asked.parts[i];
      const bool may_block = !world_.rules()[part.rule].denial.blocks.empty();
      if (may_block && !answered.answers[i].allowed()) {
        acts_[{world_.rules()[part.rule].id, world_.key_text(part.key)}] = {.at = world_.now(),
                                                                            .is_by_rule = true};
      }
    }
  }
  void faulted(const Fault& fault) override {
    const bool is_act = fault.kind == Fault::Kind::kBlock || fault.kind == Fault::Kind::kLift;
    if (is_act) {
      acts_[{fault.rule, fault.key}].at = world_.now();
    } else {
      apart_max_ += fault.length;
    }
  }
  void look() override {
    if (!world_.is_whole_for(bound_)) return;
    for (const auto& [name, act] : acts_) {
      if (world_.now() - act.at >= bound_) compare(name.first, name.second, act);
    }
  }

 private:
  // By a person, or by the rule, which each node may do in its own time.
  struct Act {
    Instant at;
    bool is_by_rule = false;
  };
  // If a node ends, the other nodes of its place tell other places what it had not told.
  static constexpr Duration kLate = 2 * BlocksField::kBeatsUntilLate * kSecond;

  void compare(const std::string& rule, const std::string& key, const Act& act) {
    std::optional<std::size_t> first;
    Duration left{0};
    for (std::size_t number = 0; number < world_.nodes(); ++number) {
      SimNode* const node = world_.node(number);
      if (node == nullptr || !node->is_sharing()) continue;
      const auto until = node->blocks().until(rule, key, node->now());
      const Duration here = until ? *until - node->now() : Duration(0);
      if (!first) {
        first = number;
        left = here;
        continue;
      }
      const bool is_at_one = (here == Duration(0)) != (left == Duration(0));
      const Duration apart = std::chrono::abs(here - left);
      if (apart <= (is_at_one || !act.is_by_rule ? apart_max_ : Duration::max())) continue;
      return fail("rule '" + rule + "', key '" + key + "': blocked for " + format_duration(left) +
                  " at node " + std::to_string(*first) + ", for " + format_duration(here) +
                  " at node " + std::to_string(number));
    }
  }
  std::map<std::pair<std::string, std::string>, Act> acts_;
  // A beat, its trip, and one more beat for the rest; the longest wait for a connection.
  Duration bound_ = 8 * kSecond;
  // Ends differ by an act's time on the way to Redis, and by steps of its clock.
  Duration apart_max_ = kSecond;
};

// Memory holds no more than its bound.
class MemoryBounded final : public Check {
 public:
  using Check::Check;
  std::string_view promise() const override { return "memory is bounded"; }

  void look() override {
    sizes_.resize(world_.nodes());
    for (std::size_t number = 0; number < world_.nodes(); ++number) {
      SimNode* const node = world_.node(number);
      if (node == nullptr) continue;
      const MemoryStoreStats stats = node->memory().stats();
      if (sizes_[number] == 0) sizes_[number] = stats.bytes;
      if (stats.bytes != sizes_[number] || stats.log_entries > 4 * stats.capacity) {
        fail("node " + std::to_string(number) + " holds " + std::to_string(stats.bytes) +
             " bytes and " + std::to_string(stats.log_entries) + " times of logs");
      }
      if (node->blocks().size() > BlockList::kBlocksMax) fail("too many blocks");
    }
  }

 private:
  std::vector<std::uint64_t> sizes_;
};

// When nothing is broken any more, the nodes share again, and know each other.
class Recovers final : public Check {
 public:
  using Check::Check;
  std::string_view promise() const override { return "recovers"; }

  void end() override {
    const Scenario& scenario = world_.scenario();
    const Duration trip = trip_max(scenario) + std::chrono::milliseconds(2);
    const bool may_fail = !world_.has_places() && trip >= world_.patience();
    if (may_fail || scenario.loss > 0) return;  // it may fail at any time
    if (world_.redis() == nullptr || !world_.is_whole_for(kBound)) return;
    std::int64_t alive = 0;
    for (std::size_t i = 0; i < world_.nodes(); ++i) alive += world_.node(i) != nullptr;
    std::set<std::uint64_t> secrets;
    for (std::size_t i = 0; i < world_.nodes(); ++i) {
      if (world_.node(i) == nullptr) continue;
      FleetState& state = world_.node(i)->fleet()->state();
      const FleetHealth health = state.health();
      if (!health.is_healthy) {
        return fail("node " + std::to_string(i) + " does not share: " + health.reason);
      }
      if (state.live_nodes() != alive) {
        return fail("node " + std::to_string(i) + " knows of " +
                    std::to_string(state.live_nodes()) + " nodes of " + std::to_string(alive));
      }
      const std::uint64_t secret = world_.node(i)->secret_number();
      if (secrets.insert(secret).second && secrets.size() > 1) {
        return fail("node " + std::to_string(i) + " has another secret than those before it");
      }
    }
  }

 private:
  // The longest wait of a link, a beat, and the time until a silent node counts no more.
  static constexpr Duration kBound = 12 * kSecond;
};

}  // namespace

void add_fleet_checks(World& world, Checks& checks) {
  add<AnsweredInTime, RetryTruthful, BlocksReachAll, MemoryBounded, Recovers>(world, checks);
}

}  // namespace weir::sim
