// The handlers of the console's files: its page at /, for those who prefer HTML, and what the
// page loads from /console/{name}.
//
// The files are the same for everybody and say nothing of this node: whoever may not see more
// is asked for the token by the page.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/name_value.h"
#include "server/http/access.h"
#include "server/http/admin/media_range.h"
#include "server/http/console/console_handlers.h"
#include "server/http/console/content_coding.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

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
  for (const Coded& form : {brotli, gzip}) {
    if (!form.bytes.empty() && accepts_coding(accept_encoding, form.coding)) return form;
  }
  return {.coding = {}, .bytes = asset.plain};
}

// Whether one of the tags that a client has is this one. Weak or not is the same to it.
bool has_tag(std::string_view if_none_match, std::string_view tag) {
  while (!if_none_match.empty()) {
    std::string_view one = trim_blanks(take_until(if_none_match, ','));
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
  }
  return false;
}

void send_asset(HttpCore& core, const Exchange& exchange, const ConsoleAsset& asset, Keep keep) {
  std::vector<NameValue> room;
  const auto sent = headers_of(exchange, room);
  const Coded form = coded(asset, find_header(sent, "accept-encoding").value_or(""));
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
  if (has_tag(find_header(sent, "if-none-match").value_or(""), asset.etag)) {
    return core.reply(exchange, {.status = 304, .content_type = {}, .fields = fields});
  }
  if (!form.coding.empty()) fields.push_back({"Content-Encoding", form.coding});
  core.reply(exchange, {.content_type = asset.type,
                        .fields = fields,
                        .body = form.bytes,
                        .lifetime = Reply::Lifetime::kProgram});
}

// A program that says nothing of what it likes gets what programs read.
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
  add({kGet}, "/console/{name}",
      [assets = options.assets](const Console& here, Exchange& exchange) {
        show_asset(here.core, assets, exchange);
      });
}

}  // namespace weir
