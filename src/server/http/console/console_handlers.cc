// The handlers of the console. /console/session signs people in with the admin token, and out.
// /console/live, a WebSocket, sends the news of each second, and /console/live.json the same to
// people whose proxy breaks WebSockets; /console/history tells of the last day. / and
// /console/{name} are the console's page and its files.
//
// The files are the same for everybody and say nothing of this node: the page asks a visitor who
// may not see more for the token.

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/name_value.h"
#include "base/secret.h"
#include "proto/json_writer.h"
#include "proto/websocket/handshake.h"
#include "server/http/access.h"
#include "server/http/admin/media_range.h"
#include "server/http/check/json_body.h"
#include "server/http/console/console_routes.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

struct Console : ConsoleParts {
  HttpCore& core;
  bool is_public;
};

constexpr auto kAgeMax_s =
    std::chrono::duration_cast<std::chrono::seconds>(ConsoleSessions::kAgeMax).count();

// Whether the client may use the admin routes, whatever its Authorization: this is no place to try
// tokens.
bool may_use_all(HttpNode& node, AccessClaim claim, Instant now) {
  claim.authorization = {};
  return session_of(node, claim, now) || !access_refusal(node.options().access, claim);
}

void show_session(const Console& console, const Exchange& exchange) {
  HttpNode& node = console.core.node();
  const ServerInfo& info = console.view.info;
  JsonWriter json;
  json.begin_object().field("needed", node.options().access.admin_token.has_value());
  json.field("signed_in", may_use_all(node, claim_of(exchange), exchange.now));
  json.field("public", console.is_public).field("version", info.version);
  json.field("node", info.node).end_object();
  console.core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

void reply_with_cookie(HttpCore& core, const Exchange& exchange, const AccessClaim& claim,
                       std::string_view value) {
  std::string cookie = cookie_name(claim.host) + "=" + std::string(value) +
                       "; HttpOnly; SameSite=Strict; Path=/; Max-Age=" +
                       std::to_string(value.empty() ? 0 : kAgeMax_s);
  // The page came by TLS, to us or to a proxy in front of us.
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
  JsonBody body(exchange.body.view(), {"token"});
  const std::string_view token = body.text("token");
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  // Others wait while this token is compared, for as long as its length takes.
  const bool fits = token.size() <= http1::kHeadMax;
  const auto verdict =
      judge_token(core, exchange, [&] { return fits && equals_secret(token, *expected); });
  if (verdict.is_refused()) return;
  if (!verdict.is_right) {
    return core.reply_problem(exchange, http_problem(401, "This is not the admin token."));
  }
  reply_with_cookie(core, exchange, claim, node.sessions().open(exchange.now));
}

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

constexpr std::array<NameValue, 3> kHowToUpgrade = {
    {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Version", "13"}}};
constexpr std::array<NameValue, 1> kComeAgain = {{{"Retry-After", "5"}}};

// Whether the client may not see the figures. If so, this has replied.
bool refuse_figures(const Console& console, Exchange& exchange) {
  return !console.is_public && refuse_access(console.core, exchange);
}

// A page of another origin may not listen here, not even to public figures.
bool is_of_other_page(const AccessClaim& claim) {
  return !claim.origin.empty() && !claim.is_from_own_page();
}

// A client that came in by a session may stay as long as the session lasts.
LiveSession::MayStay may_stay(HttpNode& node, const AccessClaim& claim, Instant now) {
  const auto session = session_of(node, claim, now);
  if (!session) return {};
  return [&node, hash = *session](Instant then) { return node.sessions().use(hash, then); };
}

void upgrade(const Console& console, Exchange& exchange, const AccessClaim& claim,
             const std::string& accept) {
  HttpCore& core = console.core;
  HttpNode& node = core.node();
  auto stay = may_stay(node, claim, exchange.now);
  const bool is_stranger = console.is_public && !stay;
  auto seat =
      console.feed.take_seat(is_stranger ? std::optional(caller_of(core, exchange)) : std::nullopt);
  if (!seat || node.draining()) {
    return core.reply_problem(exchange, http_problem(503, "No more consoles can listen here now."),
                              kComeAgain);
  }
  exchange.successor = std::make_unique<LiveSession>(std::move(seat), console.consoles,
                                                     std::move(stay), exchange.now);
  exchange.after = AfterReply::kStay;
  const std::array<NameValue, 3> fields = {
      {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", accept}}};
  core.reply(exchange, {.status = 101, .content_type = {}, .fields = fields});
}

void open_live(const Console& console, Exchange& exchange) {
  HttpCore& core = console.core;
  const auto handshake = websocket::shake_hands(exchange.head, exchange.headers);
  if (!handshake) {
    const http1::Refusal& refusal = handshake.error();
    const bool lacks_upgrade = refusal.status == 426;
    return core.reply_problem(
        exchange, http_problem(refusal.status, refusal.detail),
        lacks_upgrade ? std::span<const NameValue>(kHowToUpgrade) : std::span<const NameValue>());
  }
  if (refuse_figures(console, exchange)) return;
  const AccessClaim claim = read_claim(exchange.head, exchange.headers);
  if (is_of_other_page(claim)) {
    return core.reply_problem(exchange,
                              http_problem(403, "A page of another origin may not listen here."));
  }
  upgrade(console, exchange, claim, *handshake);
}

void show_live_json(const Console& console, Exchange& exchange) {
  HttpCore& core = console.core;
  if (refuse_figures(console, exchange)) return;
  const LiveMessagePtr message = console.feed.message();
  core.reply(exchange, {.fields = kNoStore, .body = message->json()});
}

struct NamedSpan {
  std::string_view name;
  std::chrono::seconds span;
};
constexpr std::array<NamedSpan, 4> kSpans = {
    {{"1m", 1min}, {"10m", 10min}, {"1h", 1h}, {"24h", 24h}}};

void show_past_figures(const Console& console, Exchange& exchange) {
  HttpCore& core = console.core;
  if (refuse_figures(console, exchange)) return;
  const auto asked = query_value(exchange.query, "span").value_or("10m");
  const auto* const found = std::ranges::find(kSpans, asked, &NamedSpan::name);
  if (found == kSpans.end()) {
    return core.reply_problem(exchange, invalid_field("span", "one of 1m, 10m, 1h and 24h"));
  }
  const auto id = query_value(exchange.query, "rule");
  const RuleNumber rule =
      id ? console.view.traffic.rules().number_with(rule_hash(*id)) : kNoRuleNumber;
  if (id && rule == kNoRuleNumber) {
    return core.reply_problem(exchange, http_problem(404, "There is no rule of this id."));
  }
  const std::string history =
      id ? console.feed.history(found->span, rule) : console.feed.history(found->span);
  core.reply(exchange, {.fields = kNoStore, .body = history});
}

constexpr std::string_view kPageName = "index.html";

// No file of another origin, no script or style within the page, no frame around it.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'";

constexpr std::array<NameValue, 1> kIndexVaries = {{{"Vary", "Accept"}}};

using Assets = std::span<const ConsoleAsset>;

const ConsoleAsset* find_asset(Assets assets, std::string_view name) {
  const auto found = std::ranges::find(assets, name, &ConsoleAsset::name);
  return found == assets.end() ? nullptr : &*found;
}

// How long a browser keeps a file: for ever where the name changes with the content.
enum class Keep : std::uint8_t { kForEver, kUntilAsked };

struct Coded {
  std::string_view coding;  // empty: none
  std::string_view bytes;
};

Coded coded(const ConsoleAsset& asset, std::string_view accept_encoding) {
  const Coded brotli{.coding = "br", .bytes = asset.brotli};
  const Coded gzip{.coding = "gzip", .bytes = asset.gzip};
  // Without the field, only "identity" is sure to be understood.
  for (const Coded& form : {brotli, gzip}) {
    const bool is_taken = !accept_encoding.empty() && quality_of(accept_encoding, form.coding) > 0;
    if (is_taken && !form.bytes.empty()) return form;
  }
  return {.coding = {}, .bytes = asset.plain};
}

// Whether one of the client's tags is this one, weak or not.
bool has_tag(std::string_view if_none_match, std::string_view tag) {
  while (!if_none_match.empty()) {
    std::string_view one = trim_blanks(take_until(if_none_match, ','));
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
  }
  return false;
}

void send_asset(HttpCore& core, const Exchange& exchange, const ConsoleAsset& asset, Keep keep) {
  const Coded form = coded(asset, exchange.field("accept-encoding"));
  // Weak, as all codings of a file have it.
  const std::string etag = "W/" + std::string(asset.etag);
  const bool is_page = keep == Keep::kUntilAsked;
  std::vector<NameValue> fields = {
      {"ETag", etag},
      {"Cache-Control", is_page ? "no-cache" : "public, max-age=31536000, immutable"},
      {"Vary", is_page ? "Accept, Accept-Encoding" : "Accept-Encoding"},
      {"X-Content-Type-Options", "nosniff"}};
  if (is_page) {
    fields.push_back({"Content-Security-Policy", kContentSecurityPolicy});
    fields.push_back({"Referrer-Policy", "no-referrer"});
  }
  if (has_tag(exchange.field("if-none-match"), asset.etag)) {
    return core.reply(exchange, {.status = 304, .content_type = {}, .fields = fields});
  }
  if (!form.coding.empty()) fields.push_back({"Content-Encoding", form.coding});
  core.reply(exchange, {.content_type = asset.type,
                        .fields = fields,
                        .body = form.bytes,
                        .lifetime = Reply::Lifetime::kProgram});
}

// A program that says no preference gets JSON.
bool prefers_page(std::string_view accept) {
  return quality_of(accept, "text/html") > quality_of(accept, "application/json");
}

void show_asset(HttpCore& core, Assets assets, const Exchange& exchange) {
  const bool is_page = exchange.id == kPageName;
  const ConsoleAsset* const asset = is_page ? nullptr : find_asset(assets, exchange.id);
  if (asset == nullptr) {
    return core.reply_problem(exchange, http_problem(404,
                                                     "The console has no file of this name; "
                                                     "reload its page, /."));
  }
  send_asset(core, exchange, *asset, Keep::kForEver);
}

void show_index(HttpCore& core, const ConsoleAsset* page, const Exchange& exchange) {
  if (page != nullptr && prefers_page(exchange.head.accept)) {
    if (refuse_host(core, exchange)) return;
    return send_asset(core, exchange, *page, Keep::kUntilAsked);
  }
  core.reply(exchange, {.fields = kIndexVaries,
                        .body = R"({"service":"weir","health":"/health","metrics":"/metrics",)"
                                R"("check":"POST /check","openapi":"/openapi.json"})"});
}

}  // namespace

void add_index_route(HttpCore& core, const ConsoleOptions& options) {
  const auto* const page = options.is_on() ? find_asset(options.assets, kPageName) : nullptr;
  core.routes().add(
      {{http1::Method::kGet}, "/", RouteAccess::kAnybody, [&core, page](const Exchange& exchange) {
         show_index(core, page, exchange);
       }});
}

void add_console_routes(HttpCore& core, const ConsoleOptions& options, const ConsoleParts& parts) {
  using enum http1::Method;
  if (!options.is_on()) return;
  const Console console{parts, core, options.use == ConsoleOptions::Use::kPublic};
  const auto add = [&](MethodSet methods, std::string_view path, auto handle) {
    core.routes().add({methods, path, RouteAccess::kConsole,
                       [console, handle](Exchange& exchange) { handle(console, exchange); }});
  };
  add({kGet, kPost, kDelete}, "/console/session", handle_session);
  add({kGet}, "/console/live", open_live);
  add({kGet}, "/console/live.json", show_live_json);
  add({kGet}, "/console/history", show_past_figures);
  add({kGet}, "/console/{name}",
      [assets = options.assets](const Console& here, Exchange& exchange) {
        show_asset(here.core, assets, exchange);
      });
}

}  // namespace weir
