// The handler of /v1/explain: how the rules decide a request, and why. Charges nothing.

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/pool.h"
#include "engine/asks/asks.h"
#include "gate/gate.h"
#include "proto/http/host.h"
#include "proto/json_writer.h"
#include "rules/request/plain_value.h"
#include "rules/request_match.h"
#include "rules/rule_key.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/admin/explained.h"
#include "server/http/admin/shared_json.h"
#include "server/http/check/check_ask.h"
#include "server/http/check/json_body.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr std::size_t kOthersShown = 1'000;

struct Page {
  HttpCore& core;
  const RuleSwitches* switches;  // may be null
  Pool<DescribedRequest> described{};
};

std::string why_missing(const KeyPart& part, PartState state, const Request& request) {
  if (state == PartState::kRepeated) return "it has several values, so none of them counts";
  if (part.property != KeyPart::Property::kClaim) return "the request lacks it";
  if (request.token == TokenVerdict::kCounts) return "the token does not say it";
  return "the token does not count: " + std::string(token_fault(request.token));
}

// The parts of the rule's key that the request lacks, and why it does; empty if it has all.
std::string missing_parts(const Rule& rule, const Request& request) {
  JsonWriter json;
  bool any = false;
  json.begin_array();
  for_each_missing(rule, request, [&](const KeyPart& part, PartState state) {
    std::string name;
    append_name(part, name);
    json.begin_object().field("part", name);
    json.field("because", why_missing(part, state, request)).end_object();
    any = true;
  });
  json.end_array();
  return any ? json.text() : std::string();
}

void write_token(JsonWriter& json, TokenVerdict verdict) {
  if (verdict == TokenVerdict::kUnread) return;
  const bool counts = verdict == TokenVerdict::kCounts;
  json.key("token").begin_object().field("counts", counts);
  if (!counts) json.field("because", token_fault(verdict));
  json.end_object();
}

// The paths that servers may read in this path, if there are several.
void write_readings(JsonWriter& json, std::span<const std::string_view> paths) {
  if (paths.size() > 1) json.field("readings", paths);
}

JsonWriter begun(const HttpCore& core) {
  JsonWriter json;
  const Mode mode = core.engine().mode_for(std::nullopt);
  json.begin_object().field("mode", mode_name(mode)).key("applies").begin_array();
  return json;
}

// These rules' decisions depend on a field that the body lacks.
void write_unknown(JsonWriter& json, std::span<const std::string_view> rules,
                   std::string_view needs) {
  json.key("unknown").begin_array();
  for (const std::string_view rule : rules) {
    json.begin_object().field("rule", rule).field("needs", needs).end_object();
  }
  json.end_array();
}

// All rules that apply, and their decision together.
JsonWriter explained(const Page& page, const Asks& asks, std::span<const std::string> missing,
                     Instant now, bool is_known = true) {
  JsonWriter json = begun(page.core);
  const ExplainedWith with{page.core.engine(), page.switches, now, missing};
  bool passes = true;
  bool sees_all = true;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    write_explained(json, asks, i, with);
    passes = passes && asks.answer(i).allowed();
    sees_all = sees_all && !is_unseen(asks.ask(i), asks.answer(i), with.engine.wall_time(now));
  }
  const std::string_view would = !is_known  ? "unknown"
                                 : !passes  ? "deny"
                                 : sees_all ? "allow"
                                            : "unknown";
  json.end_array().field("would", would);
  return json;
}

// Looks at the counters of one rule.
void explain_one(const Page& page, const Exchange& exchange, const Ask& ask) {
  HttpCore& core = page.core;
  AsksPtr asks = core.begin_asks(exchange, Operation::kLook);
  asks->add(ask);
  core.decide(std::move(asks), exchange, [&page](const Recipient& to, const Asks& decided) {
    JsonWriter json = explained(page, decided, {}, to.now);
    json.end_object();
    page.core.write(to, {.body = json.text()});
  });
}

// Whether the rule has one key, which requests do not change.
bool has_one_key(const Rule& rule) {
  return rule.descriptor ? rule.descriptor->open_entries() == 0
                         : rule.match && rule.key_parts.empty();
}

void explain_rule(const Page& page, const Exchange& exchange, JsonBody& body, std::int64_t cost) {
  HttpCore& core = page.core;
  const std::string_view id = body.text("rule");
  const std::string_view key = body.text_or("key", "");
  const std::string_view tier = body.text_or("tier", "");
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  const Rule* const rule = core.rules().find(id);
  if (rule == nullptr) return core.reply_problem(exchange, unknown_rule(id, core.rules()));
  const auto mistake = body.has("tier") ? unknown_tier(tier, *rule) : std::nullopt;
  if (mistake) return core.reply_problem(exchange, *mistake);
  if (key.empty() && !has_one_key(*rule)) {
    JsonWriter json = begun(core);
    write_unknown(json.end_array().field("would", "unknown"), {&id, 1}, "key");
    json.end_object();
    return core.reply(exchange, {.body = json.text()});
  }
  explain_one(page, exchange, {.rule = rule, .key = key, .tier = tier, .cost = cost});
}

// The entries are in the order in which they are written.
void explain_descriptor(Page& page, const Exchange& exchange, JsonBody& body, std::int64_t cost) {
  HttpCore& core = page.core;
  const std::string_view domain = body.text("domain");
  const auto entries = body.texts("entries");
  if (entries.empty() || entries.size() > Descriptor::kEntriesMax) {
    body.reject("entries", "an object of 1 to 32 texts");
  }
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  const Descriptor descriptor{.domain = domain, .entries = entries};
  const Rule* const rule = core.rules().match(descriptor);
  if (rule == nullptr) {
    const bool known = core.rules().has_domain(domain);
    JsonWriter json = begun(core);
    json.end_array().field("because", known ? "no descriptor leads there" : "no such domain");
    json.end_object();
    return core.reply(exchange, {.body = json.text()});
  }
  std::string key;
  explain_one(page, exchange, {.rule = rule, .key = key_of(*rule, descriptor, key), .cost = cost});
}

// Why the rule is not among those that apply.
std::string_view reason_against(const Rule& rule, const Request& request,
                                const MatchScratch& scratch, Instant wall_time) {
  if (!rule.match) return "it has no 'match'";
  if (!rule.enabled) return "it is disabled";
  const auto failed = failed_condition(*rule.match, request, scratch.regexes);
  if (!failed.empty()) return failed;
  if (!rule.in_force(wall_time)) return "active";
  if (skips(rule, request)) return "its key is missing";
  return "an earlier rule of its group applies";
}

// Whether the rule may decide otherwise for another client, and no client is described.
bool lacks_client(const Rule& rule, const Request& request) {
  if (request.client) return false;
  bool asks = !rule.allow.networks.empty() || !rule.deny.networks.empty();
  for_each_match(*rule.match, [&](const RequestMatch& match) {
    const bool asks_country = !match.countries.empty() && request.country.empty();
    asks = asks || asks_country || !match.clients.empty();
  });
  if (asks || refuses(rule, request) || skips(rule, request)) return asks;
  Request somebodys = request;
  somebodys.client = IpAddress::parse("192.0.2.1");
  std::string key;
  std::string other;
  return key_of(rule, request, key) != key_of(rule, somebodys, other);
}

// Whether the conditions hold that no client can change.
bool may_apply(const Rule& rule, const DescribedRequest& described, Instant wall_time) {
  RequestMatch certain = *rule.match;
  certain.clients.clear();
  certain.countries.clear();
  certain.all_of.clear();
  certain.any_of.clear();
  certain.none_of.clear();
  return rule.in_force(wall_time) && holds(certain, described.request, described.match.regexes);
}

// The other rules, and why they do not apply. Rules of which this is unknown go into `unknown`.
JsonWriter others(const RuleSet& rules, const DescribedRequest& described, const Asks& asks,
                  Instant wall_time, std::vector<std::string_view>& unknown) {
  const auto applies = [&](const Rule& rule) {
    for (std::size_t i = 0; i < asks.size(); ++i) {
      if (asks.ask(i).rule == &rule) return true;
    }
    return false;
  };
  JsonWriter json;
  std::size_t shown = 0;
  json.begin_array();
  for (const Rule& rule : rules.rules()) {
    if (applies(rule)) continue;
    if (rule.match && lacks_client(rule, described.request) &&
        may_apply(rule, described, wall_time)) {
      unknown.push_back(rule.id);
      continue;
    }
    if (shown++ >= kOthersShown) continue;
    json.begin_object()
        .field("rule", rule.id)
        .field("because", reason_against(rule, described.request, described.match, wall_time));
    json.end_object();
  }
  json.end_array();
  return json;
}

// Describes the request in `described`, with texts of the body.
void read_request(JsonBody& body, DescribedRequest& described) {
  described.request = {.method = body.text_or("method", "GET")};
  std::string_view path = body.text("path");
  std::string_view host = body.text_or("host", "");
  const auto of_path = take_host(path);
  host = of_path.value_or(host);
  if (!is_host(host)) {
    body.reject(of_path ? "path" : "host",
                of_path ? "a path, or a URL with one host" : "one host, perhaps with a port");
  }
  if (!set_target(path, host, described)) {
    body.reject("path", "a path of at most 4 readings");
  }
  described.headers = body.texts("headers");
  for (NameValue& header : described.headers) {
    header.value = trim_blanks(header.value);
    if (!is_plain_value(header.value)) {
      body.reject("headers",
                  "texts without control characters or white space beyond ASCII at ends");
    }
  }
  described.request.headers = described.headers;
  if (const std::string_view client = body.text_or("client", ""); !client.empty()) {
    described.request.client = IpAddress::parse(client);
    if (!described.request.client) body.reject("client", "an IP address");
  }
}

void explain_request(Page& page, const Exchange& exchange, JsonBody& body, std::int64_t cost) {
  HttpCore& core = page.core;
  Pool<DescribedRequest>::Ptr described = page.described.take();
  read_request(body, *described);
  if (body.problem()) return core.reply_problem(exchange, *body.problem());

  const Request& request = described->request;
  const Instant wall_time = core.engine().wall_time(exchange.now);
  AsksPtr asks = core.begin_asks(exchange, Operation::kLook);
  std::vector<std::string> missing;
  const auto refusal = ask_rules(core.rules(), *described, wall_time, *asks, [&](Ask& ask) {
    if (lacks_client(*ask.rule, request)) return false;
    ask.cost = cost;
    missing.push_back(missing_parts(*ask.rule, request));
    return true;
  });
  if (refusal) return core.reply_problem(exchange, problem_of(*refusal));
  std::vector<std::string_view> unknown;
  const JsonWriter rest = others(core.rules(), *described, *asks, wall_time, unknown);
  core.decide(std::move(asks), exchange,
              [&page, rest, missing = std::move(missing), described = std::move(described),
               unknown = std::move(unknown)](const Recipient& to, const Asks& decided) {
                JsonWriter json = explained(page, decided, missing, to.now, unknown.empty());
                if (!unknown.empty()) write_unknown(json, unknown, "client");
                write_token(json, described->request.token);
                write_readings(json, described->paths.all());
                json.key("others").raw(rest.text()).end_object();
                page.core.write(to, {.body = json.text()});
              });
}

// A query as the body with the same content: header:X-App=web becomes one of its headers,
// entry:path=/login one of its entries; a cost becomes a number.
json::object described_by(std::string_view query) {
  json::object described;
  for (const auto& [name, value] : query_parameters(query)) {
    const auto colon = name.find(':');
    const std::string_view kind = std::string_view(name).substr(0, colon);
    if (colon == std::string::npos || (kind != "header" && kind != "entry")) {
      const auto number = name == "cost" ? read_decimal<std::int64_t>(value) : std::nullopt;
      described.emplace(name, number ? json::value(*number) : json::value(value));
      continue;
    }
    json::value& group = described[kind == "header" ? "headers" : "entries"];
    if (!group.is_object()) group.emplace_object();
    json::value& values = group.get_object()[name.substr(colon + 1)];
    if (!values.is_array()) values.emplace_array();
    values.get_array().emplace_back(value);
  }
  return described;
}

void explain(Page& page, const Exchange& exchange) {
  HttpCore& core = page.core;
  const JsonBody::Names known = {"rule",    "key",    "tier",   "method",  "path", "host",
                                 "headers", "client", "domain", "entries", "cost"};
  const bool has_body = exchange.head.method == http1::Method::kPost;
  if (!has_body && !is_utf8(percent_decoded(exchange.query))) {
    return core.reply_problem(exchange, http_problem(400, "The query must be valid UTF-8."));
  }
  JsonBody body(
      has_body ? std::string(exchange.body.view()) : json::serialize(described_by(exchange.query)),
      known);
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  const std::uint64_t units = body.has("cost") ? body.number("cost", 0, kCostMax) : 1;
  const auto cost = static_cast<std::int64_t>(units);
  if (body.has("rule")) return explain_rule(page, exchange, body, cost);
  if (body.has("domain")) return explain_descriptor(page, exchange, body, cost);
  explain_request(page, exchange, body, cost);
}

}  // namespace

void add_explain_page(HttpCore& core, const RuleSwitches* switches) {
  const auto page = std::make_shared<Page>(core, switches);
  core.routes().add(
      {{http1::Method::kGet, http1::Method::kPost},
       "/v1/explain",
       RouteAccess::kAdmin,
       [page](const Exchange& exchange) { explain(*page, exchange); },
       {.of_get = "rule key tier method path host client domain cost header: entry:"}});
}

}  // namespace weir
