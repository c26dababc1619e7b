// What a denial brings its key: a block, if the rule says so, which grows with the key's
// record.
//
// Thread rule: the engine's core. Tested by asks_test.cc.

#pragma once

#include <string_view>

#include "engine/block_list.h"
#include "engine/engine.h"
#include "rules/rule.h"
#include "weir/time.h"

namespace weir {

struct DeniedKey {
  const Rule& rule;
  std::string_view key;
};

// Counts one denial, and blocks the key if it is one too many within the rule's
// block_window. REQUIRES: the rule has blocks
void block_denied(Engine& engine, BlockList& blocks, const DeniedKey& denied, Instant now);

}  // namespace weir
