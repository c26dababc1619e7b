// The handlers of /admin/tenants: show and change one key's values in place of its rules' limits,
// and load many rows.

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/decimal.h"
#include "base/percent.h"
#include "engine/tenants/tenant_table.h"
#include "proto/json_writer.h"
#include "rulebook/tenants/tenant_desk.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/admin/if_match.h"
#include "server/http/admin/late_outcome.h"
#include "server/http/admin/shared_json.h"
#include "server/http/check/json_body.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

using Kind = TenantChange::Kind;

void write_terms(JsonWriter& json, const TenantTerms& terms) {
  if (!terms.plan.empty()) {
    json.field("plan", terms.plan);
  } else {
    json.field("limit", terms.limit);
    if (terms.window > Duration{0}) json.field("window", terms.window);
  }
  if (terms.anchor > 0) json.field("anchor", terms.anchor);
}

// Does not write the brace at the end.
JsonWriter begun(const TenantView& view) {
  JsonWriter json;
  json.begin_object().field("version", view.version).field("rows", view.table->size());
  if (view.is_told) json.field("told", *view.is_told);
  return json;
}

void show_table(HttpCore& core, const TenantDesk& desk, const Exchange& exchange) {
  const TenantView view = desk.view();
  JsonWriter json = begun(view);
  json.field("plans", view.table->plans()).field("bytes", view.table->bytes());
  if (view.lost) {
    json.key("lost").begin_object().field("rows", view.lost->rows);
    json.field("since", view.lost->since).field("version", view.lost->version).end_object();
  }
  json.end_object();
  core.reply(exchange, {.fields = VersionFields(view.tag(), {}), .body = json.text()});
}

void show_tenant(HttpCore& core, const TenantDesk& desk, const Exchange& exchange,
                 const std::string& key) {
  const TenantView view = desk.view();
  const auto terms = view.table->find(key);
  const VersionFields fields(view.tag(), {});
  if (!terms) {
    return core.reply_problem(
        exchange, http_problem(404, "This key is not in the table of tenants."), fields);
  }
  JsonWriter json;
  json.begin_object().field("key", as_utf8(key));
  write_terms(json, *terms);
  json.field("version", view.version).end_object();
  core.reply(exchange, {.fields = fields, .body = json.text()});
}

// "3" of "of": which part of a load. All three may be missing.
std::optional<Problem> read_part(std::string_view query, TenantChange& change) {
  const auto load = query_value(query, "load");
  const auto part = query_value(query, "part");
  const auto of = query_value(query, "of");
  if (!load && !part && !of) return std::nullopt;
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  if (!load || load->empty() || load->size() > 64 || !std::ranges::all_of(*load, is_plain)) {
    return invalid_field("load", "a name of up to 64 letters, digits and hyphens");
  }
  const auto number_in = [](const std::optional<std::string>& text) {
    return read_decimal<std::size_t>(text.value_or("")).value_or(0);
  };
  change.part = {.load = *load, .number = number_in(part), .of = number_in(of)};
  if (change.part->of == 0 || change.part->of > TenantChange::kPartsMax) {
    return invalid_field("of", "how many parts there are, from 1 to 1024");
  }
  if (change.part->number == 0 || change.part->number > change.part->of) {
    return invalid_field("part", "which part this is, from 1 to 'of'");
  }
  return std::nullopt;
}

void write_outcome(HttpCore& core, const Recipient& to, const TenantReply& reply) {
  const VersionFields fields(reply.view.tag(), reply.retry_after);
  if (is_refusal(reply.outcome)) {
    return core.write_problem(to, http_problem(status_of(reply.outcome), as_utf8(reply.detail)),
                              fields);
  }
  JsonWriter json = begun(reply.view);
  if (reply.waiting > 0) json.field("waiting", reply.waiting);
  json.end_object();
  core.write(to, {.status = status_of(reply.outcome), .fields = fields, .body = json.text()});
}

void make_change(HttpCore& core, TenantDesk& desk, const Exchange& exchange, TenantChange change) {
  const TenantView view = desk.view();
  IfMatch match = read_if_match(exchange.headers, view.tag());
  if (match.is_malformed) {
    return core.reply_problem(
        exchange, http_problem(412, "If-Match must be what ETag was, with its quotes."));
  }
  if (match.is_any && change.kind == Kind::kPut && !view.table->find(change.key)) {
    return core.reply_problem(exchange,
                              http_problem(412, "This key has no row, and If-Match: * wants one."));
  }
  change.if_tag = std::move(match.tag);
  if (const auto problem = read_part(exchange.query, change)) {
    return core.reply_problem(exchange, *problem);
  }
  change.who = exchange.peer ? exchange.peer->to_string() : "a Unix socket";
  change.text = exchange.body.view();
  answer_later<TenantReply>(
      core, exchange,
      [&](TenantDesk::Done done) { desk.change(std::move(change), std::move(done)); },
      [&core](const Recipient& to, const TenantReply& reply) { write_outcome(core, to, reply); });
}

// The fields of a body. It may be a row as an answer showed it.
JsonBody body_of(const Exchange& exchange) {
  switch (exchange.head.method) {
    case http1::Method::kPost: return {exchange.body.view(), {"key"}};
    case http1::Method::kPut:
      return {exchange.body.view(), {"key", "plan", "limit", "window", "anchor", "version"}};
    default: return {exchange.body.view(), {"key", "version"}};
  }
}

// The row's key, and the version of the table that the change is meant for. The reader of rows
// judges the rest.
std::optional<Problem> read_whose(const Exchange& exchange, TenantChange& change) {
  JsonBody body = body_of(exchange);
  if (body.has("version")) change.if_version = body.number("version", 0);
  if (change.key.empty()) {
    change.key = body.text("key");
  } else if (body.has("key") && body.text("key") != as_utf8(change.key)) {
    body.reject("key", "the key of the address, or none");
  }
  return body.problem();
}

// `key`: from the path; empty: the body has it, which keeps it out of logs of paths.
void serve_tenant(HttpCore& core, TenantDesk& desk, const Exchange& exchange, std::string key) {
  using enum http1::Method;
  const auto method = exchange.head.method;
  TenantChange change{.kind = method == kPut ? Kind::kPut : Kind::kRemove, .key = std::move(key)};
  const bool has_body = method == kDelete && exchange.body.size > 0;
  if (change.key.empty() || method == kPut || has_body) {
    const auto problem = read_whose(exchange, change);
    if (problem) return core.reply_problem(exchange, *problem);
  }
  if (exchange.only_reads() || method == kPost) {
    return show_tenant(core, desk, exchange, change.key);
  }
  make_change(core, desk, exchange, std::move(change));
}

// Refuses a % that begins no byte: the row would be of a key that no client sends.
void serve_named_tenant(HttpCore& core, TenantDesk& desk, const Exchange& exchange) {
  const auto key = percent_decoded(exchange.id, [](char c) { return c != '%'; });
  if (!key) {
    return core.reply_problem(
        exchange, http_problem(400,
                               "The key has a % that begins no byte such as %2F; a % itself "
                               "is %25."));
  }
  serve_tenant(core, desk, exchange, *key);
}

}  // namespace

void write_own_terms(JsonWriter& json, const Ask& ask, const Engine& engine,
                     std::span<const Quota> limits) {
  if (ask.rule->overrides.contains(ask.key)) {
    json.field("override", true);
    return;
  }
  if (!ask.rule->has_tenants || engine.tenants == nullptr) return;
  auto terms = engine.tenants->find(ask.key);
  if (!terms) return;
  const bool begins_months = std::ranges::any_of(limits, [&](const Quota& limit) {
    return limit.is_by_calendar() && limit.calendar_unit() == CalendarUnit::kMonth &&
           limit.first_day() == terms->anchor;
  });
  if (!begins_months) terms->anchor = 0;
  const bool lacks_plan = !terms->plan.empty() && !ask.rule->tiers.contains(terms->plan);
  if (lacks_plan && terms->anchor == 0) return;
  json.key("tenant").begin_object();
  if (lacks_plan) {
    json.field("anchor", terms->anchor);
  } else {
    write_terms(json, *terms);
  }
  json.end_object();
}

void add_tenant_pages(HttpCore& core, TenantDesk& desk) {
  using enum http1::Method;
  core.routes().add({{kGet, kPut, kPatch},
                     "/admin/tenants",
                     RouteAccess::kAdmin,
                     [&core, &desk](const Exchange& exchange) {
                       if (exchange.only_reads()) return show_table(core, desk, exchange);
                       const bool is_all = exchange.head.method == kPut;
                       make_change(core, desk, exchange,
                                   {.kind = is_all ? Kind::kReplace : Kind::kMerge});
                     },
                     {.of_others = "load part of"}});
  core.routes().add(
      {{kDelete}, "/admin/tenants", RouteAccess::kAdmin, [&core, &desk](const Exchange& exchange) {
         if (exchange.body.size > 0) {
           return core.reply_problem(
               exchange, http_problem(400,
                                      "DELETE /admin/tenants takes no body; DELETE /admin/tenant "
                                      "removes the row of the key in its body."));
         }
         make_change(core, desk, exchange, {.kind = Kind::kClear});
       }});
  core.routes().add(
      {{kGet, kPut, kDelete},
       "/admin/tenants/{key}",
       RouteAccess::kAdmin,
       [&core, &desk](const Exchange& exchange) { serve_named_tenant(core, desk, exchange); }});
  core.routes().add(
      {{kPost, kPut, kDelete},
       "/admin/tenant",
       RouteAccess::kAdmin,
       [&core, &desk](const Exchange& exchange) { serve_tenant(core, desk, exchange, {}); }});
}

}  // namespace weir
