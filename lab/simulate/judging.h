// Judging: shared by checks of admissions: values for each key, and which answers count.
//
// Thread rule: values. Tested by simulate_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulate/checks.h"
#include "simulate/world.h"

namespace weir::sim {

inline std::string about(World& world, const Part& part) {
  return world.rules()[part.rule].id + " " + world.key_text(part.key);
}

// A value for each key of each rule, at each of some places.
template <typename Value>
class ByKey {
 public:
  Value& at(std::uint32_t rule, std::size_t place, std::uint32_t key) {
    auto& keys = of(rule, place);
    if (keys.size() <= key) keys.resize(key + 1);
    return keys[key];
  }
  void forget(std::size_t place) {
    for (auto& places : rules_) {
      if (places.size() > place) places[place].clear();
    }
  }
  void forget(std::uint32_t rule, std::size_t place) {
    if (rules_.size() > rule && rules_[rule].size() > place) rules_[rule][place].clear();
  }
  void forget_all(std::uint32_t rule) {
    if (rules_.size() > rule) rules_[rule].clear();
  }

 private:
  std::vector<Value>& of(std::uint32_t rule, std::size_t place) {
    if (rules_.size() <= rule) rules_.resize(rule + 1);
    if (rules_[rule].size() <= place) rules_[rule].resize(place + 1);
    return rules_[rule][place];
  }
  std::vector<std::vector<std::vector<Value>>> rules_;
};

// Whether the part was counted, by the counters of its mode.
inline bool is_charged(const Answered& answered, std::size_t index) {
  const Answer& answer = answered.answers[index];
  if (answered.is_unavailable || answer.is_alone) return false;
  if (answer.cause != Answer::Cause::kCounted) return false;
  const Verb verb = answered.asked.parts[index].verb;
  if (verb == Verb::kLook || verb >= Verb::kReserve) return false;
  return verb == Verb::kCharge || answered.is_allowed();
}

// A node without memory for all keys has forgotten some. Keys that had nothing left go last.
inline bool is_short_of_memory(World& world, const Answered& answered) {
  SimNode* const node = world.node(answered.asked.node);
  return node == nullptr || node->memory().stats().evictions > 0;
}

inline std::int64_t units_of(const Part& part) {
  return part.verb == Verb::kRefund ? -part.cost : part.cost;
}

inline bool is_plain(const Rule& rule) {
  return rule.limits.empty() && rule.overrides.empty() && !rule.has_tenants &&
         !rule.is_proportional && !rule.shadow && rule.enforced_percent == 100 &&
         rule.overdraft == Rule::Overdraft::kNone && rule.surge_percent == 100 &&
         rule.denial.delay_max == Duration(0) && rule.holds_max == 0;
}

}  // namespace weir::sim
