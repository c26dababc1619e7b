// The handlers that decide: one check, several, a look, a reset.

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "server/http/check_reply.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

// False if the body is not what it should be: then the request has been answered.
bool read_body(HttpCore& core, const Exchange& exchange, CheckForm form) {
  if (core.reader().read(exchange.body, form)) return true;
  core.reply_problem(exchange, core.reader().problem());
  return false;
}

// The same for the terms of the check in it.
bool make_single(HttpCore& core, const Exchange& exchange, CheckTerms& terms) {
  const CheckSpec& spec = core.reader().body().checks[0];
  Problem problem;
  if (make_terms(spec, core.rules(), core.engine(), terms, problem)) return true;
  core.reply_problem(exchange, problem);
  return false;
}

void queue_single(HttpCore& core, const Exchange& exchange) {
  CheckTerms terms;
  if (make_single(core, exchange, terms)) core.queue(exchange, terms);
}

void decide_single(HttpCore& core, const Exchange& exchange, Operation operation) {
  CheckTerms terms;
  Decision decision;
  if (!read_body(core, exchange, CheckForm::kSingle) || !make_single(core, exchange, terms)) return;
  if (!core.decide(exchange, operation, {&terms, 1}, {&decision, 1})) {
    return core.reply_problem(exchange, store_unavailable());
  }
  core.reply_decision(exchange, terms, decision);
}

// All of them, so that one that cannot be decided refuses the whole before anything
// is charged.
bool make_list(HttpCore& core, const Exchange& exchange, std::span<CheckTerms> terms) {
  const auto checks = core.reader().body().checks;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    Problem problem;
    if (make_terms(checks[i], core.rules(), core.engine(), terms[i], problem)) continue;
    const std::string item = "checks[" + std::to_string(i) + "].";
    problem.field = item + problem.field;
    problem.detail = item + problem.detail;
    core.reply_problem(exchange, problem);
    return false;
  }
  return true;
}

// {"results":[...]}, or {"allowed":true,"results":[...]} of an atomic list. At most
// Batch::kChargesMax checks are decided at a time.
void decide_list(HttpCore& core, const Exchange& exchange) {
  const CheckBody& body = core.reader().body();
  const auto terms = core.list_terms(body.checks.size());
  if (!make_list(core, exchange, terms)) return;

  std::size_t size_max = 64;
  for (const CheckTerms& term : terms) size_max += kDecisionJsonMax + term.key_json.size();
  char* const text = core.scratch(size_max);
  TextWriter writer(text);
  std::array<Decision, Batch::kChargesMax> decided;
  for (std::size_t first = 0; first < terms.size(); first += decided.size()) {
    const auto chunk = terms.subspan(first, std::min(decided.size(), terms.size() - first));
    const std::span decisions(decided.data(), chunk.size());
    const auto operation = body.atomic ? Operation::kSpendAll : Operation::kSpendEach;
    if (!core.decide(exchange, operation, chunk, decisions)) {
      return core.reply_problem(exchange, store_unavailable());
    }
    if (first == 0) {
      writer.put("{");
      const bool all = std::ranges::all_of(decisions, &Decision::allowed);
      if (body.atomic) writer.put("\"allowed\":").text(all ? "true," : "false,");
      writer.put("\"results\":[");
    }
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      if (first + i > 0) writer.put(",");
      write_decision_json(writer, chunk[i], decisions[i]);
    }
  }
  writer.put("]}");
  core.reply_json(exchange, {text, static_cast<std::size_t>(writer.end() - text)});
}

}  // namespace

void handle_check(HttpCore& core, Exchange& exchange) {
  if (read_body(core, exchange, CheckForm::kSingle)) queue_single(core, exchange);
}

void handle_check_v1(HttpCore& core, Exchange& exchange) {
  if (!read_body(core, exchange, CheckForm::kSingleOrList)) return;
  if (core.reader().body().is_list) return decide_list(core, exchange);
  queue_single(core, exchange);
}

void handle_look(HttpCore& core, Exchange& exchange) {
  decide_single(core, exchange, Operation::kLook);
}

void handle_reset(HttpCore& core, Exchange& exchange) {
  decide_single(core, exchange, Operation::kReset);
}

}  // namespace weir
