// AboutField: the field of a node's beat that describes the node to people: its name, where its
// console is, how it is.
//
// Each node writes its word into one hash, every few seconds, and reads the words of the others.
// Anybody may have written there: a node ignores texts that are no words.
//
// Thread rule: one core of the node. Tested by about_field_test.cc and tests/e2e/fleet_test.py.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "observe/node_about.h"
#include "store/redis/fleet/beat_fields.h"
#include "store/redis/fleet/fleet_state.h"

namespace weir {

// As bytes (base/packed.h), without the id, which is the word's name:
//
//   '1'  title, address, version, mode, leases + 1, memory, microseconds of a beat, degraded,
//        seconds since; 0 of what the node does not know; twice the seconds by which its clock is
//        ahead of Redis's, or one more than twice those by which it is behind. Earlier versions
//        say less, and later ones may say more behind it.
std::string to_bytes(const NodeAbout& about, Instant now);
std::optional<NodeAbout> node_about(std::string_view bytes, Instant now);

class AboutField final : public BeatField {
 public:
  // In a fleet of up to kNodesMax nodes; in a larger one more seldom, up to kSeldom times.
  static constexpr Duration kEvery = std::chrono::seconds(2);
  static constexpr std::int64_t kSeldom = 3;
  static constexpr Duration kKeptMax = std::chrono::seconds(15);
  // Words that a node reads at once. In a larger fleet it reads fewer, so that all nodes together
  // read no more than kNodesMax nodes would.
  static constexpr std::int64_t kNodesMax = 128;
  static constexpr std::size_t kBytesMax = 640;  // of a word

  // `own`: what this node says of itself. `state` must outlive the field, and has the others'.
  AboutField(std::string node, std::function<NodeAbout()> own, FleetState& state)
      : node_(std::move(node)), own_(std::move(own)), state_(state) {}

  std::string_view name() const override { return "about"; }
  std::optional<Instant> due() const override { return due_; }
  void say(std::vector<std::string>& words, Instant now) override;
  // Never complains: limits hold without it.
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  const std::string node_;
  const std::function<NodeAbout()> own_;
  FleetState& state_;
  Instant due_{};
};

}  // namespace weir
