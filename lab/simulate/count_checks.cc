// Promises about Redis's counts at the end, and about an exact count's answers.

#include <algorithm>
#include <string>
#include <utility>

#include "simulate/judging.h"
#include "simulate/ledger.h"
#include "simulate/promises.h"

namespace weir::sim {
namespace {

// For fixed windows, at the end. Without faults Redis has charged exactly the units that nodes
// admitted, and they have left. With faults it has charged no fewer, except for units that it lost.
class UnitsComeBack final : public Check {
 public:
  explicit UnitsComeBack(World& world)
      : Check(world),
        fails_(!world.scenario().faults.empty()),
        is_unclear_(world.has_clock_steps()) {}
  std::string_view promise() const override { return "units come back"; }
  void named_anew() override { is_unclear_ = true; }

  void asked(const Asked& asked) override {
    for (const Part& part : asked.parts) {
      if (!is_about(part.rule)) continue;
      Key& key = keys_.at(part.rule, 0, part.key);
      if (part.verb == Verb::kRefund || part.verb == Verb::kCharge) key.is_unclear = true;
      if (part.verb == Verb::kHit) ++key.open;
    }
  }
  void answered(const Answered& answered) override {
    for (std::size_t i = 0; i < answered.answers.size(); ++i) {
      const Part& part = answered.asked.parts[i];
      if (!is_about(part.rule) || part.verb != Verb::kHit) continue;
      Key& key = keys_.at(part.rule, 0, part.key);
      --key.open;
      const Quota& quota = world_.rules()[part.rule].quota;
      const Instant to = world_.redis()->machine().clock.at(answered.at);
      const Instant from = fails_ ? answered.asked.at_redis - kTold : to;
      const bool is_lost = answered.is_unavailable || answered.answers[i].is_alone;
      const bool is_told = is_lost || world_.mode_of(part.rule) == Mode::kAsync;
      const Instant charged = is_told ? to + kTold : to;
      const std::int64_t window = window_number(quota, charged);
      if (is_lost || window_number(quota, answered.asked.at_redis) != window)
        key.unclear_in = window;
      if (!is_charged(answered, i)) continue;
      key.count.add(quota, {.from = from, .to = to, .units = part.cost});
      key.last = world_.now();
    }
  }
  void lost(std::uint32_t rule, std::uint32_t key, std::int64_t units) override {
    keys_.at(rule, 0, key).lost += units;
  }
  // A node that dies takes its untold units with it.
  void restarted(std::size_t) override {
    for (std::uint32_t rule = 0; rule < world_.rules().size(); ++rule) {
      if (world_.mode_of(rule) != Mode::kAsync) continue;
      for (std::uint32_t key = 0; key < world_.keys(); ++key) {
        keys_.at(rule, 0, key).is_unclear = true;
      }
    }
  }
  void end() override {
    if (!fails_ || is_unclear_ || !world_.is_whole_for(kRecovered)) return;
    each_key([this](std::uint32_t rule, std::uint32_t number, const Key& key) {
      if (world_.now() - key.last < kTold) return;
      const std::int64_t limit = world_.rules()[rule].quota.limit();
      judge(rule, number, [&](std::int64_t admitted, std::int64_t left) {
        return left <= limit - std::min(admitted, limit) + key.lost;
      });
    });
  }
  void have_left() override {
    each_key([this](std::uint32_t rule, std::uint32_t number, const Key& key) {
      const Quota& quota = world_.rules()[rule].quota;
      if (key.open > 0 || key.unclear_in >= window_number(quota, world_.redis()->now())) return;
      judge(rule, number, [&](std::int64_t admitted, std::int64_t left) {
        return left == std::max<std::int64_t>(0, quota.limit() - admitted);
      });
    });
  }

 private:
  struct Key {
    WindowCount count;
    std::int64_t open = 0;
    std::int64_t unclear_in = -1;  // up to that window
    std::int64_t lost = 0;
    Instant last{};
    bool is_unclear = false;
  };
  // By then syncs have told Redis, if it answers; it does when all is whole for so long.
  static constexpr Duration kTold = std::chrono::seconds(1);
  static constexpr Duration kRecovered = std::chrono::seconds(12);

  bool is_about(std::uint32_t rule) const {
    const Rule& asked = world_.rules()[rule];
    return world_.mode_of(rule) != Mode::kLocal && is_plain(asked) && world_.scenario().loss <= 0 &&
           asked.quota.is_fixed();
  }
  template <typename Act>
  void each_key(const Act& act) {
    for (std::uint32_t rule = 0; rule < world_.rules().size(); ++rule) {
      for (std::uint32_t key = 0; is_about(rule) && key < world_.keys(); ++key) {
        if (!keys_.at(rule, 0, key).is_unclear) act(rule, key, keys_.at(rule, 0, key));
      }
    }
  }
  template <typename IsRight>
  void judge(std::uint32_t rule, std::uint32_t number, const IsRight& is_right) {
    const Quota& quota = world_.rules()[rule].quota;
    const std::int64_t admitted =
        keys_.at(rule, 0, number).count.admitted(quota, world_.redis()->now());
    const auto left = admitted == 0 ? std::nullopt : world_.left_in_redis(rule, number);
    if (!left || is_right(admitted, *left)) return;
    fail(about(world_, {.rule = rule, .key = number}) + ": " + std::to_string(admitted) + " of " +
         std::to_string(quota.limit()) + " were admitted, and Redis says that " +
         std::to_string(*left) + " are left, mode " + std::string(mode_name(world_.mode_of(rule))));
  }

  ByKey<Key> keys_;
  bool fails_;
  bool is_unclear_;  // clocks step, or keys get other names
};

// Mode strict denies only what does not fit.
// For buckets that Redis alone decides. Counts the units that may have been charged, as late as
// that may have been. Units admitted without Redis are charged later, and perhaps once more, by a
// call whose answer came too late.
class WhatFitsIsAdmitted final : public Check {
 public:
  explicit WhatFitsIsAdmitted(World& world)
      : Check(world), told_(std::chrono::seconds(world.scenario().faults.empty() ? 1 : 10)) {}
  std::string_view promise() const override { return "what fits is admitted"; }

  void asked(const Asked& asked) override {
    for (const Part& part : asked.parts) {
      if (part.verb != Verb::kLook) open_.at(part.rule, asked.node, part.key) += part.cost;
    }
  }
  void answered(const Answered& answered) override {
    for (std::size_t i = 0; i < answered.answers.size(); ++i) {
      const Part& part = answered.asked.parts[i];
      const Answer& answer = answered.answers[i];
      const Rule& rule = world_.rules()[part.rule];
      if (part.verb != Verb::kLook) open_.at(part.rule, answered.asked.node, part.key) -= part.cost;
      if (world_.mode_of(part.rule) != Mode::kStrict || !is_plain(rule)) continue;
      if (rule.quota.algorithm() != Algorithm::kTokenBucket || world_.has_clock_steps()) continue;
      Key& key = keys_.at(part.rule, 0, part.key);
      const Instant from = answered.asked.at_redis;
      const Instant to = world_.redis()->machine().clock.at(answered.at);
      const bool is_clear = key.told_until < to && world_.is_whole_for(told_);
      const auto add = [&](Instant at, std::int64_t units) {
        key.level.add(rule.quota, {.from = at, .to = at, .units = units});
      };
      if (is_clear) add(key.told_until, std::exchange(key.told, 0));
      if (answered.is_unavailable || answer.is_alone || part.verb == Verb::kRefund) {
        if (part.verb != Verb::kRefund) key.told += 2 * part.cost;
        key.told_until = to + told_;
      } else if (is_charged(answered, i)) {
        add(to, part.cost);
      }
      if (answer.decision.verdict != Verdict::kDenied || !is_clear) continue;
      if (answer.cause != Answer::Cause::kCounted || answer.is_alone) continue;
      std::int64_t open = 0;
      for (std::size_t node = 0; node < world_.nodes(); ++node) {
        open += open_.at(part.rule, node, part.key);
      }
      add(from, 0);
      const double held = key.level.level() + static_cast<double>(open + part.cost);
      if (held + 1 > static_cast<double>(rule.quota.capacity())) continue;
      fail(about(world_, part) + ": denied " + std::to_string(part.cost) + ", and with it " +
           std::to_string(held) + " are in the bucket at most");
    }
  }
  void restarted(std::size_t node) override { open_.forget(node); }

 private:
  struct Key {
    BucketLevel level;
    std::int64_t told = 0;  // units that may be charged until then
    Instant told_until{};
  };
  const Duration told_;
  ByKey<Key> keys_;
  ByKey<std::int64_t> open_;
};

// Counts answers that differ from an exact count of all nodes. It never fails.
// Counts exactly, in fixed windows, the units that the nodes admit together.
class Misjudged final : public Check {
 public:
  using Check::Check;
  std::string_view promise() const override { return "misjudged"; }

  void answered(const Answered& answered) override {
    for (std::size_t i = 0; i < answered.answers.size(); ++i) {
      const Part& part = answered.asked.parts[i];
      const Answer& answer = answered.answers[i];
      const Rule& rule = world_.rules()[part.rule];
      if (answer.cause != Answer::Cause::kCounted && !answer.is_alone) continue;
      if (part.verb != Verb::kHit || answered.is_unavailable) continue;
      WindowCount& count = keys_.at(part.rule, 0, part.key);
      const std::int64_t before = count.admitted(rule.quota, answered.asked.at);
      if (!answer.allowed()) {
        world_.note_misjudged(part.rule, 0, before + part.cost <= rule.quota.limit() ? 1 : 0);
      } else if (answered.is_allowed()) {
        count.add(rule.quota,
                  {.from = answered.asked.at, .to = answered.asked.at, .units = part.cost});
        const std::int64_t over = before + part.cost - std::max(before, rule.quota.limit());
        world_.note_misjudged(part.rule, std::max<std::int64_t>(0, over), 0);
      }
    }
  }

 private:
  ByKey<WindowCount> keys_;
};

}  // namespace

void add_count_checks(World& world, Checks& checks) { add<UnitsComeBack>(world, checks); }
void add_fit_checks(World& world, Checks& checks) { add<WhatFitsIsAdmitted>(world, checks); }
void add_misjudged_checks(World& world, Checks& checks) { add<Misjudged>(world, checks); }

}  // namespace weir::sim
