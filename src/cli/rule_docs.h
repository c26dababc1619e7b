// An API's limits for those who use it: the enforced rules that match requests, as
// Markdown or as extensions of an OpenAPI document.
//
//   {"openapi":"3.1.0","info":{...},
//    "paths":{"/login":{"post":{"x-ratelimit":[{"rule":"login","key":["client"],
//                                               "limits":[{"limit":5,...}]}]}}},
//    "x-ratelimit":[...]}
//
// Rules of no method in particular are at the path, of no path at the top.
//
// Thread rule: pure functions. Tested by rule_docs_test.cc.

#pragma once

#include <span>
#include <string>

#include "config/rules/rule_sources.h"
#include "rules/rule.h"

namespace weir {

// `sources`: the same rules as they were written.
std::string docs_as_markdown(std::span<const Rule> rules, std::span<const RuleSource> sources);
std::string docs_as_openapi(std::span<const Rule> rules, std::span<const RuleSource> sources);

}  // namespace weir
