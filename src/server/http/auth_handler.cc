// The handler of /auth: may the request that a proxy holds pass?

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "proto/header_fields.h"
#include "server/http/check_reply.h"
#include "server/http/forward_auth.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"
#include "server/http/rule_ask.h"

namespace weir {
namespace {

constexpr int kTooManyRequests = 429;
constexpr const char* kTooManyText = "Too many requests.";

// What the client should know of. Nothing of rules in shadow.
std::optional<std::size_t> most_pressing(std::span<const Rule* const> rules,
                                         std::span<const Answer> answers) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (rules[i]->shadow || answers[i].cause == Answer::Cause::kNotCounted) continue;
    const Decision& decision = answers[i].decision;
    if (!found || presses_more(decision, answers[*found].decision)) found = i;
  }
  return found;
}

void append_fields(const Denial& denial, const TemplateValues& values, std::string& fields) {
  for (const HeaderTemplate& header : denial.headers) {
    fields.append(header.name).append(": ");
    header.value.append(values, Escape::kHeader, fields);
    fields += "\r\n";
  }
}

// A denial is answered as its rule says, as far as the proxy understands it.
void deny(HttpCore& core, const Exchange& exchange, const AuthTerms& auth,
          const TemplateValues& values, const Denial& denial, std::string_view limit_fields) {
  std::string all_fields;
  std::string_view fields = limit_fields;
  if (!denial.headers.empty()) {
    all_fields = limit_fields;
    append_fields(denial, values, all_fields);
    fields = all_fields;
  }
  const bool free_choice = auth.deny == kTooManyRequests;
  const int status = denial.status != 0 && free_choice ? denial.status : auth.deny;
  if (!denial.body) {
    // The one that attackers get, so it is made once.
    static const std::string kTooMany = to_json(http_problem(kTooManyRequests, kTooManyText));
    if (status != kTooManyRequests) {
      return core.reply_problem(exchange, http_problem(status, kTooManyText), fields);
    }
    return core.reply(exchange,
                      {.status = status, .content_type = kProblemContentType, .fields = fields},
                      kTooMany);
  }
  std::string body;
  denial.body->append(values, escape_for(denial.content_type), body);
  core.reply(exchange, {.status = status, .content_type = denial.content_type, .fields = fields},
             body);
}

void reply_answers(HttpCore& core, const Exchange& exchange, const AuthTerms& auth,
                   const Request& request, std::span<const Rule* const> rules,
                   std::span<const Answer> answers) {
  const auto shown = most_pressing(rules, answers);
  if (!shown) return core.reply(exchange, {.status = auth.allow, .content_type = {}}, {});

  const Rule& rule = *rules[*shown];
  const Answer& answer = answers[*shown];
  char* const text = core.scratch(rate_limit_headers_max(rule.id));
  TextWriter writer(text);
  write_rate_limit_headers(writer, policy_of(rule.id, answer), answer.decision);
  const std::string_view fields(text, static_cast<std::size_t>(writer.end() - text));
  if (answer.allowed()) {
    return core.reply(exchange, {.status = auth.allow, .content_type = {}, .fields = fields}, {});
  }
  const TemplateValues values{.rule = rule.id,
                              .key = key_of(rule, request, core.key_scratch()),
                              .decision = answer.decision,
                              .request = request};
  deny(core, exchange, auth, values, rule.denial, fields);
}

// All rules that apply are charged, or none; those in shadow only for what passes.
void decide_auth(HttpCore& core, const Exchange& exchange, const AuthTerms& auth,
                 Request& request) {
  const auto matched =
      core.rules().match(request, core.auth_scratch().match, core.engine().wall_time(exchange.now));
  Asks& asks = core.begin_asks(exchange, Operation::kSpendAll);
  for (const Rule* rule : matched) {
    PartScratch tier{};
    if (asks.add(ask_about(*rule, request, core.key_scratch(), tier))) continue;
    return core.reply_problem(exchange, http_problem(500, "More than 16 limits apply at once."));
  }
  if (!asks.decide(exchange.now)) return core.reply_problem(exchange, store_unavailable());
  reply_answers(core, exchange, auth, request, matched, asks.answers());
}

}  // namespace

void handle_auth(HttpCore& core, Exchange& exchange) {
  std::optional<AuthTerms> terms;
  if (const auto problem = read_auth_terms(exchange.path, exchange.query, terms)) {
    return core.reply_problem(exchange, *problem);
  }
  const AuthCall call{.method = exchange.head.method_text,
                      .path = exchange.path,
                      .query = exchange.query,
                      .headers = core.headers_of(exchange),
                      .peer = exchange.peer};
  Request request;
  if (const auto problem = read_forwarded_request(call, *terms, core.node().trusted_proxies(),
                                                  core.auth_scratch(), request)) {
    return core.reply_problem(exchange, *problem);
  }
  decide_auth(core, exchange, *terms, request);
}

}  // namespace weir
