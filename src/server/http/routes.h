// Routes: every path that an HTTP door answers, by which methods, and by whom.
//
// The maker of a door adds the routes that the node can serve (add_check_routes() and others). A
// handler holds the objects that it shows or changes; without them the node has no such route.
// /openapi.json describes all routes that a node can have.
//
// Thread rule: one core; constant once the core serves. Tested by admin/openapi_test.cc.

#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/http1_head.h"
#include "server/http/reply.h"

namespace weir {

struct Exchange;

enum class RouteAccess : std::uint8_t {
  kAnybody,
  kAdmin,    // access_refusal()
  kConsole,  // host_refusal()
};

class MethodSet {
 public:
  constexpr MethodSet(std::initializer_list<http1::Method> methods) {
    for (const http1::Method method : methods) bits_ |= bit(method);
  }

  // A route that takes GET takes HEAD, too.
  constexpr bool holds(http1::Method method) const {
    return (bits_ & bit(method)) != 0 ||
           (method == http1::Method::kHead && holds(http1::Method::kGet));
  }

  // "GET, HEAD, DELETE", for the field Allow.
  std::string names() const;

 private:
  static constexpr unsigned bit(http1::Method method) {
    return 1u << static_cast<unsigned>(method);
  }
  unsigned bits_ = 0;
};

inline constexpr MethodSet kAnyMethod = {
    http1::Method::kGet,   http1::Method::kHead,   http1::Method::kPost, http1::Method::kPut,
    http1::Method::kPatch, http1::Method::kDelete, http1::Method::kOther};

// The parameters that a query may have: names with blanks between them (parameter_mistake). On
// routes for anybody, parameters are not checked.
struct RouteParameters {
  std::string_view of_get{};
  std::string_view of_others{};
};

struct Route {
  MethodSet methods;
  // A constant. "{...}" at its end: one segment. With kAnyMethod: also all paths below.
  std::string_view path;
  RouteAccess access;
  std::function<void(Exchange&)> handle;
  RouteParameters parameters{};

  bool takes_anything() const { return methods.holds(http1::Method::kOther); }
  // Whether it only decides: it tells nothing of other requests, and changes nothing else.
  bool is_check(http1::Method method) const {
    return access == RouteAccess::kAnybody && (method == http1::Method::kPost || takes_anything());
  }
};

class Routes {
 public:
  // Frequent routes come first. All cores of a node add the same routes.
  void add(Route route);

  // Null if nothing is at this path. Of several: the first that takes the method, else the first.
  const Route* find(std::string_view path, http1::Method method) const;

  std::span<const Route> all() const { return routes_; }
  // REQUIRES: one of all()
  RouteId id_of(const Route& route) const { return static_cast<RouteId>(&route - routes_.data()); }
  // The text in place of "{id}". REQUIRES: `path` is of this route
  std::string_view rest_of(RouteId route, std::string_view path) const {
    return path.substr(prefixes_[route].size());
  }

 private:
  bool is_at(std::size_t route, std::string_view path) const;

  std::vector<Route> routes_;
  std::vector<std::string_view> prefixes_;  // their paths without "{...}"
};

}  // namespace weir
