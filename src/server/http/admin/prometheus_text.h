// The metrics (metrics.h) in Prometheus's text format, version 0.0.4.
//
// Thread rule: any thread. Tested by metrics_test.cc and http_pages_test.cc.

#pragma once

#include <string>
#include <string_view>

#include "server/http/admin/metrics.h"

namespace weir {

inline constexpr std::string_view kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

std::string prometheus_text(const Figures& figures);

}  // namespace weir
