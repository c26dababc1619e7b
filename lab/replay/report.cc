#include "replay/report.h"

#include <simdjson.h>
#include <spdlog/fmt/fmt.h>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace weir::lab {
namespace {

namespace json = boost::json;

constexpr std::size_t kWorstShown = 10;

constexpr std::string_view kPage =
#include "replay/report_html.inc"
    ;
constexpr std::string_view kPlace = "@WEIR_REPORT@";

json::array chart_of(const TimeChart& chart, std::size_t series) {
  json::array counts;
  for (std::size_t i = 0; i < chart.used(); ++i) counts.push_back(chart.counts(series)[i]);
  return counts;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// If the log names a client, its key has an address that only this program knows.
std::string shown_key(const Rule& rule, const DeniedKey& denied) {
  std::string key = denied.key;
  const auto client = client_in(denied.client);
  if (is_named(client)) {
    for (const KeyPart& part : rule.key_parts) {
      if (part.property != KeyPart::Property::kClient) continue;
      PartScratch scratch{};
      const std::string_view address = client_text(part, client, scratch);
      if (const auto at = key.find(address); !address.empty() && at != std::string::npos) {
        key.replace(at, address.size(), denied.client);
      }
    }
  }
  return key.empty() ? "(all)" : shown(key);
}

json::object key_report(const World& world, const KeyRecord& record) {
  const DeniedKey& denied = world.keys().details(record);
  return {{"key", shown_key(world.rules()[record.rule], denied)},
          {"client", shown(denied.client)},
          {"requests", record.requests},
          {"denied", record.denied},
          {"would_be_denied", record.spared},
          {"first_denied", date_text(denied.first)},
          {"last_denied", date_text(denied.last)},
          {"burst",
           {{"requests", denied.burst},
            {"seconds", std::chrono::duration<double>(denied.burst_length).count()}}},
          {"rule", world.rules()[record.rule].id}};
}

using Keys = std::vector<const KeyRecord*>;  // of keys with details

// The keys with the highest counts, at most kWorstShown.
template <typename Count>
json::array worst_of(const World& world, Keys keys, Count count) {
  const auto end = keys.begin() + static_cast<std::ptrdiff_t>(std::min(kWorstShown, keys.size()));
  std::partial_sort(keys.begin(), end, keys.end(), [&](const auto* one, const auto* other) {
    if (count(*one) != count(*other)) return count(*one) > count(*other);
    return one->details < other->details;
  });
  json::array worst;
  for (auto each = keys.begin(); each != end; ++each) worst.push_back(key_report(world, **each));
  return worst;
}

struct RuleKeys {
  std::uint64_t all = 0;
  std::uint64_t denied = 0;
  std::uint64_t spared = 0;  // spared, and never denied
  Keys known{};              // of denied and spared keys
};

json::object rule_report(const World& world, std::size_t number, const RuleKeys& keys) {
  const Rule& rule = world.rules()[number];
  const RuleTally& tally = world.tallies()[number];
  return {{"id", rule.id},
          {"shadow", rule.shadow},
          {"enforce_percent", rule.shadow ? 0 : rule.enforced_percent},
          {"requests", tally.requests},
          {"denied", tally.denied},
          {"would_be_denied", tally.spared},
          {"share", share(tally.denied, tally.requests)},
          {"keys", keys.all},
          {"denied_keys", keys.denied},
          {"would_be_denied_keys", keys.spared},
          {"exact",
           {{"denied", tally.exact_denied},
            {"too_early", tally.too_early},
            {"too_late", tally.too_late}}},
          {"worst", worst_of(world, keys.known,
                             [](const KeyRecord& key) { return key.denied + key.spared; })},
          {"chart", chart_of(world.chart(), 2 + number)}};
}

json::object example(const LoggedRequest& logged, std::string_view rule) {
  return {{"time", date_text(logged.time)},
          {"client", shown(logged.client)},
          {"request", shown(std::string(logged.method) + " " + std::string(logged.uri))},
          {"rule", rule.empty() ? "(refused)" : std::string(rule)}};
}

// Keys that `world` denies and the other rules do not.
json::object keys_only_in(const World& world) {
  std::uint64_t count = 0;
  Keys known;
  for (const KeyRecord& record : world.keys().records()) {
    if (record.newly == 0 || record.elsewhere > 0) continue;
    ++count;
    if (record.details != 0) known.push_back(&record);
  }
  const auto newly = [](const KeyRecord& key) { return key.newly; };
  return {{"count", count}, {"worst", worst_of(world, std::move(known), newly)}};
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kBytes = 300;
  const bool is_cut = text.size() > kBytes;
  text = text.substr(0, kBytes);
  const bool is_utf8 = simdjson::validate_utf8(text.data(), text.size());
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x20 && byte != 0x7f && (byte < 0x80 || is_utf8);
    out += is_plain ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return is_cut ? out + "..." : out;
}

std::string date_text(Instant instant) {
  using std::chrono::floor;
  const std::chrono::sys_time<Duration> time{instant.time_since_epoch()};
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

void Comparison::note(const LoggedRequest& logged, World& before, World& after, bool was_denied,
                      bool is_denied) {
  before.compare(is_denied);
  after.compare(was_denied);
  if (was_denied == is_denied) return;
  ++(is_denied ? newly_denied_ : newly_allowed_);
  json::array& examples = is_denied ? denied_examples_ : allowed_examples_;
  if (examples.size() == kExamples) return;
  examples.push_back(example(logged, is_denied ? after.denier() : before.denier()));
}

json::object Comparison::report(const World& before, const World& after) const {
  return {{"newly_denied",
           {{"requests", newly_denied_},
            {"keys", keys_only_in(after)},
            {"examples", denied_examples_}}},
          {"newly_allowed",
           {{"requests", newly_allowed_},
            {"keys", keys_only_in(before)},
            {"examples", allowed_examples_}}}};
}

std::string report_page(const json::object& report) {
  std::string text = json::serialize(report);
  // No text of a log can end the script.
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u003c");
  }
  return std::string(kPage).replace(kPage.find(kPlace), kPlace.size(), text);
}

json::object log_report(const SortedLog& log, const LogSpan& span, std::uint64_t named) {
  const LogCounts& counts = log.counts();
  json::array shown_lines;
  for (const UnreadLine& line : counts.shown) {
    shown_lines.push_back({{"file", shown(line.file)},
                           {"line", line.number},
                           {"reason", line.reason},
                           {"beginning", shown(line.beginning)}});
  }
  json::array faults;
  for (const std::string& fault : counts.faults) faults.emplace_back(shown(fault));
  return {{"format", log.format_names()},    {"lines", counts.lines},
          {"unread", counts.unread},         {"late", counts.late},
          {"first", date_text(span.first)},  {"last", date_text(span.last)},
          {"whole_seconds", !span.is_exact}, {"unread_lines", std::move(shown_lines)},
          {"faults", std::move(faults)},     {"named_clients", named}};
}

json::object world_report(const World& world, const std::string& file) {
  std::vector<RuleKeys> keys_of(world.rules().size());
  for (const KeyRecord& record : world.keys().records()) {
    RuleKeys& keys = keys_of[record.rule];
    ++keys.all;
    keys.denied += record.denied > 0;
    keys.spared += record.denied == 0 && record.spared > 0;
    if (record.details != 0) keys.known.push_back(&record);
  }
  json::array rules;
  json::array left_out;
  std::uint64_t keys = 0;
  std::uint64_t denied_keys = 0;
  for (std::size_t i = 0; i < keys_of.size(); ++i) {
    rules.push_back(rule_report(world, i, keys_of[i]));
    keys += keys_of[i].all;
    denied_keys += keys_of[i].denied;
  }
  for (const auto& [rule, reason] : world.left_out()) {
    left_out.push_back({{"id", rule}, {"reason", reason}});
  }
  const TimeChart& chart = world.chart();
  return {{"file", shown(file)},
          {"requests", world.requests()},
          {"denied", world.denied()},
          {"refused", world.refused()},
          {"share", share(world.denied(), world.requests())},
          {"keys", keys},
          {"denied_keys", denied_keys},
          {"beyond", world.beyond()},
          {"evictions", world.evictions()},
          {"short_of_room", world.short_of_room()},
          {"chart",
           {{"begin", date_text(chart.begin())},
            {"step", std::chrono::duration<double>(chart.step()).count()},
            {"requests", chart_of(chart, 0)},
            {"denied", chart_of(chart, 1)}}},
          {"rules", std::move(rules)},
          {"left_out", std::move(left_out)}};
}

}  // namespace weir::lab
