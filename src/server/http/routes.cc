#include "server/http/routes.h"

#include <utility>

#include "base/assert.h"

namespace weir {
namespace {

using enum http1::Method;

constexpr std::pair<http1::Method, std::string_view> kMethodNames[] = {
    {kGet, "GET"}, {kHead, "HEAD"},   {kPost, "POST"},
    {kPut, "PUT"}, {kPatch, "PATCH"}, {kDelete, "DELETE"}};

}  // namespace

std::string MethodSet::names() const {
  std::string names;
  for (const auto& [method, name] : kMethodNames) {
    if (holds(method)) names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

void Routes::add(Route route) {
  WEIR_ASSERT(routes_.size() < kRoutesMax);
  prefixes_.push_back(route.path.substr(0, route.path.find('{')));
  routes_.push_back(std::move(route));
}

bool Routes::is_at(std::size_t route, std::string_view path) const {
  const std::string_view prefix = prefixes_[route];
  if (!path.starts_with(prefix)) return false;
  const std::string_view rest = path.substr(prefix.size());
  const bool has_id = prefix.size() < routes_[route].path.size();
  if (has_id) return !rest.empty() && rest.find('/') == std::string_view::npos;
  return rest.empty() || (routes_[route].takes_anything() && rest.starts_with('/'));
}

const Route* Routes::find(std::string_view path, http1::Method method) const {
  const Route* first = nullptr;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const std::string_view prefix = prefixes_[i];
    const std::size_t last = prefix.size() - 1;  // where most differ
    if (path.size() <= last || path[last] != prefix[last] || !is_at(i, path)) continue;
    if (routes_[i].methods.holds(method)) return &routes_[i];
    if (first == nullptr) first = &routes_[i];
  }
  return first;
}

}  // namespace weir
