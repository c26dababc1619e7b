// The handler of /admin/rules/validate: what would become of a rule, or of a whole file, that
// somebody is still writing. It changes nothing.

#include <string>

#include "proto/json_writer.h"
#include "server/http/admin/late_outcome.h"
#include "server/http/admin/rule_desk.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

void write_verdict(JsonWriter& json, const RuleVerdict& verdict) {
  json.begin_object().key("ok").boolean(verdict.is_ok()).key("problems").begin_array();
  for (const RuleFinding& finding : verdict.findings) {
    json.begin_object().key("line").number(finding.line).key("column").number(finding.column);
    json.key("text").string(as_utf8(finding.text));
    json.key("warning").boolean(finding.weight == RuleFinding::Weight::kWarning).end_object();
  }
  json.end_array().key("changes").begin_array();
  for (const std::string& line : verdict.changes) json.string(as_utf8(line));
  json.end_array().key("json");
  if (verdict.json.empty()) {
    json.null();
  } else {
    json.raw(verdict.json);
  }
  json.end_object();
}

}  // namespace

void handle_rule_trial(HttpCore& core, Exchange& exchange) {
  RuleTrial trial{.id = query_value(exchange.query, "id").value_or(""),
                  .text = std::string(exchange.body.text, exchange.body.size)};
  answer_later<RuleVerdict>(
      core, exchange,
      [&](RuleDesk::Judged done) {
        core.node().options().rule_desk->judge(std::move(trial), std::move(done));
      },
      [&core](const Recipient& to, const RuleVerdict& verdict) {
        if (verdict.status >= 400) {
          return core.write_problem(to, http_problem(verdict.status, as_utf8(verdict.detail)));
        }
        JsonWriter json;
        write_verdict(json, verdict);
        core.write(to, {.fields = kNoStore, .body = json.text()});
      });
}

}  // namespace weir
