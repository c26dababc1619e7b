// Promises about how much is admitted.

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rules/promise.h"
#include "simulate/judging.h"
#include "simulate/ledger.h"
#include "simulate/promises.h"
#include "store/redis/leased/leased_key.h"

namespace weir::sim {
namespace {

// No key is admitted more than its algorithm's bound: by each node in mode local, by the fleet in
// strict and leased. Units that Redis confirmed and then lost come on top.
class NeverOver final : public Check {
 public:
  using Check::Check;
  std::string_view promise() const override { return "never over"; }

  // A refund may take effect as soon as it is asked for, whatever its answer.
  void asked(const Asked& asked) override {
    for (const Part& part : asked.parts) {
      const Rule& rule = world_.rules()[part.rule];
      if (part.verb != Verb::kRefund || !is_plain(rule)) continue;
      const bool is_local = world_.mode_of(part.rule) == Mode::kLocal;
      const Instant at = is_local ? asked.at_node : asked.at_redis;
      const Admission refund{.from = at, .to = at + world_.patience(), .units = -part.cost};
      Key& key = key_of(part, asked.node);
      // Earlier charges filled the key no higher than it may owe: a refund lowers that level.
      count_charges(charges_.at(part.rule, is_local ? asked.node : 0, part.key), key, rule.quota,
                    refund.from);
      std::visit([&](auto& counted) { add(counted, rule.quota, refund, 0); }, key);
    }
  }
  void answered(const Answered& answered) override {
    for (std::size_t i = 0; i < answered.answers.size(); ++i) {
      const Part& part = answered.asked.parts[i];
      const Rule& rule = world_.rules()[part.rule];
      const Mode mode = world_.mode_of(part.rule);
      // A refund that Redis did not answer in time may reach it in a later window.
      const bool is_late = answered.is_unavailable || answered.answers[i].is_alone;
      if (part.verb == Verb::kRefund && is_late && mode != Mode::kLocal) {
        lost(part.rule, part.key, part.cost);
      }
      if (part.verb == Verb::kRefund || !is_charged(answered, i) || !is_plain(rule)) continue;
      if (mode == Mode::kAsync && is_copied(rule.quota.algorithm())) continue;
      if (mode != Mode::kLocal && world_.now() < suspended_until_) continue;
      const bool is_local = mode == Mode::kLocal;
      Admission admission = admission_of(answered, part.cost, mode);
      Charges& charges = charges_.at(part.rule, is_local ? answered.asked.node : 0, part.key);
      if (part.verb == Verb::kCharge) {
        // If it does not fit, others may hold leased units, or owe some from being alone. After a
        // key's name has changed, its units count again, and it may owe no more.
        const bool may_owe = !is_local || world_.redis() != nullptr;
        if (may_owe && answered.answers[i].decision.remaining == 0) continue;
        admission.is_always = true;
        charges.push_back(admission);
        continue;
      }
      Key& key = key_of(part, answered.asked.node);
      count_charges(charges, key, rule.quota, admission.from);
      std::int64_t forgiven = 0;
      if (!is_local) forgiven = lost_.at(part.rule, 0, part.key).at(world_.now());
      const bool is_over = std::visit(
          [&](auto& counted) { return add(counted, rule.quota, admission, forgiven); }, key);
      if (!is_over && !is_local) check_redis_knows(part, key, admission, forgiven, mode);
      if (!is_over || (is_local && is_short_of_memory(world_, answered))) continue;
      fail(about(world_, part) + ": node " + std::to_string(answered.asked.node) + " admitted " +
           std::to_string(admission.units) + " more: " + text_of(key, rule.quota, admission.to) +
           " of " + std::to_string(rule.quota.limit()) + ", mode " + std::string(mode_name(mode)));
    }
  }
  void lost(std::uint32_t rule, std::uint32_t key, std::int64_t units) override {
    const Quota& quota = world_.rules()[rule].quota;
    lost_.at(rule, 0, key).add(units, world_.now() + quota.window() + LeasedKey::kLongMax);
    if (auto* level = std::get_if<BucketLevel>(&keys_.at(rule, 0, key))) {
      level->forgive(quota, units, world_.redis()->now());
    }
  }
  void restarted(std::size_t node) override {
    for (std::uint32_t rule = 0; rule < world_.rules().size(); ++rule) {
      if (world_.mode_of(rule) != Mode::kLocal) continue;
      keys_.forget(rule, node);
      charges_.forget(rule, node);
    }
  }
  // Counts and leases from before a clock stepped do not matter for later windows.
  void faulted(const Fault& fault) override {
    if (is_clock_step(fault)) named_anew();
  }
  void named_anew() override {
    suspended_until_ = world_.now() + LeasedKey::kLongMax;
    for (std::uint32_t rule = 0; rule < world_.rules().size(); ++rule) {
      if (world_.mode_of(rule) == Mode::kLocal) continue;
      keys_.forget_all(rule);
      charges_.forget_all(rule);
    }
  }

 private:
  struct Sum : SpanSum {
    std::int64_t most = 0;
  };
  using Charges = std::vector<Admission>;
  using Key = std::variant<std::monostate, WindowCount, Sum, BucketLevel>;
  // Counts the charges that were certainly made before, and drops them.
  static void count_charges(Charges& charges, Key& key, const Quota& quota, Instant before) {
    std::erase_if(charges, [&](const Admission& charge) {
      if (charge.to > before) return false;
      std::visit([&](auto& counted) { add(counted, quota, charge, 0); }, key);
      return true;
    });
  }
  Key& key_of(const Part& part, std::size_t node) {
    const Mode mode = world_.mode_of(part.rule);
    Key& key = keys_.at(part.rule, mode == Mode::kLocal ? node : 0, part.key);
    if (key.index() == 0) key = fresh(world_.rules()[part.rule].quota, mode);
    return key;
  }
  static Key fresh(const Quota& quota, Mode mode) {
    if (quota.is_fixed()) return WindowCount();
    if (quota.algorithm() == Algorithm::kTokenBucket) {
      return BucketLevel(mode == Mode::kLeased ? gained_in_lease(quota) : 0);
    }
    Sum sum;
    sum.most = quota.limit() + promise_of(quota, mode, 1).over;
    return sum;
  }
  // For fixed windows. A node spends only units that were charged before. So Redis has charged, at
  // any time, the units that were certainly admitted.
  void check_redis_knows(const Part& part, const Key& key, const Admission& last,
                         std::int64_t forgiven, Mode mode) {
    const auto* const count = std::get_if<WindowCount>(&key);
    if (count == nullptr || mode == Mode::kAsync) return;
    const Quota& quota = world_.rules()[part.rule].quota;
    const bool is_early = window_number(quota, last.to - kEarly) != window_number(quota, last.to);
    if (!is_early && ++answers_ % kOneOf != 0) return;
    const Instant from = std::max(next_look_, world_.now() - kLooksAtOnce * kLookEvery);
    if (from > world_.now()) return;
    next_look_ = from + kLookEvery;
    if (window_number(quota, world_.redis()->reached()) != window_number(quota, last.to)) return;
    const std::int64_t admitted = count->admitted(quota, last.to);
    const auto left = world_.left_in_redis(part.rule, part.key, RedisServer::Script::kIfKnown);
    if (!left || admitted <= quota.limit() - *left + forgiven) return;
    fail(about(world_, part) + ": " + std::to_string(admitted) +
         " were admitted in a window, and " + "Redis has charged " +
         std::to_string(quota.limit() - *left) + ", mode " + std::string(mode_name(mode)));
  }
  // A bucket may admit so many units too many, because short leases go back early
  // (docs/internals/model.md).
  static double gained_in_lease(const Quota& quota) {
    return 1 + static_cast<double>(quota.limit()) *
                   static_cast<double>(lease_length(quota).count()) /
                   static_cast<double>(quota.window().count());
  }
  // When it was decided, on the deciding clock.
  Admission admission_of(const Answered& answered, std::int64_t units, Mode mode) const {
    if (mode == Mode::kLocal) {
      return {.from = answered.asked.at_node,
              .to = world_.machine(answered.asked.node).clock.at(answered.at),
              .units = units};
    }
    const Instant from = answered.asked.at_redis;
    const Instant to = world_.redis()->machine().clock.at(answered.at);
    // A lease ends on the clock of its node.
    const Duration drift =
        mode == Mode::kLeased
            ? Duration(2 * world_.scenario().drift * LeasedKey::kLongMax.count() / 1'000'000)
            : Duration(0);
    return {.from = std::min(from, to) - drift, .to = std::max(from, to) + drift, .units = units};
  }

  static bool add(std::monostate, const Quota&, const Admission&, std::int64_t) { return false; }
  static bool add(WindowCount& count, const Quota& quota, const Admission& admission,
                  std::int64_t forgiven) {
    count.add(quota, admission);
    return count.admitted(quota, admission.to) > quota.limit() + forgiven;
  }
  static bool add(Sum& sum, const Quota& quota, const Admission& admission, std::int64_t forgiven) {
    // Counters that weigh the last window may underrate a charge. Yet it makes no room.
    const bool is_exact = quota.algorithm() == Algorithm::kSlidingLog ||
                          quota.algorithm() == Algorithm::kStrictWindow;
    if (admission.is_always && !is_exact) return false;
    sum.add(quota, admission);
    return sum.admitted() > sum.most + forgiven;
  }
  static bool add(BucketLevel& level, const Quota& quota, const Admission& admission,
                  std::int64_t) {
    level.add(quota, admission);
    return level.is_over(quota);
  }
  static std::string text_of(const Key& key, const Quota& quota, Instant at) {
    if (const auto* const count = std::get_if<WindowCount>(&key)) {
      return std::to_string(count->admitted(quota, at)) + " in a window";
    }
    if (const auto* const sum = std::get_if<Sum>(&key)) {
      return std::to_string(sum->admitted()) + " within a window's length, at most " +
             std::to_string(sum->most);
    }
    return std::to_string(std::get<BucketLevel>(key).level()) + " in the bucket";
  }

  static constexpr Duration kEarly = std::chrono::milliseconds(100);
  static constexpr std::uint64_t kOneOf = 16;
  // Limits the looks during a flood.
  static constexpr Duration kLookEvery = std::chrono::milliseconds(2);
  static constexpr int kLooksAtOnce = 16;

  std::uint64_t answers_ = 0;
  Instant next_look_{};
  ByKey<Key> keys_;
  ByKey<Charges> charges_;
  ByKey<Forgiven> lost_;
  Instant suspended_until_{};
};

// A fixed window of one node counts each unit once, and no units of a denied list.
class CountsExactly final : public Check {
 public:
  using Check::Check;
  std::string_view promise() const override { return "counts exactly"; }

  void asked(const Asked& asked) override {
    for (const Part& part : asked.parts) ++keys_.at(part.rule, asked.node, part.key).open;
  }
  void answered(const Answered& answered) override {
    for (std::size_t i = 0; i < answered.answers.size(); ++i) {
      const Part& part = answered.asked.parts[i];
      const Rule& rule = world_.rules()[part.rule];
      const Answer& answer = answered.answers[i];
      Key& key = keys_.at(part.rule, answered.asked.node, part.key);
      const Instant at = answered.asked.at_node;
      // An ask that waits for its other parts may or may not be counted already.
      const bool is_open = --key.open > 0 || answered.at != answered.asked.at;
      if (is_open || part.verb == Verb::kRefund || part.verb == Verb::kCharge) {
        const Instant heard = world_.machine(answered.asked.node).clock.at(answered.at);
        key.unclear_in = window_number(rule.quota, heard + world_.patience());
      }
      if (world_.mode_of(part.rule) != Mode::kLocal || !is_plain(rule)) continue;
      if (!rule.quota.is_fixed()) continue;
      const bool is_counted = answer.cause == Answer::Cause::kCounted && !answered.is_unavailable;
      if (window_number(rule.quota, at) <= key.unclear_in || !is_counted) continue;
      const std::int64_t left = rule.quota.limit() - key.count.admitted(rule.quota, at);
      const std::int64_t charged = answered.is_allowed() && part.verb == Verb::kHit ? part.cost : 0;
      key.count.add(rule.quota, {.from = at, .to = at, .units = charged});
      // A denial that blocks leaves nothing. A look blocks nobody.
      const bool is_block = part.verb == Verb::kHit && !rule.denial.blocks.empty() &&
                            answer.decision.verdict == Verdict::kDenied;
      const bool is_right = answer.decision.remaining == (is_block ? 0 : left - charged) &&
                            answer.allowed() == (part.cost <= left);
      if (is_right || is_short_of_memory(world_, answered)) continue;
      fail(about(world_, part) + ": " + std::to_string(left) + " were left, it asked for " +
           std::to_string(part.cost) + " and was " + (answer.allowed() ? "allowed" : "denied") +
           " with " + std::to_string(answer.decision.remaining) + " left");
    }
  }
  void restarted(std::size_t node) override { keys_.forget(node); }

 private:
  struct Key {
    WindowCount count;
    int open = 0;                  // asks
    std::int64_t unclear_in = -1;  // up to that window
  };
  ByKey<Key> keys_;
};

// While its store fails, a node admits its share of the limit.
// For fixed windows: a lone node's admissions, with its earlier ones in the same window, are at
// most its share. It spends its leases first, which are of Redis's windows. Redis may grant again
// units that it has lost.
class AloneWithinShare final : public Check {
 public:
  using Check::Check;
  std::string_view promise() const override { return "alone within its share"; }

  // A refund may take effect as soon as it is asked for.
  void asked(const Asked& asked) override {
    for (const Part& part : asked.parts) {
      if (part.verb != Verb::kRefund || !is_about(part.rule)) continue;
      const Instant at = asked.at_node;
      keys_.at(part.rule, asked.node, part.key)
          .add(world_.rules()[part.rule].quota,
               {.from = at, .to = at + world_.patience(), .units = -part.cost});
    }
  }
  void answered(const Answered& answered) override {
    if (!answered.is_allowed()) return;
    for (std::size_t i = 0; i < answered.answers.size(); ++i) {
      const Part& part = answered.asked.parts[i];
      const Rule& rule = world_.rules()[part.rule];
      if (part.verb != Verb::kHit || !answered.answers[i].is_alone || !is_about(part.rule))
        continue;
      WindowCount& count = keys_.at(part.rule, answered.asked.node, part.key);
      const Instant at = world_.machine(answered.asked.node).clock.at(answered.at);
      count.add(rule.quota, {.from = answered.asked.at_node, .to = at, .units = part.cost});
      // The nodes that it knows of: at least itself.
      const std::int64_t share =
          rule.quota.limit() + lost_.at(part.rule, 0, part.key).at(world_.now());
      if (count.admitted(rule.quota, at) <= share || is_short_of_memory(world_, answered)) continue;
      fail(about(world_, part) + ": node " + std::to_string(answered.asked.node) +
           " admitted by itself " + std::to_string(count.admitted(rule.quota, at)) + " of " +
           std::to_string(share));
    }
  }
  void lost(std::uint32_t rule, std::uint32_t key, std::int64_t units) override {
    lost_.at(rule, 0, key).add(units, world_.now() + world_.rules()[rule].quota.window());
  }
  void restarted(std::size_t node) override { keys_.forget(node); }

 private:
  bool is_about(std::uint32_t number) const {
    const Rule& rule = world_.rules()[number];
    return is_plain(rule) && rule.quota.is_fixed() &&
           rule.on_store_failure == OnStoreFailure::kLocal &&
           (world_.mode_of(number) != Mode::kLeased || has_one_time_);
  }
  const bool has_one_time_ = world_.scenario().skew == Duration(0) &&
                             world_.scenario().drift == 0 && !world_.has_clock_steps();
  ByKey<WindowCount> keys_;
  ByKey<Forgiven> lost_;
};

// In mode async every node denies soon after the nodes have together admitted the limit.
// For fixed windows on nodes whose clocks agree. A node that did not use the key for a while admits
// all requests until its sync is back.
class AsyncStops final : public Check {
 public:
  explicit AsyncStops(World& world) : Check(world) {
    const Scenario& scenario = world.scenario();
    is_exact_ = scenario.skew == Duration(0) && scenario.drift == 0 && scenario.loss <= 0;
    trip_ = trip_max(scenario) + std::chrono::milliseconds(25);
    shared_after_ = std::chrono::seconds(scenario.faults.empty() ? 2 : 10);
  }
  std::string_view promise() const override { return "async stops"; }

  void answered(const Answered& answered) override {
    if (!is_exact_ || !answered.is_allowed()) return;
    for (std::size_t i = 0; i < answered.answers.size(); ++i) {
      const Part& part = answered.asked.parts[i];
      const Rule& rule = world_.rules()[part.rule];
      if (world_.mode_of(part.rule) != Mode::kAsync || part.verb == Verb::kLook) continue;
      if (!is_plain(rule) || rule.quota.algorithm() != Algorithm::kFixedWindow) continue;
      if (answered.answers[i].cause != Answer::Cause::kCounted) continue;
      Key& key = keys_.at(part.rule, 0, part.key);
      const std::int64_t length = rule.quota.window().count();
      const std::int64_t window = epoch_us(answered.asked.at) / length;
      // A node knows Redis's clock except for a trip, so its next window may have begun.
      if (epoch_us(answered.asked.at + trip_) / length != window) continue;
      if (window != key.window) key = {.window = window};
      key.admitted += units_of(part);
      if (part.verb != Verb::kHit) key.is_unclear = true;
      if (key.admitted >= rule.quota.limit() && key.full_since == Instant{}) {
        key.full_since = answered.at;
        continue;
      }
      Use& use = used_.at(part.rule, answered.asked.node, part.key);
      const bool was_idle = answered.asked.at - use.last > world_.sync_interval();
      if (use.first < key.full_since || was_idle) use.first = answered.asked.at;
      use.last = answered.asked.at;
      const Duration late = answered.asked.at - use.first;
      if (key.full_since == Instant{} || key.is_unclear || late <= bound()) continue;
      if (!world_.is_whole_for(rule.quota.window() + shared_after_)) continue;
      fail(about(world_, part) + ": node " + std::to_string(answered.asked.node) +
           " admitted more " + format_duration(late) + " after all had admitted " +
           std::to_string(rule.quota.limit()));
    }
  }

 private:
  struct Key {
    std::int64_t window = -1;
    std::int64_t admitted = 0;
    Instant full_since{};
    bool is_unclear = false;
  };
  // By a node, since the nodes together admitted the limit, without a pause.
  struct Use {
    Instant first{};
    Instant last{};
  };
  Duration bound() const { return world_.sync_interval() + 2 * trip_; }

  bool is_exact_;
  Duration trip_;
  Duration shared_after_;
  ByKey<Key> keys_;
  ByKey<Use> used_;
};

}  // namespace

void add_admission_checks(World& world, Checks& checks) {
  add<NeverOver, CountsExactly, AloneWithinShare, AsyncStops>(world, checks);
}

}  // namespace weir::sim
