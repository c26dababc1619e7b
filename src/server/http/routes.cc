#include "server/http/routes.h"

#include <array>
#include <utility>

#include "server/http/handlers.h"

namespace weir {
namespace {

using enum http1::Method;
using enum RouteAccess;

constexpr std::array<Route, kRouteIdCount - 1> kRoutes = {{
    {RouteId::kCheck, {kPost}, "/check", kAnybody, handle_check},
    {RouteId::kCheckV1, {kPost}, "/v1/check", kAnybody, handle_check_v1},
    {RouteId::kLook, {kPost}, "/v1/look", kAnybody, handle_look},
    {RouteId::kReset, {kPost}, "/v1/reset", kAdmin, handle_reset},
    {RouteId::kExplain, {kGet, kPost}, "/v1/explain", kAdmin, handle_explain},
    {RouteId::kAuth, kAnyMethod, "/auth", kAnybody, handle_auth},
    {RouteId::kJson, kAnyMethod, "/json", kAnybody, handle_json},
    {RouteId::kHealth, {kGet}, "/health", kAnybody, handle_health},
    {RouteId::kMetrics, {kGet}, "/metrics", kAnybody, handle_metrics},
    {RouteId::kAdminStats, {kGet}, "/admin/stats", kAdmin, handle_admin_stats},
    {RouteId::kAdminBlocks, {kGet, kPost, kDelete}, "/admin/blocks", kAdmin, handle_blocks},
    {RouteId::kAdminRules, {kGet}, "/admin/rules", kAdmin, handle_rules},
    {RouteId::kAdminRule, {kGet, kPut, kPatch, kDelete}, "/admin/rules/{id}", kAdmin, handle_rule},
    {RouteId::kAdminHistory, {kGet, kPost}, "/admin/history", kAdmin, handle_history},
    {RouteId::kOpenApi, {kGet}, "/openapi.json", kAnybody, handle_openapi},
    {RouteId::kIndex, {kGet}, "/", kAnybody, handle_index},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRoutes.size(); ++i) {
    if (static_cast<std::size_t>(kRoutes[i].id) != i) return false;
  }
  return true;
}
static_assert(in_order());

constexpr std::string_view kId = "{id}";

constexpr std::string_view without_id(std::string_view path) {
  if (path.ends_with(kId)) path.remove_suffix(kId.size());
  return path;
}

constexpr std::pair<http1::Method, std::string_view> kMethodNames[] = {
    {kGet, "GET"}, {kHead, "HEAD"},   {kPost, "POST"},
    {kPut, "PUT"}, {kPatch, "PATCH"}, {kDelete, "DELETE"}};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    const std::string_view prefix = without_id(route.path);
    if (!path.starts_with(prefix)) continue;
    const std::string_view rest = path.substr(prefix.size());
    const bool has_id = prefix.size() < route.path.size();
    if (has_id && !rest.empty() && rest.find('/') == std::string_view::npos) return &route;
    if (!has_id && rest.empty()) return &route;
    if (route.takes_anything() && rest.starts_with('/')) return &route;
  }
  return nullptr;
}

std::string method_names(const MethodSet& methods) {
  std::string names;
  for (const auto& [method, name] : kMethodNames) {
    if (!methods.holds(method)) continue;
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

std::string_view id_in(const Route& route, std::string_view path) {
  return path.substr(without_id(route.path).size());
}

std::string_view route_name(RouteId id) {
  return id == RouteId::kNone ? "other" : kRoutes[static_cast<std::size_t>(id)].path;
}

}  // namespace weir
