// SharedRules: rules that somebody has changed by request, on their way between the nodes of a
// fleet. Here they are bytes; rulebook/rules_by_hand.h says what is in them.
//
//   changer ── offer() ──►  pending  ── beat: compare and set ──►  known  ── news() ──►  changer
//
// Redis has one version, which has a number. An offer has the next number after the version that
// its node knew. Redis takes the offer only if its own number is lower. So the first of two offers
// at the same time counts, and the other node takes it. A Redis that has lost the version, or gone
// back to an earlier one, gets it again from each node that knows it.
//
// While Redis is away an offer holds on its node alone. When Redis is back it is told there, unless
// the fleet has another version by then.
//
// Thread rule: any thread; one at a time offers and judges, one says and hears.
// Tested by shared_rules_test.cc and tests/e2e/rules_fleet_test.py.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/rule_hold.h"
#include "weir/time.h"

namespace weir {

class SharedRules {
 public:
  // Bounds: bytes of a version, numbers, bytes of a reason.
  static constexpr std::size_t kBytesMax = std::size_t{128} << 10;
  static constexpr std::uint64_t kNumberMax = 999'999'999'999'999;
  static constexpr std::size_t kWhyMax = 200;

  struct Version {
    std::uint64_t number = 0;  // 0: none
    std::uint64_t digest = 0;  // tells apart two of one number
    std::string bytes{};

    bool is(const Version& other) const { return number == other.number && digest == other.digest; }
  };

  // `node`: the name of this node. `on_news` runs on the thread that hears, without the lock, for
  // as long as news() has something.
  SharedRules(std::string node, std::function<void(Instant now)> on_news)
      : node_(std::move(node)), on_news_(std::move(on_news)) {}

  // ---- for who changes the rules of this node

  // The next version. Waits until Redis has taken it, or has a newer one (then nothing is
  // returned), or is away for so long: then it holds alone. REQUIRES: at most kBytesMax
  std::optional<Version> offer(std::string bytes, Duration patience);

  // The version that is to be in force here, and is not judged yet.
  struct News {
    Version version;
    bool has_replaced = false;  // an offer of this node that Redis had not heard of
    bool has_skipped = false;   // versions between the one that was judged last and this one
  };
  std::optional<News> news();
  // The version that is to be in force here.
  Version current() const;
  // This node runs the version, or says why not; that of an offer which is still alone is given up.
  void judge(const Version& version, std::string why_not);

  RuleHold hold() const;
  // The same when all nodes have judged the version, or after so long.
  RuleHold await_nodes(Duration patience);

  // ---- for the beat

  struct Said {
    std::string word;              // of this node, for the others
    Version known;                 // without its bytes
    std::optional<Version> offer;  // that Redis is to have
    bool wants_nodes = false;      // somebody waits for them
  };
  Said say();

  struct Word {
    std::string_view node;
    std::string_view word;  // empty: it says nothing
  };
  // What Redis has. Its bytes may be missing of what say() has said. `nodes`: those that are
  // alive; empty: unknown.
  void hear(Version there, const std::vector<Word>& nodes, Instant now);

 private:
  struct Node {
    std::string name;
    std::optional<Version> judged;  // nothing: it takes no rules from others
    std::string why_not;
  };

  const Version& wanted() const { return pending_ ? *pending_ : known_; }
  void learn(Version there);
  void note(const std::vector<Word>& nodes);
  std::string why_not(const Node& node) const;
  bool have_all_judged() const;
  RuleHold hold_now() const;

  const std::string node_;
  const std::function<void(Instant now)> on_news_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Version known_;
  std::optional<Version> pending_;  // offered, and not in Redis yet
  std::optional<Version> said_;     // in the beat that was not answered yet
  bool is_lost_ = false;            // Redis has an earlier version than known_
  bool was_told_ = false;           // of the last offer
  bool is_alone_ = false;           // pending_ is in force here already
  bool has_replaced_ = false;
  Version judged_;
  std::string judged_why_not_;
  int waiting_ = 0;  // for the nodes
  std::vector<Node> nodes_;
  Instant heard_{};
};

}  // namespace weir
