// The handlers that decide: one check, several, a look, a reset.

#include <cstddef>
#include <string>

#include "server/http/check/check_ask.h"
#include "server/http/check/check_reply.h"
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

// The same for the check in it.
bool make_single(HttpCore& core, const Exchange& exchange, Ask& ask) {
  Problem problem;
  if (make_ask(core.reader().body().checks[0], core.rules(), ask, problem)) return true;
  core.reply_problem(exchange, problem);
  return false;
}

void queue_single(HttpCore& core, const Exchange& exchange) {
  Ask ask;
  if (make_single(core, exchange, ask)) core.queue(exchange, ask);
}

// REQUIRES: the operation charges nothing
void decide_single(HttpCore& core, const Exchange& exchange, Operation operation) {
  Ask ask;
  if (!read_body(core, exchange, CheckForm::kSingle) || !make_single(core, exchange, ask)) return;
  if (ask.counting == Ask::Counting::kAlways) {
    return core.reply_problem(exchange, invalid_field("charge", "nothing: this charges nothing"));
  }
  AsksPtr asks = core.begin_asks(exchange, operation);
  asks->add(ask);
  core.decide(std::move(asks), exchange, [&core](const Recipient& to, const Asks& decided) {
    core.write_answer(to, decided, 0);
  });
}

// False if a check of the list cannot be decided: then the whole is refused, and nothing is
// charged.
bool add_list(HttpCore& core, const Exchange& exchange, Asks& asks) {
  const auto checks = core.reader().body().checks;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    Ask ask;
    Problem problem;
    if (!make_ask(checks[i], core.rules(), ask, problem)) {
      const std::string item = "checks[" + std::to_string(i) + "].";
      problem.field = item + problem.field;
      problem.detail = item + problem.detail;
    } else if (!asks.add(ask)) {
      problem = invalid_field("checks", "rules with at most 16 limits in all when atomic");
    } else {
      continue;
    }
    core.reply_problem(exchange, problem);
    return false;
  }
  return true;
}

enum class ListForm : std::uint8_t { kEach, kAtomic };

// {"results":[...]}, or {"allowed":true,"results":[...]} of an atomic list.
void write_list(HttpCore& core, const Recipient& to, const Asks& asks, ListForm form) {
  std::size_t room = 64;
  bool all = true;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    room += kDecisionJsonMax + asks.ask(i).echo.size();
    all = all && asks.answer(i).allowed();
  }
  char* const text = core.scratch(room);
  TextWriter writer(text, room);
  writer.put("{");
  if (form == ListForm::kAtomic) writer.put("\"allowed\":").text(all ? "true," : "false,");
  writer.put("\"results\":[");
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (i > 0) writer.put(",");
    write_decision_json(writer, asks.ask(i).echo, asks.answer(i));
  }
  writer.put("]}");
  core.write(to, {.body = {text, writer.end()}});
}

void decide_list(HttpCore& core, const Exchange& exchange) {
  const ListForm form = core.reader().body().atomic ? ListForm::kAtomic : ListForm::kEach;
  AsksPtr asks = core.begin_asks(
      exchange, form == ListForm::kAtomic ? Operation::kSpendAll : Operation::kSpendEach);
  if (!add_list(core, exchange, *asks)) return;
  core.decide(std::move(asks), exchange, [&core, form](const Recipient& to, const Asks& decided) {
    write_list(core, to, decided, form);
  });
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
