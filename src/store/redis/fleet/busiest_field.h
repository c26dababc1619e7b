// BusiestField: the field of a node's beat that carries its busiest keys, every few seconds.
//
// Each node writes its own word into one hash, and reads those of the others: by hashes of keys,
// which are the same on all nodes, unless it shows keys. The words of other nodes may be
// anything: a word that is none counts as nothing, and no word says anything about what another
// node has counted.
//
// Thread rule: one core of the node. Tested by busiest_field_test.cc and
// tests/e2e/busiest_test.py.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/keys/fleet_keys.h"
#include "observe/rule_counts.h"
#include "store/redis/fleet/beat_fields.h"

namespace weir {

class BusiestField final : public BeatField {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(5);
  static constexpr std::size_t kNodesMax = 32;  // that a node reads

  // Both must outlive the field.
  BusiestField(std::string node, const RuleCounts& counts, FleetKeys& others)
      : node_(std::move(node)), counts_(counts), others_(others) {}

  std::string_view name() const override { return "busiest"; }
  void say(std::vector<std::string>& words, Instant now) override;
  // Whatever the answer is, the other fields go on: FleetKeys says what is wrong with this one.
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  const std::string node_;
  const RuleCounts& counts_;
  FleetKeys& others_;
  Instant next_{};
  bool has_asked_ = false;  // in the last beat
};

}  // namespace weir
