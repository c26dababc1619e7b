// The handlers of /console/live, a WebSocket, and /console/live.json, the same for those whose
// proxy breaks WebSockets.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "proto/websocket/handshake.h"
#include "server/http/access.h"
#include "server/http/console/console_handlers.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::array<NameValue, 3> kHowToUpgrade = {
    {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Version", "13"}}};
constexpr std::array<NameValue, 1> kComeAgain = {{{"Retry-After", "5"}}};

// Whether the client may not see the figures: then it has its reply.
bool refuse_figures(const Console& console, Exchange& exchange) {
  return !console.is_public && refuse_access(console.core, exchange);
}

// A page of another origin may not listen here, even to what is public.
bool is_of_other_page(const AccessClaim& claim) {
  return !claim.origin.empty() && !claim.is_from_own_page();
}

// A client that came in by a session stays as long as that lasts.
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
  auto place = console.feed.take_place(is_stranger ? std::optional(caller_of(core, exchange))
                                                   : std::nullopt);
  if (!place || node.draining()) {
    return core.reply_problem(exchange, http_problem(503, "No more consoles can listen here now."),
                              kComeAgain);
  }
  exchange.successor = std::make_unique<LiveSession>(
      console.feed, console.consoles, *std::move(place), std::move(stay), exchange.now);
  exchange.after = AfterReply::kStay;
  const std::array<NameValue, 3> fields = {
      {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", accept}}};
  core.reply(exchange, {.status = 101, .content_type = {}, .fields = fields});
}

}  // namespace

void open_live(const Console& console, Exchange& exchange) {
  HttpCore& core = console.core;
  std::vector<NameValue> room;
  const auto fields = headers_of(exchange, room);
  const auto handshake = websocket::shake_hands(exchange.head, fields);
  if (const auto* refusal = std::get_if<http1::Refusal>(&handshake)) {
    const bool lacks_upgrade = refusal->status == 426;
    return core.reply_problem(
        exchange, http_problem(refusal->status, refusal->detail),
        lacks_upgrade ? std::span<const NameValue>(kHowToUpgrade) : std::span<const NameValue>());
  }
  if (refuse_figures(console, exchange)) return;
  const AccessClaim claim = read_claim(exchange.head, fields);
  if (is_of_other_page(claim)) {
    return core.reply_problem(exchange,
                              http_problem(403, "A page of another origin may not listen here."));
  }
  upgrade(console, exchange, claim, std::get<websocket::Accepted>(handshake).key);
}

void show_live_json(const Console& console, Exchange& exchange) {
  HttpCore& core = console.core;
  if (refuse_figures(console, exchange)) return;
  LiveFeed& feed = console.feed;
  const auto asked = query_value(exchange.query, "seconds");
  if (!asked) {
    const LiveMessagePtr message = feed.message();
    return core.reply(exchange, {.fields = kNoStore, .body = message->json()});
  }
  const auto seconds = read_decimal<std::size_t>(*asked);
  if (!seconds || *seconds == 0) {
    return core.reply_problem(exchange, invalid_field("seconds", "a whole number from 1 up"));
  }
  const std::string history = feed.history(*seconds);
  core.reply(exchange, {.fields = kNoStore, .body = history});
}

}  // namespace weir
