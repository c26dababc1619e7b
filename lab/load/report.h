// The report of a load run: for people, and as one line of JSON for scripts.
//
// Thread rule: pure functions. Tested by report_test.cc.

#pragma once

#include <string>

#include "load/load.h"

namespace weir::load {

// `what` names the requests: "POST http://127.0.0.1:8080/check".
std::string text_report(const std::string& what, const LoadPlan& plan, const LoadResult& result);

// Times in milliseconds, rates per second. Fields are only ever added.
std::string json_report(const LoadPlan& plan, const LoadResult& result);

}  // namespace weir::load
