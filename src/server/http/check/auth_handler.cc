// The handler of /auth: may the request that a proxy holds pass?

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/asks.h"
#include "server/http/check/check_reply.h"
#include "server/http/check/forward_auth.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

constexpr int kTooManyRequests = 429;
constexpr const char* kTooManyText = "Too many requests.";

using DescribedPtr = Pool<DescribedRequest>::Ptr;

// The ask that the client should learn about: none of a rule in shadow.
std::optional<std::size_t> most_pressing(const Asks& asks) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const Answer& answer = asks.answer(i);
    if (asks.ask(i).rule->shadow || answer.cause == Answer::Cause::kNotCounted) continue;
    if (!found || presses_more(answer.decision, asks.answer(*found).decision)) found = i;
  }
  return found;
}

// The fields that a rule adds to its denials, with the values that they have for one.
class DenialFields {
 public:
  DenialFields(const Denial& denial, const TemplateValues& values) {
    texts_.resize(denial.headers.size());
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      denial.headers[i].value.append(values, Escape::kHeader, texts_[i]);
      fields_.push_back({.name = denial.headers[i].name, .value = texts_[i]});
    }
  }
  std::span<const NameValue> fields() const { return fields_; }

 private:
  std::vector<std::string> texts_;
  std::vector<NameValue> fields_;
};

// A denial is answered as its rule says, as far as the proxy understands it.
void write_denial(HttpCore& core, const Recipient& to, const AuthTerms& auth,
                  const TemplateValues& values, const Denial& denial, const RateLimit& limit) {
  const DenialFields own(denial, values);
  const bool free_choice = auth.deny == kTooManyRequests;
  Reply reply{.status = denial.status != 0 && free_choice ? denial.status : auth.deny,
              .content_type = kProblemContentType,
              .limit = &limit,
              .fields = own.fields()};
  std::string body;
  if (denial.body) {
    denial.body->append(values, escape_for(denial.content_type), body);
    reply.content_type = denial.content_type;
    reply.body = body;
  } else if (reply.status == kTooManyRequests) {
    // The one that attackers get, so it is made once.
    static const std::string kTooMany = to_json(http_problem(kTooManyRequests, kTooManyText));
    reply.body = kTooMany;
  } else {
    body = to_json(http_problem(reply.status, kTooManyText));
    reply.body = body;
  }
  core.write(to, reply);
}

void write_auth(HttpCore& core, const Recipient& to, const AuthTerms& auth, const Asks& asks,
                const Request& request) {
  const auto shown = most_pressing(asks);
  if (!shown) return core.write(to, {.status = auth.allow, .content_type = {}});

  const Rule& rule = *asks.ask(*shown).rule;
  const Answer& answer = asks.answer(*shown);
  const RateLimit limit = limit_of(asks.ask(*shown), answer);
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
  for (const Rule* rule : core.rules().match(request, described->match, wall_time)) {
    PartScratch tier{};
    if (asks->add(ask_about(*rule, request, core.key_scratch(), tier))) continue;
    return core.reply_problem(exchange, http_problem(500, "More than 16 limits apply at once."));
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
