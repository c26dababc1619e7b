// HttpCounts: how many HTTP requests were answered, by route and class of status, and
// how many connections are open.
//
// Each core counts in its own CoreHttpCounts, as with Traffic; a reader adds them up.
// Thread rule: record(), opened(), closed() on the owning core; summary() from anywhere.
// Tested by admin/http_pages_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "observe/core_slots.h"

namespace weir {

// In the order of the routing table (routes.h).
enum class RouteId : std::uint8_t {
  kCheck,
  kCheckV1,
  kLook,
  kReset,
  kExplain,
  kAuth,
  kJson,
  kHealth,
  kMetrics,
  kAdminStats,
  kAdminBlocks,
  kAdminRules,
  kAdminRule,
  kAdminHistory,
  kOpenApi,
  kIndex,
  kNone,  // no such path, or no request at all
};
inline constexpr std::size_t kRouteIdCount = 17;

inline constexpr std::size_t kStatusClassCount = 4;
inline constexpr std::array<std::string_view, kStatusClassCount> kStatusClassNames = {"2xx", "3xx",
                                                                                      "4xx", "5xx"};

struct HttpCountsSummary {
  std::array<std::array<std::uint64_t, kStatusClassCount>, kRouteIdCount> requests{};
  std::uint64_t connections = 0;  // open now
};

// Plain memory that begins as zeros (core_slots.h), on cache lines of its own: another core
// must not wait for ours.
class alignas(64) CoreHttpCounts {
 public:
  // REQUIRES: 200 <= status < 600
  void record(RouteId route, int status) noexcept;
  void opened() noexcept;
  void closed() noexcept;

 private:
  friend class HttpCounts;
  std::array<std::array<std::atomic<std::uint64_t>, kStatusClassCount>, kRouteIdCount> requests_{};
  std::atomic<std::uint64_t> connections_{0};
};

class HttpCounts {
 public:
  // In memory of its own, or as one of the processes that share `cores` (core_slots.h).
  HttpCounts() = default;
  HttpCounts(std::span<CoreHttpCounts> cores, std::size_t own_first) : cores_(cores, own_first) {}

  // The counters of a new core. They live as long as this object, or their memory was given.
  CoreHttpCounts& add_core() { return cores_.add(); }

  HttpCountsSummary summary() const;

 private:
  CoreSlots<CoreHttpCounts> cores_;
};

}  // namespace weir
