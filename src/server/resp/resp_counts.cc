#include "server/resp/resp_counts.h"

namespace weir {

CoreRespCounts& RespCounts::add_core() {
  const std::lock_guard lock(mutex_);
  return cores_.emplace_back();
}

RespCountsSummary RespCounts::summary() const {
  RespCountsSummary summary;
  const std::lock_guard lock(mutex_);
  for (const CoreRespCounts& core : cores_) {
    summary.opened += core.opened_.load(std::memory_order_relaxed);
    summary.closed += core.closed_.load(std::memory_order_relaxed);
    summary.commands += core.commands_.load(std::memory_order_relaxed);
  }
  return summary;
}

}  // namespace weir
