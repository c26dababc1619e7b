#include "server/http/routes.h"

#include <array>

#include "server/http/handlers.h"

namespace weir {
namespace {

using http1::Method;
using enum RouteAccess;

constexpr std::array<Route, kRouteIdCount - 1> kRoutes = {{
    {RouteId::kCheck, Method::kPost, "/check", kAnybody, handle_check},
    {RouteId::kCheckV1, Method::kPost, "/v1/check", kAnybody, handle_check_v1},
    {RouteId::kLook, Method::kPost, "/v1/look", kAnybody, handle_look},
    {RouteId::kReset, Method::kPost, "/v1/reset", kAdmin, handle_reset},
    {RouteId::kAuth, Method::kOther, "/auth", kAnybody, handle_auth},
    {RouteId::kJson, Method::kOther, "/json", kAnybody, handle_json},
    {RouteId::kHealth, Method::kGet, "/health", kAnybody, handle_health},
    {RouteId::kMetrics, Method::kGet, "/metrics", kAnybody, handle_metrics},
    {RouteId::kAdminStats, Method::kGet, "/admin/stats", kAdmin, handle_admin_stats},
    {RouteId::kOpenApi, Method::kGet, "/openapi.json", kAnybody, handle_openapi},
    {RouteId::kIndex, Method::kGet, "/", kAnybody, handle_index},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRoutes.size(); ++i) {
    if (static_cast<std::size_t>(kRoutes[i].id) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (!path.starts_with(route.path)) continue;
    const std::string_view below = path.substr(route.path.size());
    if (below.empty() || (route.method == Method::kOther && below.front() == '/')) return &route;
  }
  return nullptr;
}

std::string_view route_name(RouteId id) {
  return id == RouteId::kNone ? "other" : kRoutes[static_cast<std::size_t>(id)].path;
}

}  // namespace weir
