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
  if (make_terms(spec, core.rules(), terms, problem)) return true;
  core.reply_problem(exchange, problem);
  return false;
}

void queue_single(HttpCore& core, const Exchange& exchange) {
  CheckTerms terms;
  if (make_single(core, exchange, terms)) core.queue(exchange, terms);
}

void decide_single(HttpCore& core, const Exchange& exchange, Operation operation) {
  CheckTerms terms;
  if (!read_body(core, exchange, CheckForm::kSingle) || !make_single(core, exchange, terms)) return;
  Asks& asks = core.begin_asks(exchange, operation);
  asks.add(terms.ask);
  if (!asks.decide(exchange.now)) return core.reply_problem(exchange, store_unavailable());
  core.reply_answer(exchange, terms, asks.answers().front());
}

// All of them, so that one that cannot be decided refuses the whole before anything
// is charged.
bool make_list(HttpCore& core, const Exchange& exchange, std::span<CheckTerms> terms) {
  const auto checks = core.reader().body().checks;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    Problem problem;
    if (make_terms(checks[i], core.rules(), terms[i], problem)) continue;
    const std::string item = "checks[" + std::to_string(i) + "].";
    problem.field = item + problem.field;
    problem.detail = item + problem.detail;
    core.reply_problem(exchange, problem);
    return false;
  }
  return true;
}

void write_results(TextWriter& writer, std::span<const CheckTerms> terms,
                   std::span<const Answer> answers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) writer.put(",");
    write_decision_json(writer, terms[i].key_json, answers[i]);
  }
}

// {"results":[...]}, or {"allowed":true,"results":[...]} of an atomic list. At most
// Asks::kAsksMax checks are decided at a time.
void decide_list(HttpCore& core, const Exchange& exchange) {
  const CheckBody& body = core.reader().body();
  const auto terms = core.list_terms(body.checks.size());
  if (!make_list(core, exchange, terms)) return;

  std::size_t size_max = 64;
  for (const CheckTerms& term : terms) size_max += kDecisionJsonMax + term.key_json.size();
  char* const text = core.scratch(size_max);
  TextWriter writer(text);
  writer.put("{");
  const auto operation = body.atomic ? Operation::kSpendAll : Operation::kSpendEach;
  for (std::size_t first = 0; first < terms.size(); first += Asks::kAsksMax) {
    const auto chunk = terms.subspan(first, std::min(Asks::kAsksMax, terms.size() - first));
    Asks& asks = core.begin_asks(exchange, operation);
    for (const CheckTerms& term : chunk) {
      if (!asks.add(term.ask)) {
        return core.reply_problem(
            exchange, invalid_field("checks", "rules with at most 16 limits in all when atomic"));
      }
    }
    if (!asks.decide(exchange.now)) return core.reply_problem(exchange, store_unavailable());
    const auto answers = asks.answers();
    if (body.atomic) {
      const bool all = std::ranges::all_of(answers, &Answer::allowed);
      writer.put("\"allowed\":").text(all ? "true," : "false,");
    }
    if (first == 0) writer.put("\"results\":[");
    if (first > 0) writer.put(",");
    write_results(writer, chunk, answers);
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
