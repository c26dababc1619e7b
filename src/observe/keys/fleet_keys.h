// FleetKeys: what the other nodes say of their busiest keys, until they say something else or
// nothing for a while. A node that hides keys forgets the texts that others show.
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
  // A key that nobody has confirmed for so long is forgotten.
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

  // What all the others say now, in place of what they said before.
  void replace(std::vector<Node> nodes, Instant now);
  // They cannot be heard; one sentence without its stop. Empty: they can.
  void set_trouble(std::string_view why);

  // The word of each about the rule, if any.
  std::vector<Contribution> of(std::string_view rule, KeysBy by, Instant now) const;
  std::string trouble() const;
  // How many others have said anything of late.
  std::size_t nodes(Instant now) const;

 private:
  const KeyTexts texts_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Node> nodes_;
  Instant heard_{};
  std::string trouble_;
};

}  // namespace weir
