// Says in words what a rule limits: for weir docs, and for a rule's page in the console.
//
// Code is between backticks, as in Markdown.
//
// Thread rule: pure functions. Tested by src/cli/rule_docs_test.cc and
// src/server/http/admin/http_rules_test.cc.

#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/promise.h"
#include "rules/rule.h"

namespace weir {

// Parts of a rule as it was written.
struct WrittenRule {
  std::vector<std::string> methods{};
  std::vector<std::string> paths{};
  std::vector<std::string> key{};
  boost::json::object conditions{};  // of `match`, except methods and paths
  boost::json::object hours{};       // `active`
};
// `json`: as in rule_sources.h; empty: the rule is from a file of Envoy's service.
WrittenRule written_rule(std::string_view json);

struct RuleWords {
  std::string requests;  // "`POST` `/login`"
  std::string key;       // "`client`", "all together"
  std::string limits;    // "5 per 1m and 100 per 1h"
  std::string denial;    // "only 10 % of the keys, blocked for 5m"; empty: it only denies
};
RuleWords words_of(const Rule& rule, const WrittenRule& written);

// How far each limit may be off: ", off by 4, 29 above or 5, 30 below at worst".
struct Off {
  Promise promise;
  std::string aside{};  // a remark on the units above; empty: none
};
std::string off_text(const Rule& rule, const std::function<Off(const Quota&)>& off_of);

// The keys with a bound: ", for 10 % of the keys; the others are not denied". Empty: all.
std::string bounded_keys(const Rule& rule);

// Why no number bounds what a key gets, as a phrase: "it is in shadow". Empty: a number does.
std::string_view why_unbounded(const Rule& rule);

}  // namespace weir
