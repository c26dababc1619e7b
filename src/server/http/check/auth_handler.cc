// The handler of /auth: may the request that a proxy holds pass?

#include <optional>
#include <utility>

#include "engine/asks/asks.h"
#include "server/http/check/check_reply.h"
#include "server/http/check/denial_text.h"
#include "server/http/check/forward_auth.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

constexpr int kTooManyRequests = 429;

using DescribedPtr = Pool<DescribedRequest>::Ptr;

// A denial is answered as its rule says, as far as the proxy understands it.
void write_denial(HttpCore& core, const Recipient& to, const AuthTerms& auth,
                  const TemplateValues& values, const Denial& denial, const RateLimit& limit) {
  const bool free_choice = auth.deny == kTooManyRequests;
  const int status = denial.status != 0 && free_choice ? denial.status : auth.deny;
  const DenialText text(denial, values, status);
  core.write(to, {.status = status,
                  .content_type = text.content_type(),
                  .limit = &limit,
                  .fields = text.fields(),
                  .body = text.body()});
}

void write_auth(HttpCore& core, const Recipient& to, const AuthTerms& auth, const Asks& asks,
                const Request& request) {
  const auto shown = most_pressing(asks);
  if (!shown) return core.write(to, {.status = auth.allow, .content_type = {}});

  const Rule& rule = *asks.ask(*shown).rule;
  const Answer& answer = asks.answer(*shown);
  const RateLimit limit = core.styled(limit_of_all(asks, *shown, core.limit_items()), to);
  if (answer.allowed()) {
    return core.write(to, {.status = auth.allow, .content_type = {}, .limit = &limit});
  }
  const TemplateValues values{.rule = rule.id,
                              .key = asks.ask(*shown).key,
                              .decision = answer.decision,
                              .request = request};
  write_denial(core, to, auth, values, rule.denial, limit);
}

// All rules that apply are charged, or none; those in shadow only for what passes.
void decide_auth(HttpCore& core, const Exchange& exchange, const AuthTerms& auth,
                 DescribedPtr described) {
  Request& request = described->request;
  const Instant wall_time = core.engine().wall_time(exchange.now);
  AsksPtr asks = core.begin_asks(exchange, Operation::kSpendAll);
  const auto add = [&](const Rule& rule) {
    PartScratch tier{};
    const Ask ask = ask_about(rule, request, asks->next_key(), tier);
    return (!request.other_paths.empty() && asks->has(ask)) || asks->add(ask);
  };
  if (!core.rules().for_each_match(request, described->match, wall_time, add)) {
    const int status = request.other_paths.empty() ? 500 : 400;  // whose fault it is
    return core.reply_problem(exchange, http_problem(status, "More than 16 limits apply at once."));
  }
  core.decide(
      std::move(asks), exchange,
      [&core, auth, described = std::move(described)](const Recipient& to, const Asks& decided) {
        write_auth(core, to, auth, decided, described->request);
      });
}

}  // namespace

void handle_auth(HttpCore& core, Exchange& exchange) {
  std::optional<AuthTerms> terms;
  if (const auto problem = read_auth_terms(exchange.path, exchange.query, terms)) {
    return core.reply_problem(exchange, *problem);
  }
  DescribedPtr described = core.take_described();
  const AuthCall call{.method = exchange.head.method_text,
                      .path = exchange.path,
                      .query = exchange.query,
                      .headers = headers_of(exchange, described->headers),
                      .peer = exchange.peer};
  const TrustedProxies& trusted = core.node().options().trusted_proxies;
  if (const auto problem = read_forwarded_request(call, *terms, trusted, *described)) {
    return core.reply_problem(exchange, *problem);
  }
  const auto repeated = core.rules().repeated_header(described->request);
  if (!repeated.empty()) return core.reply_problem(exchange, repeated_field(repeated));
  decide_auth(core, exchange, *terms, std::move(described));
}

}  // namespace weir
