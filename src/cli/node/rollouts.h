// Rollouts: watches the rules of this node that are enforced step by step, and takes the steps
// (rules/rollout.h).
//
//   RuleDesk::view() ─┐
//   keys of Traffic ──┴── look(), once a second ──> RuleDesk::change(), of the version seen
//
// A change names the version of the rules that this node has seen, and Redis takes one change of
// each version. So of two nodes one takes a step. While Redis is away only steps back are taken.
//
// Sketches of minutes (observe/key_sketch.h) count the keys that a step has seen. So a step also
// counts keys of up to two minutes before it.
//
// Thread rule: one thread. Tested by rollouts_test.cc and tests/e2e/rollout_test.py.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "observe/traffic.h"
#include "observe/unusual/traffic_events.h"
#include "rulebook/rule_desk.h"
#include "rules/rollout.h"
#include "weir/time.h"

namespace weir {

class Rollouts {
 public:
  // The first two outlive this.
  struct World {
    Traffic& traffic;
    RuleDesk& desk;
    std::function<void(TrafficEvent event)> tell;
  };
  explicit Rollouts(World world) : world_(std::move(world)) {}

  // Whether other nodes, if there are any, can hear of a step.
  enum class Others : std::uint8_t { kHear, kAway };
  void look(Others others, Instant now);

 private:
  struct Watched {
    Rollout rollout;
    RolloutWatch watch{};
    Instant since{};
    RuleCounts::KeysSeen seen{};
  };

  void follow(const RulesView& view, Instant now);
  void look_at(const std::string& id, Watched& one, Others others, Instant now);
  std::string keys_denied(const std::string& id, Instant since, Instant now) const;
  void tell(const std::string& id, std::string text, Instant then) const;

  const World world_;
  std::shared_ptr<const RulesView> view_;
  std::map<std::string, Watched> watched_;  // by the rule's id
};

}  // namespace weir
