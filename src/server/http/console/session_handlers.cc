// The handler of /console/session: signing in with the admin token, and out.

#include <array>
#include <string>

#include "base/secret.h"
#include "proto/json_writer.h"
#include "server/http/access.h"
#include "server/http/admin/json_body.h"
#include "server/http/console/console_handlers.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr auto kAgeMax_s =
    std::chrono::duration_cast<std::chrono::seconds>(ConsoleSessions::kAgeMax).count();

// Whether the client may use the admin routes, whatever it shows as Authorization: this is no
// place to try tokens.
bool may_use_all(HttpNode& node, AccessClaim claim, Instant now) {
  claim.authorization = {};
  return session_of(node, claim, now) || !access_refusal(node.options().access, claim);
}

void show_session(const Console& console, const Exchange& exchange) {
  HttpNode& node = console.core.node();
  const ServerInfo& info = console.view.info;
  JsonWriter json;
  json.begin_object().key("needed").boolean(node.options().access.admin_token.has_value());
  json.key("signed_in").boolean(may_use_all(node, claim_of(exchange), exchange.now));
  json.key("public").boolean(console.is_public);
  json.key("version").string(info.version);
  json.key("node").string(as_utf8(info.node)).end_object();
  console.core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

void reply_with_cookie(HttpCore& core, const Exchange& exchange, const AccessClaim& claim,
                       std::string_view value) {
  std::string cookie = cookie_name(claim.host) + "=" + std::string(value) +
                       "; HttpOnly; SameSite=Strict; Path=/; Max-Age=" +
                       std::to_string(value.empty() ? 0 : kAgeMax_s);
  // The page came by TLS, to us or to who ends it in front of us.
  if (claim.origin.starts_with("https://")) cookie += "; Secure";
  const std::array<NameValue, 2> fields = {{kNoStore[0], {"Set-Cookie", cookie}}};
  core.reply(exchange, {.status = 204, .content_type = {}, .fields = fields});
}

void sign_in(HttpCore& core, Exchange& exchange, const AccessClaim& claim) {
  HttpNode& node = core.node();
  const auto& expected = node.options().access.admin_token;
  if (!expected || !node.options().chance) {
    return core.reply_problem(exchange, http_problem(409, "This server has no admin token."));
  }
  JsonBody body(exchange.body, {"token"});
  const std::string_view token = body.text("token");
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  // Others wait while this one is compared, which takes as long as it is.
  const bool fits = token.size() <= http1::kHeadMax;
  const auto verdict =
      judge_token(core, exchange, [&] { return fits && equals_secret(token, *expected); });
  if (verdict.is_refused()) return;
  if (!verdict.is_right) {
    return core.reply_problem(exchange, http_problem(401, "This is not the admin token."));
  }
  reply_with_cookie(core, exchange, claim, node.sessions().open(exchange.now));
}

}  // namespace

void handle_session(const Console& console, Exchange& exchange) {
  if (exchange.only_reads()) return show_session(console, exchange);
  HttpCore& core = console.core;
  const AccessClaim claim = claim_of(exchange);
  if (!claim.is_from_own_page()) {
    return core.reply_problem(
        exchange, http_problem(403,
                               "Only the console's own page may do this; it sends the field "
                               "X-Weir-Console: 1."));
  }
  if (exchange.head.method == http1::Method::kPost) return sign_in(core, exchange, claim);
  for (const auto name : claim.sessions) core.node().sessions().close(name);
  reply_with_cookie(core, exchange, claim, {});
}

}  // namespace weir
