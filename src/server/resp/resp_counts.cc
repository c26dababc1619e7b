#include "server/resp/resp_counts.h"

namespace weir {

RespCountsSummary RespCounts::summary() const {
  RespCountsSummary summary;
  cores_.each([&](const CoreRespCounts& core) {
    summary.opened += core.opened_.load(std::memory_order_relaxed);
    summary.closed += core.closed_.load(std::memory_order_relaxed);
    summary.commands += core.commands_.load(std::memory_order_relaxed);
  });
  return summary;
}

}  // namespace weir
