// SwitchesField: which algorithm each rule that switches follows, on all nodes of a fleet
// (engine/switching/rule_switches.h).
//
// A hash in Redis has an entry for each rule that has ever switched:
//
//   rule_hash() of its id  ->  "STAMP NUMBER ", and as bytes (base/packed.h): '1', since, all,
//                              latest, denied
//   stamp                  ->  the greatest stamp
//   epoch                  ->  when the hash was made
//
// A proposal replaces the switch on which it is based, so of two nodes that decide at the same time
// one wins. A node reads switches with later stamps than it has read. Another epoch says that Redis
// has lost the hash; then every node says again what it knows. The times are microseconds by
// Redis's clock. `since` is 0 if the switch began with its stamp.
//
// Nodes ignore a broken entry, and name it once. The next switch of the rule replaces it.
//
// Thread rule: one core of the node. Tested by tests/redis/switches_field_test.cc.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/switching/rule_switches.h"
#include "store/redis/fleet/beat_fields.h"
#include "store/redis/fleet/fleet_state.h"

namespace weir {

class SwitchesField final : public BeatField {
 public:
  // In one beat, each way.
  static constexpr std::size_t kSwitchesMax = 256;

  // `key`: its whole name. The others must outlive the field; `listener` hears once of words of
  // others that this node cannot read.
  SwitchesField(std::string key, RuleSwitches& switches, const FleetListener& listener)
      : key_(std::move(key)), switches_(switches), listener_(listener) {}

  std::string_view name() const override { return "switches"; }
  bool follows_news() const override { return said_ == 0 && !has_more(); }
  void say(std::vector<std::string>& words, Instant now) override;
  std::string hear(const resp::Reply& told, Instant now) override;
  bool has_more() const override;

 private:
  void take(std::string_view rule, std::string_view entry, Instant redis_now);
  void warn_of_garbage(std::string_view what);

  const std::string key_;
  RuleSwitches& switches_;
  const FleetListener& listener_;
  std::string epoch_;
  std::string stamp_ = "0";       // up to which it has read
  std::optional<Duration> lead_;  // of Redis's clock
  std::size_t said_ = 0;          // by the last beat
  std::size_t heard_ = 0;
  bool has_warned_ = false;
};

}  // namespace weir
