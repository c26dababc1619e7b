// The handlers of /admin/rules and /admin/history: shows the rules in force, changes one, tries one
// that somebody is still writing, shows what has changed, and goes back.

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/duration_text.h"
#include "config/rules/rule_words.h"
#include "proto/json_writer.h"
#include "rulebook/rule_desk.h"
#include "rulebook/rule_text.h"
#include "rules/promise.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/admin/if_match.h"
#include "server/http/admin/late_outcome.h"
#include "server/http/admin/shared_json.h"
#include "server/http/check/check_ask.h"
#include "server/http/check/json_body.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

using enum ChangeOutcome;

constexpr Duration kDryRunMin = std::chrono::seconds(1);
constexpr Duration kDryRunMax = std::chrono::hours(24);

constexpr std::string_view kOriginNames[] = {"file", "request", "envoy"};

std::string_view raw_or_null(std::string_view json) { return json.empty() ? "null" : json; }

struct Pages {
  HttpCore& core;
  RuleDesk& desk;
  const RuleSwitches* switches;  // may be null
};

// Does not write the brace at the end.
void write_rule(JsonWriter& json, const Pages& pages, const RuleView& rule, Instant now) {
  json.begin_object().field("id", rule.id);
  json.field("origin", kOriginNames[static_cast<std::size_t>(rule.origin)]);
  json.key("rule").raw(raw_or_null(rule.json));
  const Rule* const in_force = pages.core.rules().find(rule.id);
  if (in_force != nullptr && may_switch(*in_force)) {
    write_following(json.key("following"), pages.switches, rule.id, now);
  }
  if (in_force != nullptr && in_force->active) {
    json.field("in_force", in_force->in_force(pages.core.engine().wall_time(now)));
  }
}

// Limits are in the order of the words: the rule's own, then those of its tiers.
void write_words(JsonWriter& json, const Rule& rule, RuleWords words, const Engine& engine,
                 Instant now) {
  const std::string_view unbounded = why_unbounded(rule);
  if (rule.effect == Rule::Effect::kLimit && !unbounded.empty()) {
    words.limits += ", without a bound: " + std::string(unbounded);
  } else if (rule.effect == Rule::Effect::kLimit) {
    const Mode mode = engine.mode_for(rule.mode);
    words.limits += off_text(rule, [&](const Quota& limit) {
      Off off{promise_of(limit, mode, sharing_of(engine, rule, limit, now))};
      if (const auto precise = precise_promise_of(engine, rule, limit)) {
        off.aside = " (precise keys " + std::to_string(precise->over) + ", give or take " +
                    rounded_duration(precise_grain(limit)) + ")";
      }
      return off;
    });
    if (mode != Mode::kLocal) words.limits += " while Redis answers";
    words.limits += bounded_keys(rule);
  }
  json.begin_object().field("requests", words.requests).field("key", words.key);
  json.field("limits", words.limits).field("denial", words.denial).end_object();
}

void show_rule(const Pages& pages, const Exchange& exchange, std::string_view id) {
  HttpCore& core = pages.core;
  const auto view = pages.desk.view();
  for (const RuleView& rule : view->rules) {
    if (rule.id != id) continue;
    JsonWriter json;
    write_rule(json, pages, rule, exchange.now);
    json.field("version", view->version);
    if (const Rule* const known = core.rules().find(id); known != nullptr) {
      if (!known->active) json.field("in_force", known->enabled);
      const Instant wall = core.engine().wall_time(exchange.now);
      const auto next = known->active && known->enabled && !known->in_force(wall)
                            ? known->active->next(wall)
                            : std::nullopt;
      if (next) json.field("in_force_at", utc_text(CoreDenials::second_of(*next)));
      write_over_now(json, over_now_of(core.engine(), *known, exchange.now));
      const ErrorBar* const bar = core.engine().error_bar;
      const auto judged = bar == nullptr ? ErrorBar::Tally() : bar->of(known->number);
      if (judged.requests > 0) write_misjudged(json, judged);
      write_words(json.key("words"), *known, words_of(*known, written_rule(rule.json)),
                  core.engine(), exchange.now);
    }
    if (const auto hold = pages.desk.hold()) write_hold(json.key("fleet"), *hold);
    json.end_object();
    return core.reply(exchange, {.fields = VersionFields(view->version), .body = json.text()});
  }
  core.write_problem(exchange, unknown_rule(id, core.rules()), VersionFields(view->version));
}

// Reads for which version of the rules the change is meant.
std::optional<Problem> read_condition(const Exchange& exchange, const RulesView& view,
                                      RuleChange& change) {
  const IfMatch match = read_if_match(exchange.headers, std::to_string(view.version));
  if (match.tag) change.if_version = read_decimal<std::uint64_t>(*match.tag);
  if (match.is_malformed || match.tag.has_value() != change.if_version.has_value()) {
    return http_problem(412, "If-Match must be what ETag was, such as \"7\" with its quotes.");
  }
  const bool is_put = change.kind == RuleChange::Kind::kPut;
  if (match.is_any && is_put && !std::ranges::count(view.rules, change.id, &RuleView::id)) {
    return http_problem(412, "There is no such rule, and If-Match: * wants one.");
  }
  const std::string_view if_none = exchange.field("if-none-match");
  change.if_new = if_none == "*";
  if (!if_none.empty() && !change.if_new) {
    return http_problem(412, "If-None-Match must be *: only if there is no such rule yet.");
  }
  return std::nullopt;
}

// Reads the change that the request wants, or says why it is unclear.
std::optional<Problem> read_change(const Exchange& exchange, RuleChange& change) {
  for (const auto& [name, most, text] : {std::tuple("by", RuleAuthor::kByMax, &change.author.by),
                                         {"why", RuleAuthor::kWhyMax, &change.author.why}}) {
    *text = query_value(exchange.query, name).value_or("");
    if (text->size() <= most) continue;
    return invalid_field(name, "a text of at most " + std::to_string(most) + " bytes");
  }
  const auto persist = query_value(exchange.query, "persist").value_or("false");
  if (persist != "true" && persist != "false") return invalid_field("persist", "true or false");
  if (persist == "true") change.keep = RuleChange::Keep::kInFile;
  switch (exchange.head.method) {
    case http1::Method::kPut: change.text = exchange.body.view(); return std::nullopt;
    case http1::Method::kPatch:
      change.kind = RuleChange::Kind::kPatch;
      change.text = exchange.body.view();
      return std::nullopt;
    case http1::Method::kPost: {
      JsonBody body(exchange.body.view(), {"back_to"});
      change.kind = RuleChange::Kind::kGoBack;
      change.back_to = body.number("back_to");
      return body.problem();
    }
    default: change.kind = RuleChange::Kind::kRemove; return std::nullopt;
  }
}

void write_change(JsonWriter& json, const RuleChange& change, const RuleReply& reply) {
  using enum RuleChange::Kind;
  json.begin_object();
  if (change.kind == kGoBack) {
    json.field("version", reply.version).field("back_to", change.back_to);
  } else {
    json.field("id", change.id).field("version", reply.version);
    json.field("persisted", change.keep == RuleChange::Keep::kInFile);
  }
  if (change.kind == kPut || change.kind == kPatch) json.field("warnings", reply.warnings);
  if (reply.hold) write_hold(json.key("fleet"), *reply.hold);
  json.end_object();
}

Problem problem_of(const HttpCore& core, const RuleChange& change, const RuleReply& reply) {
  const bool is_of_a_rule = change.kind != RuleChange::Kind::kGoBack;
  const bool is_unknown = reply.outcome == kUnknown;
  if (is_unknown && is_of_a_rule) return unknown_rule(change.id, core.rules());
  return http_problem(status_of(reply.outcome), as_utf8(reply.detail));
}

void write_outcome(HttpCore& core, const Recipient& to, const RuleChange& change,
                   const RuleReply& reply) {
  const VersionFields fields(reply.version);
  if (is_refusal(reply.outcome)) {
    return core.write_problem(to, problem_of(core, change, reply), fields);
  }
  JsonWriter json;
  write_change(json, change, reply);
  core.write(to, {.status = status_of(reply.outcome), .fields = fields, .body = json.text()});
}

void make_change(const Pages& pages, const Exchange& exchange, RuleChange change) {
  HttpCore& core = pages.core;
  change.author.who = exchange.peer ? exchange.peer->to_string() : "a Unix socket";
  auto problem = read_condition(exchange, *pages.desk.view(), change);
  if (!problem) problem = read_change(exchange, change);
  if (problem) return core.reply_problem(exchange, *problem);
  answer_later<RuleReply>(
      core, exchange,
      [&](RuleDesk::Done done) { pages.desk.change(change, std::move(done), exchange.now); },
      [&core, change](const Recipient& to, const RuleReply& outcome) {
        write_outcome(core, to, change, outcome);
      });
}

// Writes the fields, without the braces.
void write_version(JsonWriter& json, const Engine& engine, const RuleVersion& version,
                   Instant now) {
  json.field("version", version.version);
  json.field("at", utc_text(CoreDenials::second_of(engine.wall_time(version.when))));
  json.field("seconds_ago", now - version.when);
  json.field("origin", kOriginNames[static_cast<std::size_t>(version.origin)]);
  const auto& [who, by, why] = version.author;
  if (!who.empty()) json.field("who", who);
  if (!by.empty()) json.field("by", by);
  if (!why.empty()) json.field("why", why);
}

// The rules in force then, as they were written.
void write_rules_of(JsonWriter& json, const Engine& engine, const RuleVersion& version,
                    Instant now) {
  json.begin_object();
  write_version(json, engine, version, now);
  json.field("changes", version.changes).key("rules").begin_array();
  for (const RuleSource& rule : version.rules) {
    json.begin_object().field("id", rule.id).key("rule").raw(rule.json).end_object();
  }
  json.end_array().end_object();
}

// For one rule only: the versions that changed it, and the rule in each.
void write_history(JsonWriter& json, const Engine& engine, const RuleHistory& history,
                   const std::optional<std::string>& rule, Instant now) {
  const auto text_in = [&](auto version) {
    if (!rule || version == history.rend()) return std::string_view();
    const auto found = std::ranges::find((*version)->rules, *rule, &RuleSource::id);
    return found == (*version)->rules.end() ? std::string_view() : std::string_view(found->json);
  };
  json.begin_object().key("history").begin_array();
  std::string_view before = text_in(history.rbegin());
  for (auto version = history.rbegin(); version != history.rend(); ++version) {
    const std::string_view text = std::exchange(before, text_in(std::next(version)));
    if (rule && text == before) continue;
    json.begin_object();
    write_version(json, engine, **version, now);
    auto changes = (*version)->changes;
    if (rule) std::erase_if(changes, [&](const auto& line) { return !is_about(line, *rule); });
    json.field("changes", changes);
    if (rule) json.key("rule").raw(raw_or_null(text));
    json.end_object();
  }
  json.end_array().end_object();
}

void show_history(const Pages& pages, const Exchange& exchange) {
  JsonWriter json;
  write_history(json, pages.core.engine(), pages.desk.history(),
                query_value(exchange.query, "rule"), exchange.now);
  pages.core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

void write_count(JsonWriter& json, std::string_view name, const DryRun::Count& count) {
  json.key(name).begin_object().field("requests", count.requests).field("keys", count.keys);
  json.end_object();
}

// Does not write the brace at the end.
void write_outcome(JsonWriter& json, const DryRun::Outcome& outcome) {
  json.begin_object().field("limit", outcome.limit);
  write_count(json, "denied", outcome.denied);
  write_count(json, "spared", outcome.spared);
}

void write_dry_run(JsonWriter& json, const DryRun& run) {
  json.begin_object().field("rule", run.rule);
  if (!run.unknown.empty()) {
    json.field("unknown", run.unknown).end_object();
    return;
  }
  json.field("seconds", run.over).field("one_key_of", run.one_key_of);
  for (const auto& [name, outcome] :
       {std::pair("in_force", &run.in_force), {"wanted", &run.wanted}}) {
    write_outcome(json.key(name), *outcome);
    json.field("too_early", outcome->too_early).end_object();
  }
  write_count(json, "asked", run.asked);
  write_count(json, "newly_denied", run.newly_denied);
  write_count(json, "newly_allowed", run.newly_allowed);
  json.key("curve").begin_array();
  for (const DryRun::Outcome& point : run.curve) {
    write_outcome(json, point);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_verdict(JsonWriter& json, const RuleTrial& trial, const RuleVerdict& verdict) {
  json.begin_object().field("ok", verdict.is_ok()).key("problems").begin_array();
  for (const RuleFinding& finding : verdict.findings) {
    json.begin_object().field("line", finding.line).field("column", finding.column);
    json.field("text", finding.text);
    json.field("warning", finding.weight == RuleFinding::Weight::kWarning).end_object();
  }
  json.end_array().field("changes", verdict.changes).key("json").raw(raw_or_null(verdict.json));
  if (trial.over > Duration{0}) {
    json.key("dry_runs").begin_array();
    for (const DryRun& run : verdict.dry_runs) write_dry_run(json, run);
    json.end_array();
  }
  json.end_object();
}

void show_rules(const Pages& pages, const Exchange& exchange) {
  const auto view = pages.desk.view();
  JsonWriter json;
  json.begin_object().field("version", view->version).key("rules").begin_array();
  for (const RuleView& rule : view->rules) {
    write_rule(json, pages, rule, exchange.now);
    json.end_object();
  }
  json.end_array().field("removed", view->removed).end_object();
  pages.core.reply(exchange, {.fields = VersionFields(view->version), .body = json.text()});
}

void show_version(const Pages& pages, const Exchange& exchange) {
  HttpCore& core = pages.core;
  const auto number = read_decimal<std::uint64_t>(exchange.id);
  const RuleHistory history = pages.desk.history();
  const auto found = std::ranges::find_if(
      history, [&](const auto& version) { return number && version->version == *number; });
  if (found == history.end()) {
    return core.reply_problem(exchange, http_problem(404, "This version is not in the history."));
  }
  JsonWriter json;
  write_rules_of(json, core.engine(), **found, exchange.now);
  core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

void try_rule(const Pages& pages, const Exchange& exchange) {
  HttpCore& core = pages.core;
  RuleTrial trial{.id = query_value(exchange.query, "id").value_or(""),
                  .text = std::string(exchange.body.view())};
  if (const auto text = query_value(exchange.query, "dry_run")) {
    trial.over = parse_duration(*text).value_or(Duration{0});
    if (trial.over < kDryRunMin || trial.over > kDryRunMax) {
      return core.reply_problem(exchange, invalid_field("dry_run", "a duration from 1s to 1d"));
    }
  }
  answer_later<RuleVerdict>(
      core, exchange,
      [&](RuleDesk::Judged done) { pages.desk.judge(trial, std::move(done), exchange.now); },
      [&core, trial](const Recipient& to, const RuleVerdict& verdict) {
        if (is_refusal(verdict.outcome)) {
          const int status = status_of(verdict.outcome);
          return core.write_problem(to, http_problem(status, as_utf8(verdict.detail)));
        }
        JsonWriter json;
        write_verdict(json, trial, verdict);
        core.write(to, {.fields = kNoStore, .body = json.text()});
      });
}

}  // namespace

void add_rule_pages(HttpCore& core, RuleDesk& desk, const RuleSwitches* switches) {
  using enum http1::Method;
  const Pages pages{core, desk, switches};
  const auto add = [&](MethodSet methods, std::string_view path, auto handle,
                       RouteParameters parameters = {}) {
    core.routes().add({methods, path, RouteAccess::kAdmin,
                       [pages, handle](const Exchange& exchange) { handle(pages, exchange); },
                       parameters});
  };
  add({kGet}, "/admin/rules", show_rules);
  add({kGet, kPut, kPatch, kDelete}, "/admin/rules/{id}",
      [](const Pages& here, const Exchange& exchange) {
        const std::string id = percent_decoded(exchange.id);
        if (exchange.only_reads()) return show_rule(here, exchange, id);
        make_change(here, exchange, {.id = id});
      },
      {.of_others = "persist by why"});
  add({kGet, kPost}, "/admin/history",
      [](const Pages& here, const Exchange& exchange) {
        if (exchange.only_reads()) return show_history(here, exchange);
        make_change(here, exchange, {});
      },
      {.of_get = "rule", .of_others = "persist by why"});
  add({kPost}, "/admin/rules/validate", try_rule, {.of_others = "id dry_run"});
  add({kGet}, "/admin/history/{version}", show_version);
}

}  // namespace weir
