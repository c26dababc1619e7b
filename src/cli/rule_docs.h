// An API's limits for its users: the enforced rules that match requests, as Markdown or as
// extensions of an OpenAPI document.
//
//   {"openapi":"3.1.0","info":{...},
//    "paths":{"/login":{"post":{"x-ratelimit":[{"rule":"login","key":["client"],
//                                               "limits":[{"limit":5,...}]}]}}},
//    "x-ratelimit":[...]}
//
// Rules for any method stand at the path, rules for any path at the top.
//
// Thread rule: pure functions. Tested by rule_docs_test.cc.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "config/rules/rule_sources.h"
#include "config/settings.h"
#include "rules/promise.h"
#include "rules/rule.h"

namespace weir {

// How far a limit of a rule may be off. Null: the documents do not say it.
using PromiseOf = std::function<Promise(const Rule&, const Quota&)>;

// `sources`: the same rules as written.
std::string docs_as_markdown(std::span<const Rule> rules, std::span<const RuleSource> sources,
                             const PromiseOf& promise = nullptr);
std::string docs_as_openapi(std::span<const Rule> rules, std::span<const RuleSource> sources,
                            const PromiseOf& promise = nullptr);

// Where limits of the rule count, on a node with these settings.
inline Mode mode_in(const ServerSettings& settings, const Rule& rule) {
  return rule.mode.value_or(settings.store.redis.empty() ? Mode::kLocal : settings.store.mode);
}
// The promise in this mode, if so many nodes serve the file.
Promise promise_in(const ServerSettings& settings, const Rule& rule, const Quota& quota,
                   std::int64_t nodes);

}  // namespace weir
