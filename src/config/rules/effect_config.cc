#include "base/decimal.h"
#include "config/rules/rule_config.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/duration_text.h"
#include "rules/plan_name.h"
#include "rules/slots.h"
#include "rules/time/time_zone.h"
#include "weir/holding_store.h"

namespace weir {
namespace {

// An HTTP/2 answer has room for so many, next to the fields about the limit.
constexpr std::size_t kDenyHeadersMax = 16;

// More steps than anybody tells apart.
constexpr std::size_t kBlockLengthsMax = 16;

// A sliding window that is never over is a separate algorithm for all counters.
void read_bound(const SectionReader& reader, QuotaSpec& spec) {
  const auto bound = reader.is_set("bound") ? reader.get<std::string>("bound") : std::nullopt;
  if (!bound) return;
  const bool slides =
      spec.algorithm == Algorithm::kSlidingWindow || spec.algorithm == Algorithm::kStrictWindow;
  if (!slides) {
    reader.mistake("bound", "'bound' is only for sliding_window, not for calendars; remove it");
  } else {
    spec.algorithm = bound == "never_over" ? Algorithm::kStrictWindow : Algorithm::kSlidingWindow;
  }
}

// The values of an outer section. A limit takes them if its own section does not set them.
struct Inherited {
  Algorithm algorithm = QuotaSpec().algorithm;
  int week_starts = 0;
  int anchor = 1;
};

// Windows of a calendar are a separate algorithm for all counters.
void read_calendar_unit(const SectionReader& reader, QuotaSpec& spec) {
  const auto unit = reader.get<std::string>("window");
  if (!unit) return;
  if (reader.is_set("algorithm") && spec.algorithm != Algorithm::kFixedWindow) {
    reader.mistake(
        "algorithm",
        "all units of a " + *unit +
            " come back when it ends, so 'algorithm' is fixed_window there; remove it, or write "
            "'window' as a length such as 24h");
  }
  if (std::exchange(spec.burst, 0) > 0) {
    reader.mistake("burst", "all units of a " + *unit +
                                " come back when it ends, so it has no 'burst'; remove it, or "
                                "write 'window' as a length such as 24h");
  }
  const auto* const name = std::ranges::find(kCalendarUnitNames, *unit);
  spec.algorithm = Algorithm::kCalendarWindow;
  spec.window = kCalendarUnitLengths[static_cast<std::size_t>(name - kCalendarUnitNames.begin())];
}

// Reads the quota of a rule, a tier or an override. Reports one that no algorithm can keep.
std::optional<Quota> read_quota(const SectionReader& reader, const RuleContext& context,
                                const Inherited& inherited) {
  QuotaSpec spec{.algorithm = inherited.algorithm};
  if (spec.algorithm == Algorithm::kCalendarWindow) spec.algorithm = Algorithm::kFixedWindow;
  reader.fill(spec);
  if (reader.is_set("algorithm")) check_algorithm(reader, context, spec.algorithm);
  read_calendar_unit(reader, spec);
  read_bound(reader, spec);
  auto quota = Quota::make(spec);
  if (!quota) {
    reader.reject(quota.error().field, quota.error().expected);
    return std::nullopt;
  }
  if (quota->is_by_calendar()) {
    const CalendarUnit unit = quota->calendar_unit();
    if (unit == CalendarUnit::kWeek) quota->set_first_day(inherited.week_starts);
    if (unit == CalendarUnit::kMonth) quota->set_first_day(inherited.anchor);
  }
  return *quota;
}

constexpr std::string_view kNoMonth =
    "'anchor' is the day on which a month begins; write 'window: month', or remove it";

bool has_window_of(std::span<const Quota> limits, CalendarUnit unit) {
  return std::ranges::any_of(limits, [&](const Quota& quota) {
    return quota.is_by_calendar() && quota.calendar_unit() == unit;
  });
}

bool has_counter_of(const std::vector<Quota>& limits, const Quota& quota) {
  return std::ranges::any_of(limits, [&](const Quota& other) {
    return other.algorithm() == quota.algorithm() && other.window() == quota.window();
  });
}

// Reads the limit in the section itself and the limits in its `more_limits`.
std::vector<Quota> read_limits(const SectionReader& reader, const RuleContext& context,
                               Inherited inherited) {
  std::vector<Quota> limits;
  if (!reader.valid()) return limits;
  const auto first = read_quota(reader, context, inherited);
  if (!first) return limits;
  limits.push_back(*first);
  inherited.algorithm = first->algorithm();
  reader.for_each("more_limits", [&](const SectionReader& item) {
    if (!item.valid()) return;
    const auto quota = read_quota(item, context, inherited);
    if (!quota) return;
    if (has_counter_of(limits, *quota)) {
      item.mistake("window",
                   "two limits of one algorithm and window; the larger "
                   "would never deny, so remove it");
    }
    if (limits.size() == Rule::kLimitsMax) {
      item.mistake("limit", "more than " + std::to_string(Rule::kLimitsMax) + " limits");
    }
    limits.push_back(*quota);
  });
  return limits;
}

// `name_field`: the field that names an item of the list.
Rule::LimitsByName read_named_limits(const SectionReader& reader, const RuleContext& context,
                                     std::string_view list, std::string_view name_field,
                                     const Inherited& inherited) {
  Rule::LimitsByName named;
  reader.for_each(list, [&](const SectionReader& item) {
    const auto name = item.get<std::string>(name_field).value_or("");
    auto of_item = inherited;
    if (list == "tiers" && name.size() > kPlanNameMax && reader.get<bool>("tenants") == true) {
      item.mistake(name_field, "with 'tenants: true' the name of a tier is a plan, of at most " +
                                   std::to_string(kPlanNameMax) + " bytes; shorten it");
    }
    if (const auto anchor = item.get<std::int64_t>("anchor"))
      of_item.anchor = static_cast<int>(*anchor);
    auto limits = read_limits(item, context, of_item);
    if (item.is_set("anchor") && item.valid() && !has_window_of(limits, CalendarUnit::kMonth)) {
      item.mistake("anchor", std::string(kNoMonth));
    }
    if (limits.empty() || named.emplace(name, std::move(limits)).second) return;
    item.mistake(name_field,
                 "duplicate " + std::string(name_field) + " '" + name + "' in one list");
  });
  return named;
}

KeyList read_key_list(const SectionReader& reader, std::string_view field) {
  KeyList list;
  for (const YamlNode* text : reader.texts(field)) {
    if (const auto network = IpPrefix::parse(text->text)) list.networks.push_back(*network);
    list.keys.insert(text->text);
  }
  return list;
}

void read_cost(const SectionReader& reader, Rule& rule) {
  const auto text = reader.get<std::string>("cost");
  if (!text || is_of_response(*text)) return;
  rule.cost_from = parse_key_part(*text);
  if (rule.cost_from) return;
  const auto cost = read_decimal<std::int64_t>(*text);
  if (cost >= 0 && cost <= kCostMax) {
    rule.cost = *cost;
    return;
  }
  reader.mistake("cost",
                 "'cost' must be a whole number from 0 to " + std::to_string(kCostMax) +
                     ", a property such as header:X-Cost, or for nginx with Weir "
                     "in it usage, usage:dollars or response:NAME (docs/reference/usage.md)");
}

// A block counts from its beginning, so the counter must remember the blocks' lengths, too. Else
// nothing of `memory` might be left when a block ends, and later lengths would not be reached.
Duration beyond_blocks(Duration memory, const std::vector<Duration>& blocks) {
  if (blocks.empty()) return memory;
  const auto lengths = static_cast<std::int64_t>(blocks.size());
  return std::min(kWindowMax, memory + lengths * std::ranges::max(blocks));
}

void read_blocks(const SectionReader& reader, Denial& denial) {
  if (reader.texts("block").size() > kBlockLengthsMax) {
    reader.mistake("block", "more than " + std::to_string(kBlockLengthsMax) + " durations");
  }
  for (const YamlNode* text : reader.texts("block")) {
    const auto length = parse_duration(text->text);
    if (length && *length >= kWindowMin && *length <= kWindowMax) {
      denial.blocks.push_back(*length);
    } else {
      reader.mistake(text->place,
                     "'block' must be a duration from 1ms to 366d, such as 5m, or a "
                     "list of such");
    }
  }
  for (const std::string_view field : {"block_after", "block_window", "block_memory"}) {
    if (!reader.is_set(field) || reader.is_set("block")) continue;
    reader.mistake(field, "'" + std::string(field) + "' is only for rules that block; add 'block'");
  }
  denial.block_memory = beyond_blocks(denial.block_memory, denial.blocks);
}

std::optional<TextTemplate> read_template(const SectionReader& reader, std::string_view field) {
  const auto text = reader.get<std::string>(field);
  if (!text) return std::nullopt;
  auto parsed = TextTemplate::parse(*text);
  if (!parsed) {
    reader.mistake(field, parsed.error().message);
    return std::nullopt;
  }
  return *std::move(parsed);
}

// The headers that doors set, whatever the settings, and headers that say where a message ends.
bool is_doors_own(std::string_view name) {
  constexpr std::array<std::string_view, 20> kOwn = {"connection",        "content-length",
                                                     "content-type",      "date",
                                                     "keep-alive",        "te",
                                                     "trailer",           "upgrade",
                                                     "transfer-encoding", "x-process-time",
                                                     "x-weir-mode",       "retry-after",
                                                     "ratelimit",         "ratelimit-policy",
                                                     "ratelimit-limit",   "ratelimit-remaining",
                                                     "ratelimit-reset",   "x-ratelimit-remaining",
                                                     "x-ratelimit-limit", "x-ratelimit-reset"};
  return std::ranges::any_of(kOwn, [&](auto own) { return equal_ignoring_case(own, name); });
}

void read_deny_header(const SectionReader& item, Denial& denial) {
  if (!item.valid()) return;
  const auto name = item.get<std::string>("name").value_or("");
  auto value = read_template(item, "value");
  if (is_doors_own(name)) {
    item.mistake("name", "'" + name + "' is set by the door itself; remove it");
  }
  if (denial.headers.size() == kDenyHeadersMax) {
    item.mistake("name", "more than " + std::to_string(kDenyHeadersMax) + " headers");
  } else if (value) {
    denial.headers.push_back({.name = name, .value = *std::move(value)});
  }
}

// Refuses places without a safe escape: a client could break out of them.
void reject_unsafe_places(const SectionReader& reader, const Denial& denial) {
  constexpr std::string_view kNumbers =
      "({{limit}}, {{remaining}}, {{count}}, {{retry_after}}, {{reset_after}})";
  const TextTemplate& body = *denial.body;
  if (body.has_texts() && is_script(denial.content_type)) {
    reader.mistake("body", "a body of '" + denial.content_type +
                               "' can be filled with numbers only " + std::string(kNumbers) +
                               ", or clients could write code; use JSON");
  }
  const Escape escape = escape_for(denial.content_type);
  const auto in_html = escape == Escape::kHtml ? body.danger_in_html() : std::string();
  if (!in_html.empty()) {
    reader.mistake("body", "no text may stand " + in_html +
                               ": clients could write code there; fill it into text or a quoted "
                               "attribute, or fill in a number");
  }
  const auto in_json = escape == Escape::kJson ? body.danger_in_json() : std::string();
  if (!in_json.empty()) {
    reader.mistake("body", "no text may stand " + in_json +
                               " in JSON: clients could write members there; fill it into a "
                               "string, or fill in a number " +
                               std::string(kNumbers));
  }
}

void read_denial(const SectionReader& reader, Denial& denial) {
  reader.fill(denial);
  read_blocks(reader, denial);
  if (reader.is_set("waiting_max") && !reader.is_set("delay_up_to")) {
    reader.mistake("waiting_max", "'waiting_max' is only for rules that delay; add 'delay_up_to'");
  }
  denial.body = read_template(reader, "body");
  if (denial.body && denial.content_type.empty()) denial.content_type = "text/plain";
  if (denial.body) reject_unsafe_places(reader, denial);
  if (!denial.body && reader.is_set("content_type")) {
    reader.mistake("content_type", "'content_type' is that of a 'body'; add one");
  }
  reader.for_each("header", [&](const SectionReader& item) { read_deny_header(item, denial); });
}

// REQUIRES: the text has the field's form
std::int64_t percent_in(std::string_view text) {
  text.remove_suffix(1);
  return read_decimal<std::int64_t>(text).value_or(100);
}

void read_enforcement(const SectionReader& reader, Rule& rule) {
  const auto share = reader.get<std::string>("enforce");
  if (!share) return;
  rule.is_proportional = share == "proportional";
  if (rule.is_proportional) return;
  if (rule.shadow) {
    reader.mistake("enforce", "'shadow: true' is 'enforce: 0%'; remove one of them");
  }
  rule.enforced_percent = percent_in(*share);
  rule.shadow = rule.enforced_percent == 0;
}

// The values that the rule passes on to all its limits.
Inherited inherited_from(const SectionReader& reader) {
  Inherited inherited;
  const auto week_starts = reader.get<std::string>("week_starts");
  const auto* const day = std::ranges::find(kWeekdays, week_starts.value_or(""));
  if (week_starts) inherited.week_starts = static_cast<int>(day - kWeekdays.begin());
  if (const auto anchor = reader.get<std::int64_t>("anchor"))
    inherited.anchor = static_cast<int>(*anchor);
  return inherited;
}

// REQUIRES: all limits of the rule have been read
void read_calendar(const SectionReader& reader, Rule& rule) {
  const auto has = [&](auto... units) {
    bool any = false;
    for_each_limits(rule, [&](std::span<const Quota> limits) {
      any = any || (has_window_of(limits, units) || ...);
    });
    return any;
  };
  using enum CalendarUnit;
  const auto is_of_use = [&](std::string_view field, bool is_wanted, std::string_view why) {
    if (reader.is_set(field) && reader.valid() && !is_wanted)
      reader.mistake(field, std::string(why));
  };
  const bool is_by_calendar = has(kDay, kWeek, kMonth, kYear);
  constexpr std::string_view kNoCalendar =
      "only windows of a calendar begin by its clocks; write 'window: day', or week, month or year";
  is_of_use("zone", is_by_calendar, kNoCalendar);
  is_of_use("resets_at", is_by_calendar, kNoCalendar);
  is_of_use("anchor", has(kMonth), kNoMonth);
  is_of_use("week_starts", has(kWeek),
            "'week_starts' is the day on which a week begins; write 'window: week', or remove it");
  if (const auto time = reader.get<std::string>("resets_at")) {
    rule.calendar.resets_at = *parse_time_of_day(*time);
  }
  const auto zone = reader.get<std::string>("zone");
  if (zone && *zone != "localtime") rule.calendar.zone = find_zone(*zone);
  if (zone && rule.calendar.zone == nullptr) reader.mistake("zone", no_such_zone(*zone));
}

void read_tiers(const SectionReader& reader, const RuleContext& context, Rule& rule) {
  auto inherited = inherited_from(reader);
  inherited.algorithm = rule.quota.algorithm();
  if (const auto part = reader.get<std::string>("tier")) rule.tier = parse_key_part(*part);
  rule.tiers = read_named_limits(reader, context, "tiers", "name", inherited);
  rule.overrides = read_named_limits(reader, context, "overrides", "key", inherited);
  if (rule.tier && !reader.get<const YamlNode*>("tiers")) {
    reader.mistake("tier",
                   "'tier' says which of the 'tiers' a request belongs to; "
                   "add them, or remove it");
  }
}

// A limit of requests under way stands alone.
std::vector<Quota> read_concurrency(const SectionReader& reader) {
  QuotaSpec spec;
  reader.fill(spec);
  return {*slot_quota(spec.limit)};
}

Mode mode_of(const Rule& rule, const RuleContext& context) {
  return rule.mode.value_or(context.shared_mode.value_or(Mode::kLocal));
}

// Each node counts never_over by itself, even if only the command line names a Redis.
void keep_never_over(const SectionReader& reader, const RuleContext& context, Rule& rule) {
  bool is_never_over = false;
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    is_never_over = is_never_over || std::ranges::any_of(limits, &Quota::is_never_over);
  });
  if (!is_never_over) return;
  if (mode_of(rule, context) != Mode::kLocal) {
    reader.mistake("bound",
                   "'never_over' is counted by each node for itself, as Redis has no such window; "
                   "write 'mode: local', or 'algorithm: sliding_log', which is never over in mode "
                   "strict");
  }
  rule.mode = Mode::kLocal;
}

// Why the rule cannot be proportional; empty if it can.
std::string_view against_proportion(const SectionReader& reader, const RuleContext& context,
                                    const Rule& rule) {
  if (rule.effect == Rule::Effect::kConcurrency) return "needs windows; remove 'of: concurrency'";
  std::string_view reason;
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    const Algorithm algorithm = limits.front().algorithm();
    if (limits.size() > 1) reason = "is a share of one limit; remove 'more_limits'";
    if (algorithm != Algorithm::kFixedWindow && algorithm != Algorithm::kSlidingWindow) {
      reason = "needs sliding_window or fixed_window, a 'window' such as 24h, and no 'bound'";
    }
  });
  if (!reason.empty()) return reason;
  if (mode_of(rule, context) > Mode::kAsync) {
    return "counts denied requests, which modes leased and strict do not; write 'mode: async' or "
           "local";
  }
  if (!rule.denial.blocks.empty()) return "lets a part of each key pass; remove 'block'";
  if (rule.overdraft != Rule::Overdraft::kNone) return "can deny any cost; remove 'overdraft'";
  if (rule.response) return "counts requests when they come; remove what reads the response";
  return reader.is_set("rollout") ? "is no share of keys; remove 'rollout'" : "";
}

// Why the rule cannot hold units; empty if it can.
std::string_view against_holds(const RuleContext& context, const Rule& rule) {
  std::string_view reason = why_not_held(mode_of(rule, context));
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    for (const Quota& limit : limits) {
      if (const auto why = why_not_held(limit); !why.empty()) reason = why;
    }
  });
  if (!reason.empty()) return reason;
  if (rule.overdraft != Rule::Overdraft::kNone) return "needs costs that fit; remove 'overdraft'";
  if (rule.is_proportional) return "needs all of a key's requests; remove 'enforce: proportional'";
  if (rule.response) return "is for costs that callers report; remove what reads the response";
  return rule.denial.delay_max > Duration{0} ? "lets nobody wait; remove 'delay_up_to'" : "";
}

void check_holds(const SectionReader& reader, const RuleContext& context, Rule& rule) {
  if (rule.has_slots()) return;
  if (rule.holds_max > 0) {
    const auto reason = against_holds(context, rule);
    if (!reason.empty()) {
      reader.mistake("max_holds", "'max_holds' " + std::string(reason));
    } else if (rule.mode != Mode::kLocal) {
      rule.mode = Mode::kStrict;  // also if only the command line names a Redis
    }
  } else if (reader.is_set("lapse")) {
    reader.mistake("lapse", "'lapse' is only for rules that hold units; add 'max_holds'");
  }
}

}  // namespace

void check_enforcement(const SectionReader& reader, const RuleContext& context, Rule& rule) {
  check_holds(reader, context, rule);
  if (!rule.is_proportional) return;
  const auto reason = against_proportion(reader, context, rule);
  if (!reason.empty()) reader.mistake("enforce", "'proportional' " + std::string(reason));
}

std::optional<Rollout> read_rollout(const SectionReader& reader, const Rule& rule) {
  const auto section = reader.section("rollout");
  if (!section || !section->valid() || rule.is_proportional) return std::nullopt;
  Rollout rollout{.percent = rule.shadow ? 0 : rule.enforced_percent};
  section->fill(rollout);
  auto& steps = rollout.steps;
  for (const YamlNode* step : section->texts("steps")) steps.push_back(percent_in(step->text));
  const auto stop_if = section->get<std::string>("stop_if").value_or("");
  rollout.denied_max = std::strtod(stop_if.c_str() + stop_if.find('>') + 1, nullptr);
  const bool rises = std::ranges::adjacent_find(steps, std::greater_equal()) == steps.end();
  if (!rises || steps.size() < 2) {
    section->mistake("steps",
                     "'steps' must rise, from the share of the keys that was denied before to the "
                     "last one, such as [0%, 1%, 10%, 100%]");
  } else if (steps.end() - std::ranges::find(steps, rollout.percent) < 2) {
    reader.mistake("enforce",
                   "'enforce' must be a step of 'rollout' before the last; the rollout moves it. "
                   "To end the rollout, remove it");
  }
  return rollout;
}

void read_effects(const SectionReader& reader, const RuleContext& context, Rule& rule) {
  const bool is_of_concurrency = reader.get<std::string>("of") == "concurrency";
  if (is_of_concurrency) rule.effect = Rule::Effect::kConcurrency;
  auto limits = is_of_concurrency ? read_concurrency(reader)
                                  : read_limits(reader, context, inherited_from(reader));
  const bool has_limits = !limits.empty();
  if (has_limits) rule.quota = limits.front();
  if (limits.size() > 1) rule.limits = std::move(limits);
  read_enforcement(reader, rule);
  read_tiers(reader, context, rule);
  read_calendar(reader, rule);
  keep_never_over(reader, context, rule);
  rule.allow = read_key_list(reader, "allow");
  rule.deny = read_key_list(reader, "deny");
  read_cost(reader, rule);
  if (const auto denial = reader.section("on_deny")) {
    read_denial(*denial, rule.denial);
    if (rule.denial.delay_max > Duration{0} && has_limits) check_delay(*denial, context, rule);
  }
  if (const auto surge = reader.section("on_surge")) {
    if (const auto part = surge->get<std::string>("limit")) rule.surge_percent = percent_in(*part);
  }
}

}  // namespace weir
