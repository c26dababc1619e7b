// SharedRules: rules that a person changed by request, on their way between the nodes of a fleet.
// They are bytes here; rulebook/rules_by_hand.h says what they mean.
//
//   changer ── offer() ──►  pending  ── beat: compare and set ──►  known  ── news() ──►  changer
//
// Redis has one version, which has a number. An offer has the number after the version that its
// node knew. Redis takes the offer only if its own number is lower. So of two offers at the same
// time the first counts, and the other node takes it. If Redis lost the version, or went back to an
// earlier one, each node that knows it sends it again.
//
// While Redis is away, an offer is in force on its node alone. When Redis is back, it gets the
// offer, unless the fleet has another version by then.
//
// Thread rule: any thread. One thread at a time offers and judges, one says and hears. Tested by
// shared_rules_test.cc and tests/e2e/rules_fleet_test.py.

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

#include "engine/shared/shared_head.h"
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
    SharedHead head{};
    std::string bytes{};
  };

  // `node`: this node's name. `on_news` runs on the thread that hears, without the lock, while
  // news() returns something.
  SharedRules(std::string node, std::function<void(Instant now)> on_news)
      : node_(std::move(node)), on_news_(std::move(on_news)) {}

  // ---- for the thread that changes this node's rules

  // Offers the next version; waits until Redis has taken it, or has a newer one (returns nothing).
  // If Redis is away for `patience`, the version holds here alone. REQUIRES: at most kBytesMax
  std::optional<SharedHead> offer(std::string bytes, Duration patience);

  // A version that is to be in force here, and is not judged yet.
  struct News {
    Version version;
    bool has_replaced = false;  // it replaces this node's offer, of which Redis never heard
    bool has_skipped = false;   // there were versions between the last judged one and this one
  };
  std::optional<News> news();
  // The version that is to be in force here.
  Version current() const;
  // This node runs the version, or why not. Gives up a refused offer that is still alone.
  void judge(const SharedHead& version, std::string why_not);

  RuleHold hold() const;
  // As hold(), but waits until all nodes have judged the version, at most `patience`.
  RuleHold await_nodes(Duration patience);

  // ---- for the beat

  struct Said {
    std::string word;  // this node's, for the others
    SharedHead known;
    std::optional<Version> offer;  // what Redis should take
    bool wants_nodes = false;      // somebody waits for the nodes
  };
  Said say();

  struct Word {
    std::string_view node;
    std::string_view word;  // empty: it says nothing
  };
  // Hears what Redis has. A version from say() may come back without its bytes. `nodes`: the live
  // ones; empty: unknown.
  void hear(Version there, const std::vector<Word>& nodes, Instant now);

 private:
  struct Node {
    std::string name;
    std::optional<SharedHead> judged;  // empty: it takes no rules of others
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

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  Version known_;
  std::optional<Version> pending_;  // offered, but not in Redis yet
  std::optional<Version> said_;     // in the beat that has no answer yet
  bool is_lost_ = false;            // Redis has an earlier version than known_
  bool was_told_ = false;           // Redis has taken the last offer
  bool is_alone_ = false;           // pending_ is in force here already
  bool has_replaced_ = false;
  SharedHead judged_;
  std::string judged_why_not_;
  int waiting_ = 0;  // callers that wait for the nodes
  std::vector<Node> nodes_;
  Instant heard_{};
};

}  // namespace weir
