// The routing table: every path that is answered, by which methods, and by whom.
// /openapi.json describes exactly these.
//
// Thread rule: constants. Tested by admin/openapi_test.cc.

#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "proto/http/http1_head.h"
#include "server/http/http_counts.h"

namespace weir {

class HttpCore;
struct Exchange;

enum class RouteAccess : std::uint8_t {
  kAnybody,
  kAdmin,    // see HttpAccess
  kConsole,  // part of the console: nothing is there if the node has none
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

 private:
  static constexpr unsigned bit(http1::Method method) {
    return 1u << static_cast<unsigned>(method);
  }
  unsigned bits_ = 0;
};

inline constexpr MethodSet kAnyMethod = {
    http1::Method::kGet,   http1::Method::kHead,   http1::Method::kPost, http1::Method::kPut,
    http1::Method::kPatch, http1::Method::kDelete, http1::Method::kOther};

// The parameters that a query may have: names with blanks between them (unknown_parameter). Those
// of requests that anybody may make are not looked at.
struct RouteParameters {
  std::string_view of_get{};
  std::string_view of_others{};
};

struct Route {
  MethodSet methods;
  // "{...}" at its end: one segment. With kAnyMethod: also all paths below.
  std::string_view path;
  RouteAccess access;
  void (*handle)(HttpCore&, Exchange&);
  RouteParameters parameters{};

  bool takes_anything() const { return methods.holds(http1::Method::kOther); }
};

std::span<const Route> routes();
// REQUIRES: one of routes()
RouteId route_id(const Route& route);

// Null if nothing is at this path. If several are: the first that takes the method, else
// the first.
const Route* find_route(std::string_view path, http1::Method method);

// "GET, HEAD, DELETE", for the field Allow.
std::string method_names(const MethodSet& methods);

// What stands in place of "{id}". REQUIRES: `path` is one of this route
std::string_view id_in(RouteId route, std::string_view path);

// "/check"; "other" for kNoRoute.
std::string_view route_name(RouteId id);

}  // namespace weir
