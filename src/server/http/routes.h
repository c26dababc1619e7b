// The routing table: every path that is answered, by which method, and by whom.
// /openapi.json describes exactly these.
//
// Thread rule: constants. Tested by openapi_test.cc.

#pragma once

#include <span>
#include <string_view>

#include "proto/http1_head.h"
#include "server/http/http_counts.h"

namespace weir {

class HttpCore;
struct Exchange;

enum class RouteAccess : std::uint8_t {
  kAnybody,
  kAdmin,  // see HttpAccess
};

struct Route {
  RouteId id;
  http1::Method method;   // kGet: HEAD, too; kOther: any
  std::string_view path;  // of any method: what is below it, too
  RouteAccess access;
  void (*handle)(HttpCore&, Exchange&);
};

// In the order of RouteId.
std::span<const Route> routes();

// Null if nothing is at this path.
const Route* find_route(std::string_view path);

// "/check"; "other" for RouteId::kNone.
std::string_view route_name(RouteId id);

}  // namespace weir
