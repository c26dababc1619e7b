// Dry run: what a rule, as somebody wants it, would have decided otherwise about the asks that the
// node remembers (observe/keys/recent_asks.h). The engine decides them again, at their own times.
//
// Limits decide, blocks that follow from denials, and `shadow` and `enforce`; tiers are those that
// requests had. Where the ring does not reach back to the node's start, the first of its asks are
// decided and not counted, for as long as the longest window. Nothing is known if that is longer
// than the ring reaches back.
//
// Thread rule: any thread. Cost: up to a second. Tested by dry_run_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "observe/keys/recent_asks.h"
#include "rules/rule.h"
#include "weir/time.h"

namespace weir {

struct DryRun {
  struct Count {
    std::uint64_t requests = 0;
    std::uint64_t keys = 0;  // that made these requests
  };
  struct Outcome {
    std::int64_t limit = 0;  // the first of the rule's own
    Count denied{};
    Count spared{};               // would have been, and pass in shadow or outside `enforce`
    std::uint64_t too_early = 0;  // of both, an exact log would have allowed
  };

  std::string rule{};     // its id
  std::string unknown{};  // why nothing of what follows is known: a sentence; empty: it is
  Duration over{0};       // the asks are those of the last so long
  std::uint64_t one_key_of = 1;
  Count asked{};
  Outcome in_force{};
  Outcome wanted{};
  Count newly_denied{};
  Count newly_allowed{};
  std::vector<Outcome>
      curve{};  // the wanted rule with other limits, without what an exact log says
};

struct DryRunTerms {
  // For all cases of one trial, so that it is answered within a second.
  static constexpr std::size_t kAsksMax = 100'000;

  Duration over{0};
  Instant since = Instant::min();  // before, the rule was asked otherwise
  std::size_t asks_max = kAsksMax;
  std::size_t precise_keys = 0;  // of the node
  enum class Curve : std::uint8_t { kNone, kAroundTheLimits } curve = Curve::kNone;
};

// REQUIRES: the rules are asked alike; `in_force` has the number of the asks
DryRun dry_run(const RecentAsks& memory, const Rule& in_force, const Rule& wanted,
               const DryRunTerms& terms, Instant now);

}  // namespace weir
