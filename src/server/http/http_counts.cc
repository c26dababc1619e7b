#include "server/http/http_counts.h"

namespace weir {
namespace {

// Only the owning core writes: a load and a store are an increment.
void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace

void CoreHttpCounts::record(RouteId route, int status) noexcept {
  const auto status_class = static_cast<std::size_t>(status / 100 - 2);
  add(requests_[static_cast<std::size_t>(route)][status_class], 1);
}

void CoreHttpCounts::opened() noexcept { add(connections_, 1); }
void CoreHttpCounts::closed() noexcept { add(connections_, ~std::uint64_t{0}); }  // minus 1

HttpCountsSummary HttpCounts::summary() const {
  HttpCountsSummary summary;
  cores_.each([&](const CoreHttpCounts& core) {
    for (std::size_t route = 0; route < kRouteIdCount; ++route) {
      for (std::size_t status = 0; status < kStatusClassCount; ++status) {
        summary.requests[route][status] +=
            core.requests_[route][status].load(std::memory_order_relaxed);
      }
    }
    summary.connections += core.connections_.load(std::memory_order_relaxed);
  });
  return summary;
}

}  // namespace weir
