// BusiestField: the field of a node's beat that carries its busiest keys, every few seconds.
//
// Each node writes its own word into one hash, and reads the others' words. A word names keys by
// hashes, which are the same on all nodes, unless the node shows keys. Other nodes may write
// anything: a node ignores texts that are no words. No word can say what another node counted.
//
// Thread rule: one core of the node. Tested by busiest_field_test.cc and
// tests/e2e/busiest_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/keys/fleet_keys.h"
#include "observe/keys/key_report.h"
#include "observe/rule_counts.h"
#include "store/redis/fleet/beat_fields.h"

namespace weir {

// A node's busiest keys as bytes (base/packed.h), for the other nodes.
//
//   '1'  n x (id of the rule, asked, denied)
//
//   asked, denied   total, rest, weight, n, n x (hash, low, high, text)     key_report.h
//
// The text of a key is empty unless the node shows keys.
//
// Tested by busiest_word_test.cc and fuzz/packed_fuzz.cc.

// A node's word has at most this: the first rules that fit.
inline constexpr std::size_t kBusiestWordMax = std::size_t{8} << 10;  // bytes
inline constexpr std::size_t kBusiestRulesMax = 16;
inline constexpr std::size_t kBusiestKeysMax = 4;  // of a rule, each of asked and denied

std::string to_bytes(std::span<const RuleKeys> rules);

// nullopt unless the bytes are as to_bytes() writes them, as a whole. Results can be added up:
// counts are below 2^53, none is above its total, and keys are in order.
std::optional<std::vector<RuleKeys>> busiest_word(std::string_view bytes);

class BusiestField final : public BeatField {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(5);
  static constexpr std::size_t kNodesMax = 32;  // whose words a node reads

  // Both must outlive the field.
  BusiestField(std::string node, const RuleCounts& counts, FleetKeys& others)
      : node_(std::move(node)), counts_(counts), others_(others) {}

  std::string_view name() const override { return "busiest"; }
  std::optional<Instant> due() const override { return due_; }
  void say(std::vector<std::string>& words, Instant now) override;
  // The other fields go on after any answer: FleetKeys says what is wrong with this one.
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  const std::string node_;
  const RuleCounts& counts_;
  FleetKeys& others_;
  Instant due_{};
};

}  // namespace weir
