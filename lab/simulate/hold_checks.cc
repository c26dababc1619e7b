// The promise about units and slots that work under way holds.
//
//     rule: 10 a window          certainly         at most
//     reserve 4, held            4 held            4 held
//     hit 3, allowed             4 held, 3 spent   4 held, 3 spent
//     commit 6 is asked          3 spent           4 held, 9 spent
//     commit 6 is answered       9 spent           9 spent
//
// An admission must fit next to the certain units. A denial must not fit next to the most units.

#include <algorithm>
#include <map>
#include <string>

#include "simulate/judging.h"
#include "simulate/promises.h"

namespace weir::sim {
namespace {

// Something happened between the two, in true time.
struct Span {
  Instant from{};
  Instant to = Instant::max();  // nobody knows yet, or ever will
};

// For fixed windows that hold units: an admission fits next to spent and held units, nothing that
// fits is denied, and a hold ends once, in time.
class HoldsCount final : public Check {
 public:
  explicit HoldsCount(World& world)
      : Check(world), told_(std::chrono::seconds(world.scenario().faults.empty() ? 1 : 10)) {}
  std::string_view promise() const override { return "holds count"; }

  void asked(const Asked& asked) override {
    for (const Part& part : asked.parts) {
      if (!is_about(part.rule)) continue;
      Key& key = key_of(part, asked.node);
      const bool is_plain_ask = asked.parts.size() == 1 && part.verb != Verb::kLook &&
                                part.verb != Verb::kCharge && part.verb != Verb::kRefund;
      // When the node learns its fleet's secret, earlier holds keep their earlier names.
      const bool has_name = !is_local(part.rule) || world_.node(asked.node)->is_sharing();
      if (!is_plain_ask || !has_name) key.is_unclear = true;
      if (part.verb == Verb::kCommit) {
        const auto found = key.holds.find(asked.work.number);
        if (found == key.holds.end()) continue;
        Hold& hold = found->second;
        ++hold.commits;
        ++hold.commits_open;
        hold.most = std::max(hold.most, cost_of(part));
      } else if (part.verb == Verb::kReserve) {
        key.holds[asked.number] = {.units = part.cost,
                                   .due = is_free(part.rule) ? 0 : part.cost,
                                   .length = asked.work.hold,
                                   .granted = {.from = asked.at}};
      } else {
        key.hits[asked.number] = {.units = part.cost, .at = {.from = asked.at}};
      }
    }
  }

  void answered(const Answered& answered) override {
    const Asked& asked = answered.asked;
    const Part& part = asked.parts.front();
    if (!is_about(part.rule)) return;
    // Keys have two names, until the older secret comes to a Redis that had lost it.
    if (!is_local(part.rule) && !world_.has_one_secret()) named_anew();
    Key& key = key_of(part, asked.node);
    const Answer& answer = answered.answers.front();
    // Redis may have counted it, or hears later of the node's lone decision.
    const bool is_lost = answered.is_unavailable || answer.is_alone;
    if (is_lost) key.clear_from = answered.at + told_ + counts_for(part.rule);
    if (key.is_unclear || (!is_local(part.rule) && asked.at < known_from_)) return;
    if (part.verb == Verb::kCommit) return committed(answered, key);
    const bool is_counted = answer.cause == Answer::Cause::kCounted && !is_lost;
    const bool is_in =
        is_counted && answer.allowed() && (part.verb == Verb::kHit || !answered.token.empty());
    if (is_in) judge_admitted(answered, key);
    if (is_counted && answer.decision.verdict == Verdict::kDenied) judge_denied(answered, key);
    if (is_in && part.verb == Verb::kHit) key.hits[asked.number].at.to = answered.at;
    if (is_in && part.verb == Verb::kReserve) key.holds[asked.number].granted.to = answered.at;
    if (is_counted && !is_in) {
      key.hits.erase(asked.number);
      key.holds.erase(asked.number);
    }
    forget_old(key, counts_for(part.rule));
  }

  void restarted(std::size_t node) override {
    for (std::uint32_t rule = 0; rule < world_.rules().size(); ++rule) {
      if (is_local(rule)) keys_.forget(rule, node);
    }
  }
  void faulted(const Fault& fault) override {
    using enum Fault::Kind;
    const bool loses = fault.kind == kRestart || fault.kind == kFailover || fault.kind == kEvict;
    if (loses || is_clock_step(fault)) named_anew();
  }
  // Redis may have lost units, so the check begins again for all that nodes share.
  void named_anew() override {
    known_from_ = world_.now();
    for (std::uint32_t rule = 0; rule < world_.rules().size(); ++rule) {
      if (!is_local(rule)) keys_.forget_all(rule);
    }
  }

 private:
  struct Hit {
    std::int64_t units = 0;
    Span at{};
  };
  struct Hold {
    std::int64_t units = 0;
    std::int64_t due = 0;  // charged by a lapse
    Duration length{0};
    Span granted{};
    int commits = 0;
    int commits_open = 0;
    std::int64_t most = 0;  // the most that a commit may charge
    bool is_charged = false;
    bool is_unclear = false;  // it is unknown what a commit did
    std::int64_t cost = 0;    // that one has charged
    Span charged{};

    // When it lapses.
    Span lapse() const {
      const Duration slack = kSlack + length / 1000;  // clocks drift
      const Instant end = granted.to == Instant::max() ? granted.to : granted.to + length + slack;
      return {.from = granted.from + length - slack, .to = end};
    }
  };
  struct Key {
    std::map<std::uint64_t, Hit> hits;  // by the numbers of their requests
    std::map<std::uint64_t, Hold> holds;
    Instant clear_from{};
    bool is_unclear = false;  // others charge the key, too
  };
  static constexpr Duration kSlack = std::chrono::milliseconds(2);

  bool is_local(std::uint32_t rule) const { return world_.mode_of(rule) == Mode::kLocal; }
  bool is_about(std::uint32_t rule) const {
    const Rule& asked = world_.rules()[rule];
    if (asked.has_slots()) return world_.mode_of(rule) != Mode::kLeased;
    return asked.holds_max > 0 && asked.quota.algorithm() == Algorithm::kFixedWindow;
  }
  bool is_free(std::uint32_t rule) const {
    const Rule& asked = world_.rules()[rule];
    return asked.has_slots() || asked.lapse == Rule::Lapse::kRefund;
  }
  Duration window_of(std::uint32_t rule) const { return world_.rules()[rule].quota.window(); }
  // Something may be held, or count in a window, for so long.
  Duration counts_for(std::uint32_t rule) const {
    Duration longest = 3 * window_of(rule);
    for (const TrafficSource& source : world_.scenario().traffic) {
      if (source.kind == TrafficSource::Kind::kWork) longest = std::max(longest, source.hold);
    }
    return longest;
  }
  Key& key_of(const Part& part, std::size_t node) {
    return keys_.at(part.rule, is_local(part.rule) ? node : 0, part.key);
  }

  // A commit charges so many units. A slot costs nothing.
  std::int64_t cost_of(const Part& part) const {
    return world_.rules()[part.rule].has_slots() ? 0 : part.cost;
  }

  // The windows that a span reaches, on the deciding clock. Slots have none.
  struct Windows {
    std::int64_t first = 0;
    std::int64_t last = 0;
    bool is(std::int64_t number) const { return first == number && last == number; }
    bool may_be(std::int64_t number) const { return first <= number && number <= last; }
  };
  Windows windows(const Asked& asked, const Span& span) const {
    const std::uint32_t rule = asked.parts.front().rule;
    if (world_.rules()[rule].has_slots()) return {};
    const MachineClock& clock =
        is_local(rule) ? world_.machine(asked.node).clock : world_.redis()->machine().clock;
    const auto number = [&](Instant at) {
      return epoch_us(clock.at(std::min(at, world_.now() + world_.scenario().length))) /
             window_of(rule).count();
    };
    return {.first = number(span.from), .last = number(span.to)};
  }

  // Counts the units that were certainly spent or held when the store admitted this. The store
  // decides admissions one by one, so the last of several has seen the others.
  void judge_admitted(const Answered& answered, const Key& key) {
    const Asked& asked = answered.asked;
    const Windows now = windows(asked, {.from = asked.at, .to = answered.at});
    if (!now.is(now.first) ||
        (is_local(asked.parts[0].rule) && is_short_of_memory(world_, answered))) {
      return;
    }
    std::int64_t sum = asked.parts.front().cost;
    for (const auto& [number, hit] : key.hits) {
      if (hit.at.to != Instant::max() && windows(asked, hit.at).is(now.first)) sum += hit.units;
    }
    for (const auto& [number, hold] : key.holds) {
      const Span lapse = hold.lapse();
      if (hold.granted.to > asked.at) continue;
      if (hold.is_charged) {
        const bool before = hold.charged.to <= asked.at;
        if (before && windows(asked, hold.charged).is(now.first)) sum += hold.cost;
      } else if (hold.commits == 0 && lapse.from > answered.at) {
        sum += hold.units;
      } else if (hold.commits == 0 && lapse.to <= asked.at && windows(asked, lapse).is(now.first)) {
        sum += hold.due;
      }
    }
    judge(asked, sum, "was admitted: at least ", sum > limit_of(asked));
  }

  // Counts all units that may have been spent or held.
  void judge_denied(const Answered& answered, const Key& key) {
    const Asked& asked = answered.asked;
    const Windows now = windows(asked, {.from = asked.at, .to = answered.at});
    const Duration told = told_ + counts_for(asked.parts.front().rule);
    const bool is_clear = answered.at >= key.clear_from && world_.is_whole_for(told_) &&
                          (known_from_ == Instant{} || asked.at - known_from_ > told);
    if (!now.is(now.first) || !is_clear) return;
    std::int64_t sum = asked.parts.front().cost;
    for (const auto& [number, hit] : key.hits) {
      if (number != asked.number && windows(asked, hit.at).may_be(now.first)) sum += hit.units;
    }
    for (const auto& [number, hold] : key.holds) {
      if (number == asked.number) continue;
      const Span lapse = hold.lapse();
      const bool is_over = lapse.to <= asked.at || (hold.is_charged && hold.charged.to <= asked.at);
      if (!is_over) sum += hold.units;
      if (hold.is_charged) {
        if (windows(asked, hold.charged).may_be(now.first)) sum += hold.cost;
        continue;
      }
      if (hold.commits_open > 0 || hold.is_unclear) sum += hold.most;
      if (lapse.from <= answered.at && windows(asked, lapse).may_be(now.first)) sum += hold.due;
    }
    judge(asked, sum, "was denied: at most ", sum <= limit_of(asked));
  }

  // A hold ends once: only the first commit in time charges.
  void committed(const Answered& answered, Key& key) {
    const Asked& asked = answered.asked;
    const auto found = key.holds.find(asked.work.number);
    if (found == key.holds.end()) return;
    Hold& hold = found->second;
    --hold.commits_open;
    const Span lapse = hold.lapse();
    hold.is_unclear = hold.is_unclear || answered.is_unavailable;
    if (hold.is_unclear || lapse.to == Instant::max()) return;
    const std::string text =
        "#" + std::to_string(asked.work.number) + " of " + about(world_, asked.parts.front()) + " ";
    if (answered.committed == HoldingStore::Commit::kUnknown) {
      const bool is_first = hold.commits == 1 && answered.at < lapse.from;
      if (is_first) fail(text + "is unknown, and has not ended");
      return;
    }
    if (hold.is_charged) return fail(text + "was committed twice");
    if (asked.at > lapse.to) return fail(text + "was committed after its end");
    hold.is_charged = true;
    hold.cost = cost_of(asked.parts.front());
    hold.charged = {.from = asked.at, .to = answered.at};
  }

  std::int64_t limit_of(const Asked& asked) const {
    return world_.rules()[asked.parts.front().rule].quota.limit();
  }
  void judge(const Asked& asked, std::int64_t sum, const char* what, bool is_wrong) {
    if (!is_wrong) return;
    fail(about(world_, asked.parts.front()) + ": request " + std::to_string(asked.number) + " " +
         what + std::to_string(sum) + " of " + std::to_string(limit_of(asked)) +
         " with it, spent or held");
  }

  // Keeps all that may still count.
  void forget_old(Key& key, Duration counts) {
    const auto is_old = [&](Instant at) { return at < world_.now() - told_ - counts; };
    std::erase_if(key.hits, [&](const auto& hit) { return is_old(hit.second.at.from); });
    std::erase_if(key.holds, [&](const auto& hold) {
      return hold.second.commits_open == 0 && is_old(hold.second.granted.from);
    });
  }

  const Duration told_;  // by then Redis knows the nodes' lone admissions
  Instant known_from_{};
  ByKey<Key> keys_;
};

}  // namespace

void add_hold_checks(World& world, Checks& checks) { add<HoldsCount>(world, checks); }

}  // namespace weir::sim
