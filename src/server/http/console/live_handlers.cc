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
#include "server/http/console/console_access.h"
#include "server/http/console/live_session.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::array<NameValue, 3> kHowToUpgrade = {
    {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Version", "13"}}};
constexpr std::array<NameValue, 1> kComeAgain = {{{"Retry-After", "5"}}};

bool is_public(HttpCore& core) {
  return core.node().options().console.use == ConsoleOptions::Use::kPublic;
}

// Whether the client may not see the figures: then it has its reply.
bool refuse_figures(HttpCore& core, Exchange& exchange) {
  return !is_public(core) && core.refuse_access(exchange);
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

void upgrade(HttpCore& core, Exchange& exchange, const AccessClaim& claim,
             const std::string& accept) {
  HttpNode& node = core.node();
  auto stay = may_stay(node, claim, exchange.now);
  const bool is_stranger = is_public(core) && !stay;
  auto place =
      node.live().take_place(is_stranger ? std::optional(core.caller_of(exchange)) : std::nullopt);
  if (!place || node.draining()) {
    return core.reply_problem(exchange, http_problem(503, "No more consoles can listen here now."),
                              kComeAgain);
  }
  exchange.successor = std::make_unique<LiveSession>(
      node.live(), core.consoles(), *std::move(place), std::move(stay), exchange.now);
  exchange.after = AfterReply::kStay;
  const std::array<NameValue, 3> fields = {
      {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", accept}}};
  core.reply(exchange, {.status = 101, .content_type = {}, .fields = fields});
}

}  // namespace

void handle_live(HttpCore& core, Exchange& exchange) {
  std::vector<NameValue> room;
  const auto fields = headers_of(exchange, room);
  const auto handshake = websocket::shake_hands(exchange.head, fields);
  if (const auto* refusal = std::get_if<http1::Refusal>(&handshake)) {
    const bool lacks_upgrade = refusal->status == 426;
    return core.reply_problem(
        exchange, http_problem(refusal->status, refusal->detail),
        lacks_upgrade ? std::span<const NameValue>(kHowToUpgrade) : std::span<const NameValue>());
  }
  if (refuse_figures(core, exchange)) return;
  const AccessClaim claim = read_claim(exchange.head, fields);
  if (is_of_other_page(claim)) {
    return core.reply_problem(exchange,
                              http_problem(403, "A page of another origin may not listen here."));
  }
  upgrade(core, exchange, claim, std::get<websocket::Accepted>(handshake).key);
}

void handle_live_json(HttpCore& core, Exchange& exchange) {
  if (refuse_figures(core, exchange)) return;
  LiveFeed& feed = core.node().live();
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
