// What a rule limits, in words for people: weir docs, and a rule's page in the console.
//
// Code is between backticks, as in Markdown.
//
// Thread rule: pure functions. Tested by src/cli/rule_docs_test.cc and
// src/server/http/admin/http_rules_test.cc.

#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace weir {

// What a rule says as it was written.
struct WrittenRule {
  std::vector<std::string> methods{};
  std::vector<std::string> paths{};
  std::vector<std::string> key{};
  boost::json::object conditions{};  // of `match`, but for methods and paths
  boost::json::object hours{};       // `active`
};
// `json`: as in rule_sources.h; empty: the rule is from a file of Envoy's service.
WrittenRule written_rule(std::string_view json);

struct RuleWords {
  std::string requests;  // "`POST` `/login`"
  std::string key;       // "`client`", "all together"
  std::string limits;    // "5 per 1m and 100 per 1h"
  std::string denial;    // "only 10 % of the keys, blocked for 5m"; empty: nothing but denied
};
RuleWords words_of(const Rule& rule, const WrittenRule& written);

// Why no number bounds what a key gets, as a phrase: "it is in shadow". Empty: one does.
std::string_view why_unbounded(const Rule& rule);

}  // namespace weir
