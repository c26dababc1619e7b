// The handlers that decide: one check, several, a look, a reset; a call of Envoy's rate limit
// service as JSON.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rls/json_text.h"
#include "server/http/access.h"
#include "server/http/check/check_ask.h"
#include "server/http/check/check_body.h"
#include "server/http/check/check_reply.h"
#include "server/http/check/check_routes.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

constexpr std::size_t kScratchInitial = 32 << 10;  // the longest key, escaped, and more

enum class ListForm : std::uint8_t { kEach, kAtomic };

// Shared by these routes: the reader of their bodies, and memory for one reply.
class CheckDesk final : public AnswerWriter {
 public:
  explicit CheckDesk(HttpCore& core) : core_(core), scratch_(kScratchInitial) {}

  // A single check, or a list of them where the form allows it.
  void spend(Exchange& exchange, CheckForm form) {
    if (!read_body(exchange, form)) return;
    if (reader_.body().is_list) return decide_list(exchange);
    if (!reader_.body().checks[0].resets) return queue_single(exchange);
    // A reset needs the access that the route of resets needs.
    if (!refuse_access(core_, exchange)) decide_single(exchange, Operation::kReset);
  }

  // Looks or resets: a body without a charge.
  void decide_uncharged(const Exchange& exchange, Operation operation);

  void write_answer(const Recipient& to, const Asks& asks, std::size_t index) override;

  CheckReader& reader() { return reader_; }

 private:
  bool read_body(const Exchange& exchange, CheckForm form);
  bool make_single(const Exchange& exchange, Ask& ask);
  void queue_single(const Exchange& exchange);
  void decide_single(const Exchange& exchange, Operation operation);
  bool add_list(const Exchange& exchange, Asks& asks);
  void decide_list(const Exchange& exchange);
  void write_list(const Recipient& to, const Asks& asks, ListForm form);
  char* scratch(std::size_t size);

  HttpCore& core_;
  CheckReader reader_;
  std::vector<char> scratch_;
};

// False if the body is wrong: then this has answered the request.
bool CheckDesk::read_body(const Exchange& exchange, CheckForm form) {
  if (reader_.read(exchange.body, form)) return true;
  core_.reply_problem(exchange, reader_.problem());
  return false;
}

// The same for the check in the body.
bool CheckDesk::make_single(const Exchange& exchange, Ask& ask) {
  Problem problem;
  if (make_ask(reader_.body().checks[0], core_.rules(), ask, problem)) return true;
  core_.reply_problem(exchange, problem);
  return false;
}

void CheckDesk::queue_single(const Exchange& exchange) {
  Ask ask;
  if (make_single(exchange, ask)) core_.queue(exchange, ask, *this);
}

// REQUIRES: the operation charges nothing, and the body is read
void CheckDesk::decide_single(const Exchange& exchange, Operation operation) {
  Ask ask;
  if (!make_single(exchange, ask)) return;
  AsksPtr asks = core_.begin_asks(exchange, operation);
  asks->add(ask);
  core_.decide(std::move(asks), exchange,
               [this](const Recipient& to, const Asks& decided) { write_answer(to, decided, 0); });
}

void CheckDesk::decide_uncharged(const Exchange& exchange, Operation operation) {
  if (!read_body(exchange, CheckForm::kSingle)) return;
  const CheckFields& fields = reader_.body().checks[0];
  const bool resets_only = fields.resets && operation == Operation::kReset;
  const bool charges =
      fields.has(CheckField::kCharge) && fields.counting != Ask::Counting::kIfItFits;
  if (charges || (fields.resets && !resets_only)) {
    return core_.reply_problem(exchange, invalid_field("charge", "nothing: this charges nothing"));
  }
  decide_single(exchange, operation);
}

void CheckDesk::write_answer(const Recipient& to, const Asks& asks, std::size_t index) {
  const Ask& ask = asks.ask(index);
  const std::size_t room = kDecisionJsonMax + ask.echo.size();
  char* const body = scratch(room);
  TextWriter writer(body, room);
  write_decision_json(writer, ask.echo, asks.answer(index));
  const RateLimit& limit = core_.voice().say_one(asks, index, to.now);
  core_.write(to, {.limit = &limit, .body = {body, writer.end()}});
}

// False if a check of the list cannot be decided: then the whole list is refused, and nothing is
// charged.
bool CheckDesk::add_list(const Exchange& exchange, Asks& asks) {
  const auto checks = reader_.body().checks;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    Ask ask;
    Problem problem;
    if (checks[i].resets) {
      problem = invalid_field("checks[" + std::to_string(i) + "].charge",
                              "one of fits, always, drain: a reset comes alone");
    } else if (!make_ask(checks[i], core_.rules(), ask, problem)) {
      const std::string item = "checks[" + std::to_string(i) + "].";
      problem.field = item + problem.field;
      problem.detail = item + problem.detail;
    } else if (!asks.add(ask)) {
      problem = invalid_field("checks", "rules with at most 16 limits in all when atomic");
    } else {
      continue;
    }
    core_.reply_problem(exchange, problem);
    return false;
  }
  return true;
}

void CheckDesk::decide_list(const Exchange& exchange) {
  const ListForm form = reader_.body().atomic ? ListForm::kAtomic : ListForm::kEach;
  AsksPtr asks = core_.begin_asks(
      exchange, form == ListForm::kAtomic ? Operation::kSpendAll : Operation::kSpendEach);
  if (!add_list(exchange, *asks)) return;
  core_.decide(std::move(asks), exchange, [this, form](const Recipient& to, const Asks& decided) {
    write_list(to, decided, form);
  });
}

// {"results":[...]}, or {"allowed":true,"results":[...]} for an atomic list.
void CheckDesk::write_list(const Recipient& to, const Asks& asks, ListForm form) {
  std::size_t room = 64;
  bool all = true;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    room += kDecisionJsonMax + asks.ask(i).echo.size();
    all = all && asks.answer(i).allowed();
  }
  char* const text = scratch(room);
  TextWriter writer(text, room);
  writer.put("{");
  if (form == ListForm::kAtomic) writer.put("\"allowed\":").text(all ? "true," : "false,");
  writer.put("\"results\":[");
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (i > 0) writer.put(",");
    write_decision_json(writer, asks.ask(i).echo, asks.answer(i));
  }
  writer.put("]}");
  core_.write(to, {.body = {text, writer.end()}});
}

// At least `size` bytes.
char* CheckDesk::scratch(std::size_t size) {
  if (scratch_.size() < size) scratch_.resize(size);
  return scratch_.data();
}

void write_json(HttpCore& core, const Recipient& to, const rls::JsonAnswer& answer) {
  core.write(to,
             {.status = answer.status, .content_type = answer.content_type, .body = answer.body});
}

void ask_by_json(HttpCore& core, rls::RateLimitService& service, const Exchange& exchange) {
  core.flush(exchange.line, exchange.now);
  rls::RateLimitService::CallPtr call = service.new_call();
  const std::string_view question = exchange.body.view();
  call->expect(question.size());
  if (const auto refusal = rls::read_json(question, call->request)) {
    return write_json(core, exchange, *refusal);
  }
  core.decide_any(std::move(call), exchange,
                  [&core](const Recipient& to, const rls::RateLimitCall& decided) {
                    write_json(core, to, rls::to_json(decided));
                  });
}

}  // namespace

void add_check_routes(HttpCore& core, CheckRoutes which) {
  using enum http1::Method;
  const auto desk = std::make_shared<CheckDesk>(core);
  const auto spends = [&](std::string_view path, CheckForm form) {
    core.routes().add({{kPost}, path, RouteAccess::kAnybody, [desk, form](Exchange& exchange) {
                         desk->spend(exchange, form);
                       }});
  };
  const auto asks = [&](std::string_view path, RouteAccess access, Operation operation) {
    core.routes().add({{kPost}, path, access, [desk, operation](Exchange& exchange) {
                         desk->decide_uncharged(exchange, operation);
                       }});
  };
  if (which == CheckRoutes::kAll) {
    spends("/check", CheckForm::kSingle);
    spends("/v1/check", CheckForm::kSingleOrList);
    asks("/v1/look", RouteAccess::kAnybody, Operation::kLook);
    add_hold_routes(core, {desk, &desk->reader()});
    add_limits_route(core);
  }
  asks("/v1/reset", RouteAccess::kAdmin, Operation::kReset);
}

void add_json_route(HttpCore& core, rls::RateLimitService& service) {
  core.routes().add({kAnyMethod, "/json", RouteAccess::kAnybody,
                     [&](Exchange& exchange) { ask_by_json(core, service, exchange); }});
}

}  // namespace weir
