#include "engine/block_denied.h"

#include <algorithm>
#include <optional>
#include <string>

#include "engine/immediate_check.h"

namespace weir {
namespace {

// No id of a rule begins so: no rule that somebody names can reach these counters.
constexpr std::string_view kDenialsOf("\0denials", 8);
constexpr std::string_view kBlocksOf("\0blocks", 7);

// Blocks of a key that are remembered within block_memory: far more than any rule has
// lengths, so that the newest are always among them.
constexpr std::int64_t kBlocksRemembered = 64;

struct Count {
  std::string_view purpose;
  std::int64_t limit;
  Duration window;
};

// Counts one event of the key on this node. Returns how many more fit into the window;
// nothing if the store cannot count.
std::optional<std::int64_t> count(Engine& engine, const DeniedKey& denied, const Count& counted,
                                  Instant now) {
  const auto quota = Quota::make(
      {.algorithm = Algorithm::kSlidingLog, .limit = counted.limit, .window = counted.window});
  const KeyName name{.rule = counted.purpose, .bucket = denied.rule.id, .key = denied.key};
  ImmediateCheck check;
  check.begin(Operation::kSpendEach);
  check.add(engine.hash(name, *quota), *quota, 1);
  if (!check.decide(engine.local(), now)) return std::nullopt;
  return check.decisions().front().remaining;
}

}  // namespace

void block_denied(Engine& engine, BlockList& blocks, const DeniedKey& denied, Instant now) {
  const Denial& denial = denied.rule.denial;
  if (denial.block_after > 1) {
    const auto left =
        count(engine, denied, {kDenialsOf, denial.block_after, denial.block_window}, now);
    if (!left || *left > 0) return;
  }
  std::size_t level = 0;
  if (denial.blocks.size() > 1) {
    const auto left =
        count(engine, denied, {kBlocksOf, kBlocksRemembered, denial.block_memory}, now);
    const std::int64_t earlier = left ? kBlocksRemembered - *left - 1 : 0;
    level = std::min(static_cast<std::size_t>(earlier), denial.blocks.size() - 1);
  }
  blocks.add({.rule = denied.rule.id,
              .key = std::string(denied.key),
              .since = now,
              .until = now + denial.blocks[level]},
             now);
}

}  // namespace weir
