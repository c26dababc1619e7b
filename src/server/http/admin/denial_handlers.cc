// The handler of /admin/denials: this node's latest denials, one by one or in groups, as JSON or as
// CSV. It shows keys, paths and clients with show_keys only.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/duration_text.h"
#include "observe/traffic_history.h"
#include "proto/csv_writer.h"
#include "proto/json_writer.h"
#include "rules/named_client.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/admin/media_range.h"
#include "server/http/admin/shared_json.h"
#include "server/http/check/check_ask.h"
#include "server/http/check/json_body.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::size_t kShown = 100;  // unless the request says otherwise
constexpr std::size_t kShownMax = 10'000;
// Seconds since 1970. A smaller number of seconds is a span.
constexpr std::int64_t kFirstSecond = 1'000'000'000;
// A cause that comes again after so long is another event: Redis was lost twice.
constexpr Duration kCausePause = TrafficHistory::kPause;
constexpr unsigned kNetworkBits4 = 24;
constexpr unsigned kNetworkBits6 = 64;

enum class By : std::uint8_t { kRule, kKey, kNetwork, kPath, kCountry, kCause, kNothing };
constexpr std::array<std::string_view, 6> kByNames = {"rule", "key",     "network",
                                                      "path", "country", "cause"};

std::string_view cause_of(const DenialRecord& denial) {
  return kDenialCauses[static_cast<std::size_t>(denial.cause)];
}

std::string_view country_of(const DenialRecord& denial) {
  return {denial.country.data(), denial.country.front() == 0 ? 0u : denial.country.size()};
}

std::string client_of(const DenialRecord& denial) {
  return denial.client == IpAddress() ? std::string() : denial.client.to_string();
}

std::string network_of(const DenialRecord& denial) {
  if (denial.client == IpAddress()) return {};
  const unsigned bits = denial.client.is_v4() ? kNetworkBits4 : kNetworkBits6;
  return denial.client.network(bits).to_string() + "/" + std::to_string(bits);
}

struct Wanted {
  std::optional<RuleNumber> rule{};
  std::vector<std::uint64_t> hashes{};  // of the key; empty: any
  std::optional<std::string> path{};    // if it ends in '*': all paths that begin so
  std::optional<std::string> country{};
  std::optional<DenialDoor> door{};
  std::int64_t first = 0;  // seconds since 1970
  std::int64_t last = 0;
  std::size_t limit = kShown;
  By by = By::kNothing;

  bool wants(const DenialRecord& denial) const {
    if (rule && denial.rule != *rule) return false;
    if (door && denial.door != *door) return false;
    if (country && !equal_ignoring_case(country_of(denial), *country)) return false;
    if (path && !wants_path(denial.path)) return false;
    return hashes.empty() || std::ranges::find(hashes, denial.key_hash) != hashes.end();
  }
  bool wants_path(std::string_view known) const {
    if (!path->ends_with('*')) return known == CoreDenials::kept(*path);
    return known.starts_with(CoreDenials::kept({path->data(), path->size() - 1}));
  }
};

// A key has one name for each limit that it may have: the rule's, or a tier's.
std::vector<std::uint64_t> hashes_of(const HttpCore& core, const Rule& rule, std::string_view key) {
  PartScratch scratch;
  key = named_client(rule, key, scratch).counted;
  const KeyName name{.rule = rule.id, .bucket = {}, .key = key};
  auto hashes = std::vector{core.engine().hash(name, rule.limits_for(key, {}).front()).low};
  for (const auto& [tier, limits] : rule.tiers) {
    hashes.push_back(core.engine().hash(name, limits.front()).low);
  }
  return hashes;
}

constexpr std::string_view kWhoseRule = "the id of the rule that the key is of";

// A POST has the rule and its key in its body, because logs on the way have queries.
std::optional<Problem> read_whose(const HttpCore& core, const Exchange& exchange, Wanted& wanted) {
  auto id = query_value(exchange.query, "rule");
  auto key = query_value(exchange.query, "key");
  if (!exchange.only_reads()) {
    JsonBody body(exchange.body.view(), {"rule", "key"});
    id = body.text("rule", kWhoseRule);
    key = body.text("key");
    if (body.problem()) return body.problem();
  }
  const Rule* const rule = id ? core.rules().find(*id) : nullptr;
  if (id && rule == nullptr) return unknown_rule(*id, core.rules());
  if (rule != nullptr) wanted.rule = rule->number;
  if (!key) return std::nullopt;
  if (rule == nullptr) return invalid_field("rule", kWhoseRule);
  wanted.hashes = hashes_of(core, *rule, *key);
  return std::nullopt;
}

std::optional<Problem> read_which(std::string_view query, bool keeps_texts, Wanted& wanted) {
  wanted.path = query_value(query, "path");
  if (wanted.path && !keeps_texts) {
    return invalid_field("path", "nothing: the node keeps no paths without show_keys");
  }
  wanted.country = query_value(query, "country");
  if (wanted.country && wanted.country->size() != 2) {
    return invalid_field("country", "two letters, such as NL");
  }
  if (const auto name = query_value(query, "door")) {
    const auto* const found = std::ranges::find(kDenialDoors, *name);
    if (found == kDenialDoors.end())
      return invalid_field("door", "http, auth, grpc, resp or nginx");
    wanted.door = static_cast<DenialDoor>(found - kDenialDoors.begin());
  }
  const auto by = query_value(query, "by");
  if (!by) return std::nullopt;
  wanted.by = static_cast<By>(std::ranges::find(kByNames, *by) - kByNames.begin());
  if (wanted.by == By::kNothing) {
    return invalid_field("by", "rule, key, network, path, country or cause");
  }
  if (keeps_texts || (wanted.by != By::kNetwork && wanted.by != By::kPath)) return std::nullopt;
  return invalid_field("by", "rule, key, country or cause: the others need show_keys");
}

// A span that ends now, or a second of 1970 by the wall clock.
std::optional<std::int64_t> second_in(std::string_view text, const Engine& engine, Instant now) {
  const auto second = read_decimal<std::int64_t>(text);
  if (second && *second >= kFirstSecond) {
    const Duration lead = engine.wall_time(now) - now;
    return *second - std::chrono::round<std::chrono::seconds>(lead).count();
  }
  const auto ago = parse_duration(text);
  if (!ago) return std::nullopt;
  return CoreDenials::second_of(std::max(now - *ago, Instant{}));
}

std::optional<Problem> read_when(std::string_view query, const Engine& engine, Instant now,
                                 Wanted& wanted) {
  constexpr std::string_view kWhen = "a duration that ends now, such as 10m, or seconds since 1970";
  wanted.last = CoreDenials::second_of(now);
  if (const auto text = query_value(query, "since")) {
    const auto first = second_in(*text, engine, now);
    if (!first) return invalid_field("since", kWhen);
    wanted.first = *first;
  }
  if (const auto text = query_value(query, "after")) {
    const auto after = read_decimal<std::int64_t>(*text);
    if (!after || *after < 0) return invalid_field("after", "what `next` was, or 0");
    wanted.first = std::max(wanted.first, *after + 1);
    wanted.last -= 2;  // the last seconds are not complete yet
  }
  if (const auto text = query_value(query, "until")) {
    const auto last = second_in(*text, engine, now);
    if (!last) return invalid_field("until", kWhen);
    wanted.last = std::min(wanted.last, *last);
  }
  if (const auto text = query_value(query, "limit")) {
    wanted.limit = read_decimal<std::size_t>(*text).value_or(0);
  }
  if (wanted.limit == 0 || wanted.limit > kShownMax) {
    return invalid_field("limit", "an integer from 1 to 10000");
  }
  return std::nullopt;
}

// Denials that are alike in the property by which the request wants groups.
struct Group {
  DenialRecord first;
  Instant last{};
  std::uint64_t times = 0;
};

using GroupName = std::tuple<bool, RuleNumber, std::string>;  // shadow has groups of its own

GroupName group_of(const DenialRecord& denial, By by) {
  switch (by) {
    case By::kKey: return {denial.is_shadow, denial.rule, hash_text(denial.key_hash)};
    case By::kNetwork: return {denial.is_shadow, 0, network_of(denial)};
    case By::kPath: return {denial.is_shadow, 0, denial.path};
    case By::kCountry: return {denial.is_shadow, 0, std::string(country_of(denial))};
    case By::kCause: return {denial.is_shadow, denial.rule, std::string(cause_of(denial))};
    case By::kRule:
    case By::kNothing: break;
  }
  return {denial.is_shadow, denial.rule, {}};
}

// The most denied first; of causes the latest. REQUIRES: `denials` begin with the earliest
std::vector<Group> groups_of(const std::vector<DenialRecord>& denials, By by) {
  std::map<GroupName, Group> named;
  std::vector<Group> groups;
  for (const DenialRecord& denial : denials) {
    Group& group = named.try_emplace(group_of(denial, by), Group{denial, denial.at}).first->second;
    if (by == By::kCause && denial.at > group.last + kCausePause) {
      groups.push_back(std::exchange(group, Group{denial}));
    }
    group.last = denial.at;
    group.times += denial.times;
  }
  for (auto& [name, group] : named) groups.push_back(std::move(group));
  if (by == By::kCause) {
    std::ranges::stable_sort(groups, std::ranges::greater(), &Group::last);
  } else {
    std::ranges::stable_sort(groups, std::ranges::greater(), &Group::times);
  }
  return groups;
}

template <typename T>
std::optional<T> over_zero(T value) {
  return value > T{} ? std::optional(value) : std::nullopt;
}

// Writes rows of JSON or of CSV.
template <typename Out>
struct RowWriter {
  Out& out;
  const Engine& engine;
  const Traffic& traffic;
  const Instant now;

  std::int64_t second_of(Instant at) const { return CoreDenials::second_of(engine.wall_time(at)); }

  void write_rule(const DenialRecord& denial) {
    out.field("rule", or_null(traffic.rules().id_of(denial.rule)));
  }
  void write_key(const DenialRecord& denial) {
    write_rule(denial);
    out.field("hash", hash_text(denial.key_hash));
    if (traffic.keeps_key_texts()) out.field("key", denial.key);
  }
  void write(const DenialRecord& denial) {
    out.begin_object().field("at", utc_text(second_of(denial.at)));
    out.field("seconds_ago", now - denial.at);
    write_key(denial);
    if (const auto method = method_name(denial.method); !method.empty()) {
      out.field("method", method);
    }
    if (!denial.path.empty()) out.field("path", denial.path);
    if (const auto client = client_of(denial); !client.empty()) out.field("client", client);
    if (const auto country = country_of(denial); !country.empty()) out.field("country", country);
    out.field("door", door_name(denial.door));
    out.field("cause", cause_of(denial)).field("shadow", denial.is_shadow);
    out.field("times", denial.times).field("cost", denial.cost);
    out.field("limit", denial.limit).field("remaining", denial.remaining);
    out.field("retry_after", over_zero(denial.retry_after));
    out.field("status", over_zero(denial.status)).end_object();
  }
  void write(const Group& group, By by) {
    out.begin_object();
    switch (by) {
      case By::kKey: write_key(group.first); break;
      case By::kNetwork: out.field("network", or_null(network_of(group.first))); break;
      case By::kPath: out.field("path", or_null(group.first.path)); break;
      case By::kCountry: out.field("country", or_null(country_of(group.first))); break;
      case By::kCause: out.field("cause", cause_of(group.first)); [[fallthrough]];
      case By::kRule:
      case By::kNothing: write_rule(group.first); break;
    }
    out.field("shadow", group.first.is_shadow).field("times", group.times);
    out.field("first", second_of(group.first.at));
    out.field("last", second_of(group.last)).end_object();
  }
};

std::vector<std::string_view> columns_of(By by) {
  if (by == By::kKey) return {"rule", "key", "hash", "shadow", "times", "first", "last"};
  if (by == By::kCause) return {"cause", "rule", "shadow", "times", "first", "last"};
  if (by != By::kNothing) {
    return {kByNames[static_cast<std::size_t>(by)], "shadow", "times", "first", "last"};
  }
  return {"at",      "rule",      "key",         "hash",   "path",  "client",
          "country", "door",      "cause",       "shadow", "times", "cost",
          "limit",   "remaining", "retry_after", "status", "method"};
}

struct Found {
  std::vector<DenialRecord> denials;  // the earliest first
  std::vector<Group> groups;
  std::uint64_t forgotten = 0;
};

Found find(const Traffic& traffic, const Wanted& wanted) {
  Found found;
  traffic.each_denial(wanted.first, wanted.last, [&](const DenialRecord& denial) {
    found.forgotten += denial.forgotten;
    if (wanted.wants(denial)) found.denials.push_back(denial);
  });
  found.denials = added_up(std::move(found.denials));
  if (wanted.by != By::kNothing) found.groups = groups_of(found.denials, wanted.by);
  return found;
}

// The latest denial first, or the groups as they are.
template <typename Out>
void write_rows(RowWriter<Out> rows, const Found& found, const Wanted& wanted) {
  if (wanted.by == By::kNothing) {
    for (std::size_t i = 0; i < std::min(found.denials.size(), wanted.limit); ++i) {
      rows.write(found.denials[found.denials.size() - 1 - i]);
    }
  }
  for (std::size_t i = 0; i < std::min(found.groups.size(), wanted.limit); ++i) {
    rows.write(found.groups[i], wanted.by);
  }
}

void show_denials(HttpCore& core, const Traffic& traffic, const Exchange& exchange) {
  const Engine& engine = core.engine();
  Wanted wanted;
  auto problem = read_whose(core, exchange, wanted);
  if (!problem) problem = read_which(exchange.query, traffic.keeps_key_texts(), wanted);
  if (!problem) problem = read_when(exchange.query, engine, exchange.now, wanted);
  if (problem) return core.reply_problem(exchange, *problem);
  const Found found = find(traffic, wanted);
  const std::string_view accept = exchange.head.accept;
  if (quality_of(accept, "text/csv") > quality_of(accept, "application/json")) {
    CsvWriter csv(columns_of(wanted.by));
    write_rows(RowWriter<CsvWriter>{csv, engine, traffic, exchange.now}, found, wanted);
    const Reply reply{
        .content_type = "text/csv; charset=utf-8", .fields = kNegotiated, .body = csv.text()};
    return core.reply(exchange, reply);
  }
  const bool is_grouped = wanted.by != By::kNothing;
  JsonWriter json;
  json.begin_object().field("next", std::max<std::int64_t>(wanted.last, 0));
  json.field("total", is_grouped ? found.groups.size() : found.denials.size());
  json.field("forgotten", found.forgotten);
  const std::int64_t known_since = traffic.denials_since();
  if (known_since > wanted.first) json.field("known_since", known_since);
  json.key(is_grouped ? "groups" : "denials").begin_array();
  write_rows(RowWriter<JsonWriter>{json, engine, traffic, exchange.now}, found, wanted);
  json.end_array().end_object();
  core.reply(exchange, {.fields = kNegotiated, .body = json.text()});
}

}  // namespace

void add_denial_page(HttpCore& core, const Traffic& traffic) {
  core.routes().add(
      {{http1::Method::kGet, http1::Method::kPost},
       "/admin/denials",
       RouteAccess::kAdmin,
       [&core, &traffic](const Exchange& exchange) { show_denials(core, traffic, exchange); },
       {.of_get = "rule key path country door since until after limit by",
        .of_others = "path country door since until after limit by"}});
}

}  // namespace weir
