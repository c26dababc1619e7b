// The handler of /auth: whether the request that a proxy holds may pass.

#include <memory>
#include <optional>
#include <utility>

#include "base/pool.h"
#include "engine/asks/asks.h"
#include "gate/denial.h"
#include "gate/gate.h"
#include "server/http/check/check_routes.h"
#include "server/http/check/forward_auth.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

// A request that a proxy holds; reused.
struct HeldRequest {
  ProxyProfile proxy{};
  DescribedRequest described;
};
using HeldPtr = Pool<HeldRequest>::Ptr;

// A denial is answered as its rule says, as far as the proxy understands that.
DenialStatus denials_for(const ProxyProfile& proxy) {
  using enum DenialStatus::Whose;
  return {.status = proxy.deny, .whose = proxy.deny == kTooManyRequests ? kOfRule : kOfHost};
}

void write_auth(HttpCore& core, const Recipient& to, const HeldRequest& held, const Asks& asks) {
  const ProxyProfile& proxy = held.proxy;
  const GateAnswer& said = core.voice().say(asks, to.now);
  const RateLimit* const limit = said.ask == nullptr ? nullptr : &said.limit;
  if (said.allows()) {
    return core.write(to, {.status = proxy.allow, .content_type = {}, .limit = limit});
  }
  const DenialText denial(said, held.described.request, denials_for(proxy));
  core.write(to, {.status = denial.status(),
                  .content_type = denial.content_type(),
                  .limit = limit,
                  .fields = denial.fields(),
                  .body = denial.body()});
}

// Charges all rules that apply, or none; rules in shadow only for requests that pass.
void decide_auth(HttpCore& core, const Exchange& exchange, HeldPtr held) {
  AsksPtr asks = core.begin_asks(exchange, Operation::kSpendAll);
  asks->answer_denials(denials_for(held->proxy));
  const auto refusal =
      ask_rules(core.rules(), held->described, core.engine().wall_time(exchange.now), *asks,
                [](const Ask&) { return true; });
  if (refusal) return core.reply_problem(exchange, problem_of(*refusal));
  core.decide(std::move(asks), exchange,
              [&core, held = std::move(held)](const Recipient& to, const Asks& decided) {
                write_auth(core, to, *held, decided);
              });
}

void answer(HttpCore& core, Pool<HeldRequest>& pool, const Exchange& exchange) {
  HeldPtr held = pool.take();
  if (const auto problem = read_profile(exchange.path, exchange.query, held->proxy)) {
    return core.reply_problem(exchange, *problem);
  }
  DescribedRequest& described = held->described;
  described.headers.assign(exchange.headers.begin(), exchange.headers.end());
  const AuthCall call{.method = exchange.head.method_text,
                      .path = exchange.path,
                      .query = exchange.query,
                      .headers = described.headers,
                      .peer = exchange.peer,
                      .is_printable = exchange.head.is_printable};
  const TrustedProxies& trusted = core.node().options().trusted_proxies;
  if (const auto problem = read_forwarded_request(call, held->proxy, trusted, described)) {
    return core.reply_problem(exchange, *problem);
  }
  decide_auth(core, exchange, std::move(held));
}

}  // namespace

void add_auth_route(HttpCore& core) {
  core.routes().add({kAnyMethod, "/auth", RouteAccess::kAnybody,
                     [&core, pool = std::make_shared<Pool<HeldRequest>>()](
                         const Exchange& exchange) { answer(core, *pool, exchange); }});
}

}  // namespace weir
