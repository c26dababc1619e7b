#include "server/http/routes.h"

#include <array>
#include <utility>

#include "server/http/handlers.h"

namespace weir {
namespace {

using enum http1::Method;
using enum RouteAccess;

constexpr std::array<Route, kRouteCount> kRoutes = {{
    {{kPost}, "/check", kAnybody, handle_check},
    {{kPost}, "/v1/check", kAnybody, handle_check_v1},
    {{kPost}, "/v1/look", kAnybody, handle_look},
    {{kPost}, "/v1/reset", kAdmin, handle_reset},
    {{kGet, kPost},
     "/v1/explain",
     kAdmin,
     handle_explain,
     {.of_get = "rule key tier method path host client domain header: entry:"}},
    {kAnyMethod, "/auth", kAnybody, handle_auth},
    {kAnyMethod, "/json", kAnybody, handle_json},
    {{kGet}, "/health", kAnybody, handle_health},
    {{kGet}, "/metrics", kAnybody, handle_metrics},
    {{kGet}, "/admin/stats", kAdmin, handle_admin_stats},
    {{kGet, kPost, kDelete}, "/admin/blocks", kAdmin, handle_blocks, {.of_get = "rule limit"}},
    {{kGet}, "/admin/busiest", kAdmin, handle_busiest, {.of_get = "rule by scope limit"}},
    {{kGet}, "/admin/rules", kAdmin, handle_rules},
    {{kGet, kPut, kPatch, kDelete},
     "/admin/rules/{id}",
     kAdmin,
     handle_rule,
     {.of_others = "persist"}},
    {{kGet, kPost}, "/admin/history", kAdmin, handle_history, {.of_others = "persist"}},
    {{kPost}, "/admin/rules/validate", kAdmin, handle_rule_trial, {.of_others = "id"}},
    {{kGet}, "/admin/history/{version}", kAdmin, handle_history_version},
    {{kGet}, "/admin/events", kAdmin, handle_events, {.of_get = "since"}},
    {{kGet}, "/admin/denials", kAdmin, handle_denials, {.of_get = "rule key since after limit"}},
    {{kGet}, "/openapi.json", kAnybody, handle_openapi},
    {{kGet, kPost, kDelete}, "/console/session", kConsole, handle_console_session},
    {{kGet}, "/console/live", kConsole, handle_live},
    {{kGet}, "/console/live.json", kConsole, handle_live_json},
    {{kGet}, "/console/{name}", kConsole, handle_asset},
    {{kGet}, "/", kAnybody, handle_index},
}};

constexpr std::string_view without_id(std::string_view path) {
  return path.substr(0, path.find('{'));
}

bool is_at(const Route& route, std::string_view path) {
  const std::string_view prefix = without_id(route.path);
  if (!path.starts_with(prefix)) return false;
  const std::string_view rest = path.substr(prefix.size());
  const bool has_id = prefix.size() < route.path.size();
  if (has_id) return !rest.empty() && rest.find('/') == std::string_view::npos;
  return rest.empty() || (route.takes_anything() && rest.starts_with('/'));
}

constexpr std::pair<http1::Method, std::string_view> kMethodNames[] = {
    {kGet, "GET"}, {kHead, "HEAD"},   {kPost, "POST"},
    {kPut, "PUT"}, {kPatch, "PATCH"}, {kDelete, "DELETE"}};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

RouteId route_id(const Route& route) { return static_cast<RouteId>(&route - kRoutes.data()); }

const Route* find_route(std::string_view path, http1::Method method) {
  const Route* first = nullptr;
  for (const Route& route : kRoutes) {
    if (!is_at(route, path)) continue;
    if (route.methods.holds(method)) return &route;
    if (first == nullptr) first = &route;
  }
  return first;
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

std::string_view id_in(RouteId route, std::string_view path) {
  return path.substr(without_id(kRoutes[route].path).size());
}

std::string_view route_name(RouteId id) { return id == kNoRoute ? "other" : kRoutes[id].path; }

}  // namespace weir
