// The metrics of this node in Prometheus's text format, version 0.0.4. The names and
// what they mean are listed in docs/http_api.md.
//
// Thread rule: any thread. Tested by http_pages_test.cc.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "rules/rule.h"
#include "server/http/http_node.h"
#include "weir/time.h"

namespace weir {

inline constexpr std::string_view kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

struct PrometheusInput {
  std::span<const Rule> rules{};  // in force
  Instant now{};
};
std::string prometheus_text(HttpNode& node, const PrometheusInput& input);

}  // namespace weir
