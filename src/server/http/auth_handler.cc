// The handler of /auth: may the request that a proxy holds pass?

#include <algorithm>
#include <array>
#include <span>

#include "proto/header_fields.h"
#include "server/http/check_reply.h"
#include "server/http/forward_auth.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

using Terms = std::array<CheckTerms, kGroupsMax>;
using Decisions = std::array<Decision, kGroupsMax>;

// The terms of the rules that apply: first those that may deny, then those that only
// count. Returns how many may deny, and in `count` how many there are.
std::size_t make_auth_terms(HttpCore& core, const Request& request, Terms& terms,
                            std::size_t& count) {
  MatchedRules room;
  const auto matched = core.rules().match(request, room);
  count = matched.size();
  const auto shadows = std::stable_partition(matched.begin(), matched.end(),
                                             [](auto* rule) { return !rule->shadow; });
  for (std::size_t i = 0; i < count; ++i) {
    const Rule& rule = *matched[i];
    const auto key = key_of(rule, request, core.key_scratch());
    terms[i] = {.policy = rule.id,
                .quota = rule.quota,
                .key = core.engine().hash({.rule = rule.id, .bucket = {}, .key = key}, rule.quota)};
  }
  return static_cast<std::size_t>(shadows - matched.begin());
}

// What the client should know of: the denial that lasts longest, or else the rule that
// has the least left.
std::size_t most_pressing(std::span<const Decision> decisions) {
  const auto pressing = [](const Decision& one, const Decision& other) {
    if (one.allowed() != other.allowed()) return !one.allowed();
    if (one.allowed()) return one.remaining < other.remaining;
    if (one.verdict != other.verdict) return one.verdict == Verdict::kNever;
    return one.retry_after > other.retry_after;
  };
  return static_cast<std::size_t>(std::ranges::min_element(decisions, pressing) -
                                  decisions.begin());
}

void reply_auth(HttpCore& core, const Exchange& exchange, int status, std::string_view fields) {
  if (status == 200 || status == 204) {
    return core.reply(exchange, {.status = status, .content_type = {}, .fields = fields}, {});
  }
  core.reply_problem(exchange, http_problem(status, "Too many requests."), fields);
}

void reply_decisions(HttpCore& core, const Exchange& exchange, const AuthTerms& auth,
                     std::span<const CheckTerms> terms, std::span<const Decision> decisions) {
  const bool allowed = std::ranges::all_of(decisions, &Decision::allowed);
  const std::size_t shown = most_pressing(decisions);
  char* const fields = core.scratch(rate_limit_headers_max(terms[shown].policy));
  TextWriter writer(fields);
  write_rate_limit_headers(writer, policy_of(terms[shown]), decisions[shown]);
  reply_auth(core, exchange, allowed ? auth.allow : auth.deny,
             {fields, static_cast<std::size_t>(writer.end() - fields)});
}

// All rules that may deny are charged, or none; those in shadow only for what passes.
void decide_auth(HttpCore& core, const Exchange& exchange, const AuthTerms& auth,
                 const Request& request) {
  Terms terms;
  std::size_t count = 0;
  const std::size_t enforced = make_auth_terms(core, request, terms, count);
  const auto enforced_terms = std::span(terms).first(enforced);
  const auto shadow_terms = std::span(terms).subspan(enforced, count - enforced);

  Decisions decided;
  const auto decisions = std::span(decided).first(enforced);
  if (!core.decide(exchange, Operation::kSpendAll, enforced_terms, decisions)) {
    return core.reply_problem(exchange, store_unavailable());
  }
  if (std::ranges::all_of(decisions, &Decision::allowed)) {
    Decisions ignored;
    core.decide(exchange, Operation::kSpendEach, shadow_terms,
                std::span(ignored).first(shadow_terms.size()));
  }
  if (enforced == 0) return reply_auth(core, exchange, auth.allow, {});
  reply_decisions(core, exchange, auth, enforced_terms, decisions);
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
