// The metrics (metrics.h) as text: in Prometheus's format, version 0.0.4, and as fields of a
// JSON object, as /admin/stats shows them.
//
// Thread rule: any thread. Tested by metrics_test.cc and http_pages_test.cc.

#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "proto/json_writer.h"
#include "server/http/admin/metrics.h"

namespace weir {

inline constexpr std::string_view kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

std::string prometheus_text(const Figures& figures);

// Writes the fields of a section into the object that `json` is in: for "totals" those of all
// metrics whose Metric::json is "totals.FIELD". The section "" has those without a section.
void write_section(JsonWriter& json, std::string_view section, const Figures& figures);

// Writes every section that is not in `written`, an object each.
void write_other_sections(JsonWriter& json, std::initializer_list<std::string_view> written,
                          const Figures& figures);

}  // namespace weir
