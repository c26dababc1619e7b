// FleetKeys: what other nodes last told of their busiest keys; forgotten if they are silent for a
// while. A node that hides keys forgets the texts that others show.
//
// Thread rule: any thread. Tested by fleet_keys_test.cc.

#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "observe/keys/key_report.h"
#include "weir/time.h"

namespace weir {

class FleetKeys {
 public:
  // A key that was not confirmed for so long is forgotten.
  static constexpr Duration kKeptMax = std::chrono::seconds(15);

  struct Node {
    std::string name;
    std::vector<RuleKeys> rules;
  };
  struct Contribution {
    std::string node;
    KeyReport report;
  };

  explicit FleetKeys(KeyTexts texts) : texts_(texts) {}

  // Replaces what all other nodes said before.
  void replace(std::vector<Node> nodes, Instant now);
  // Why the other nodes cannot be heard: a sentence without its stop. Empty: they can be.
  void set_trouble(std::string_view why);

  // What each node says about the rule.
  std::vector<Contribution> of(std::string_view rule, KeysBy by, Instant now) const;
  std::string trouble() const;
  // The number of other nodes that said anything lately.
  std::size_t nodes(Instant now) const;

 private:
  const KeyTexts texts_;
  mutable std::mutex mutex_;  // guards all below
  std::vector<Node> nodes_;
  Instant heard_{};
  std::string trouble_;
};

}  // namespace weir
