#include "simulate/scenario.h"

#include <algorithm>
#include <utility>

#include "base/duration_text.h"
#include "config/fields/section_reader.h"
#include "config/yaml/yaml_document.h"
#include "rules/time/time_zone.h"
#include "store/redis/fleet/node_fleet.h"

namespace weir::sim {
namespace {

constexpr FieldRange kTime = {0, 86'400'000'000};
constexpr FieldRange kNodeRange = {0, 1'999};
constexpr FieldRange kRowsRange = {0, 400};  // a simulated Redis reads 1,024 words at a time
constexpr FieldRange kPercent = {0, 100};
constexpr Duration kMillisecond = std::chrono::milliseconds(1);

constexpr TextForm kTripForm = {"^[0-9]{1,5}ms$", "milliseconds such as 80ms"};

constexpr std::string_view kTrafficKinds[] = {"steady",  "bursts", "cron", "attack",
                                              "patient", "hasty",  "work"};
constexpr std::string_view kFaultKinds[] = {
    "cut",      "half_cut",   "slow_path", "pause",     "slow_redis", "restart",
    "failover", "forget",     "evict",     "read_only", "full",       "half_open",
    "clock",    "clock_back", "kill",      "leave",     "reload",     "freeze",
    "block",    "lift",       "zone",      "rows"};
constexpr std::string_view kVerbs[] = {"hit", "look", "charge"};

constexpr Field kTrafficFields[] = {
    row::choice("kind", kTrafficKinds, "How its clients behave.").required(),
    row::texts("rules", kAnyText, "The ids of the rules it asks. Without, the first."),
    row::number("rate", {0, 1'000'000}, "Requests a second.").defaults_to("10"),
    row::integer("keys", {1, 10'000'000}, "How many keys it has.").defaults_to("10"),
    row::integer("cost", {1, kCostMax}, "The most that a request costs.").defaults_to("1"),
    row::integer("node", kNodeRange, "The node it asks. Without, any."),
    row::integer("looks", kPercent, "So many of a hundred only look.").defaults_to("0"),
    row::integer("refunds", kPercent, "So many of a hundred give back.").defaults_to("0"),
    row::integer("charges", kPercent, "So many of a hundred count always.").defaults_to("0"),
    row::duration("hold", {1'000, 86'400'000'000}, "For so long work holds units, at most.")
        .defaults_to("1s"),
    row::duration("from", kTime, "When it begins.").defaults_to("0s"),
    row::duration("until", kTime, "When it ends. Without, at the end."),
};
constexpr Section kTraffic = {"a source", "Where requests come from.", kTrafficFields};

constexpr Field kStepFields[] = {
    row::duration("at", kTime, "When. Without, as the step before."),
    row::integer("node", kNodeRange,
                 "Which node: of a fault without one all, of an ask the first."),
    row::choice("fault", kFaultKinds, "What breaks."),
    row::duration("for", kTime, "For so long, or by so much."),
    row::text("hit", kAnyText, "The key that spends."),
    row::text("look", kAnyText, "The key that is looked at."),
    row::text("charge", kAnyText, "The key that pays, whether or not it fits."),
    row::text("rule", kAnyText, "The id of the rule. Without, the first."),
    row::text("key", kAnyText, "The key of a block."),
    row::text("zone", kAnyText, "The time zone from then on."),
    row::integer("rows", kRowsRange, "So many rows of tenants together. 0: of the key.")
        .defaults_to("0"),
    row::integer("limit", {-2, kCostMax}, "Of these rows; -2: they go.").defaults_to("0"),
    row::integer("cost", {-kCostMax, kCostMax}, "How many units.").defaults_to("1"),
    row::boolean("allowed", "Whether it is to be allowed. Without, it is not compared."),
    row::integer("left", {0, kCostMax}, "What is to remain. Without, it is not compared."),
};
constexpr Section kStep = {"a step", "Something that happens once.", kStepFields};

constexpr Field kScenarioFields[] = {
    row::text("name", kAnyText, "What it says, as a sentence."),
    row::integer("begins", {0, 4'102'444'800}, "When, in seconds since 1970.")
        .defaults_to("1700000040"),
    row::duration("length", {1'000, 86'400'000'000}, "How long it lasts.").defaults_to("10s"),
    row::integer("nodes", {1, 2'000}, "How many nodes.").defaults_to("1"),
    row::duration("latency", {0, 10'000'000}, "Of a packet.").defaults_to("300us"),
    row::duration("jitter", {0, 10'000'000}, "More, at most, by chance.").defaults_to("200us"),
    row::number("loss", {0, 50}, "Of packets, in percent.").defaults_to("0"),
    row::duration("skew", {0, 3'600'000'000}, "Of clocks, at most.").defaults_to("0s"),
    row::integer("drift", {0, 1'000}, "Of clocks: microseconds a second, at most.")
        .defaults_to("0"),
    row::texts("places", &kTripForm,
               "Trips from each place to the Redis of all, and back; nodes are in them in turn."),
    row::tree("settings", "What the configuration says apart from the rules."),
    row::sections("rules", kRuleSection, "The rules, as in a configuration."),
    row::sections("traffic", kTraffic, "Where requests come from."),
    row::sections("steps", kStep, "Faults, and single requests with their answers."),
};
constexpr Section kScenario = {"a scenario", "A scenario.", kScenarioFields};

std::string text_of(const SectionReader& reader, std::string_view field) {
  return reader.get<std::string>(field).value_or("");
}
template <typename Enum, std::size_t kSize>
Enum choice_of(const SectionReader& reader, std::string_view field,
               const std::string_view (&names)[kSize]) {
  const auto found = std::ranges::find(names, text_of(reader, field));
  return static_cast<Enum>(found == std::end(names) ? 0 : found - std::begin(names));
}
template <typename Number>
void fill(const SectionReader& reader, std::string_view field, Number& number) {
  if (const auto value = reader.get<Number>(field)) number = *value;
}

// Numbers of this type come as whole numbers, or with decimals.
void fill_number(const SectionReader& reader, std::string_view field, double& number) {
  if (const auto value = reader.get<double>(field)) number = *value;
}

TrafficSource read_source(const SectionReader& reader) {
  TrafficSource source{.kind = choice_of<TrafficSource::Kind>(reader, "kind", kTrafficKinds),
                       .node = reader.get<std::int64_t>("node"),
                       .until = reader.get<Duration>("until")};
  for (const YamlNode* id : reader.texts("rules")) source.rules.push_back(id->text);
  fill_number(reader, "rate", source.rate);
  fill(reader, "keys", source.keys);
  fill(reader, "cost", source.cost);
  fill(reader, "looks", source.looks);
  fill(reader, "refunds", source.refunds);
  fill(reader, "charges", source.charges);
  fill(reader, "hold", source.hold);
  fill(reader, "from", source.from);
  if (source.looks + source.refunds + source.charges > 100) {
    reader.mistake(reader.place(),
                   "looks, refunds and charges are more than a hundred of a hundred");
  }
  if (source.until && *source.until < source.from) {
    reader.mistake("until", "'until' is before 'from'");
  }
  return source;
}

void read_step(const SectionReader& reader, Duration& at, Scenario& scenario) {
  fill(reader, "at", at);
  if (at > scenario.length) reader.mistake("at", "it comes after the end of the scenario");
  const auto node = reader.get<std::int64_t>("node");
  if (node && *node >= scenario.nodes) reader.mistake("node", "the scenario has no such node");
  int ways = 0;
  if (reader.is_set("fault")) {
    ++ways;
    Fault fault{.kind = choice_of<Fault::Kind>(reader, "fault", kFaultKinds),
                .at = at,
                .node = node,
                .rule = text_of(reader, "rule"),
                .key = text_of(reader, "key"),
                .zone = text_of(reader, "zone")};
    fill(reader, "for", fault.length);
    fill(reader, "rows", fault.rows);
    fill(reader, "limit", fault.limit);
    if (fault.kind == Fault::Kind::kZone && find_zone(fault.zone) == nullptr) {
      reader.mistake(reader.place(), "there is no time zone '" + fault.zone + "'");
    }
    const bool is_block = fault.kind == Fault::Kind::kBlock || fault.kind == Fault::Kind::kLift;
    if (is_block && fault.key.empty()) reader.mistake(reader.place(), "a block needs a 'key'");
    if (lasts(fault.kind) && fault.at + fault.length > scenario.length) {
      reader.mistake(reader.place(), "the fault lasts longer than the scenario");
    }
    scenario.faults.push_back(std::move(fault));
  }
  for (std::size_t verb = 0; verb < std::size(kVerbs); ++verb) {
    if (!reader.is_set(kVerbs[verb])) continue;
    ++ways;
    scenario.questions.push_back(
        {.at = at,
         .node = node.value_or(0),
         .rule = text_of(reader, "rule"),
         .key = text_of(reader, kVerbs[verb]),
         .cost = reader.get<std::int64_t>("cost").value_or(1),
         .verb = static_cast<Question::Verb>(verb),
         .allowed = reader.is_set("allowed") ? reader.get<bool>("allowed") : std::nullopt,
         .left = reader.get<std::int64_t>("left")});
  }
  if (ways != 1) reader.mistake(reader.place(), "a step has one of fault, hit, look and charge");
}

// Work needs one rule that holds units, for a window at most, or slots.
void check_work(const SectionReader& reader, const std::vector<Rule>& rules) {
  const TrafficSource source = read_source(reader);
  if (source.kind != TrafficSource::Kind::kWork || rules.empty()) return;
  const auto named =
      std::ranges::find(rules, source.rules.empty() ? "" : source.rules[0], &Rule::id);
  const Rule& rule = named == rules.end() ? rules.front() : *named;
  if (source.rules.size() > 1 || rule.holds_max == 0) {
    reader.mistake(reader.place(), "work needs one rule, with 'max_holds' or 'of: concurrency'");
  } else if (!rule.has_slots() && source.hold > rule.quota.window()) {
    reader.mistake("hold", "it is longer than the rule's window");
  }
}

// Checks that need the rules and settings.
void check_together(const SectionReader& reader, const Scenario& scenario) {
  const auto means = means_of(scenario);
  if (!means) {
    for (const ConfigError& error : means.error()) {
      const auto place = reader.place_of(
          error.message.find("rule") == std::string::npos && reader.is_set("settings") ? "settings"
                                                                                       : "rules");
      reader.mistake(place, error.message);
    }
    return;
  }
  const bool is_shared = !(*means->settings).store.redis.empty();
  const auto has_rule = [&](const std::string& id) {
    return std::ranges::find(means->rules, id, &Rule::id) != means->rules.end();
  };
  reader.for_each("traffic", [&](const SectionReader& source) {
    for (const YamlNode* id : source.texts("rules")) {
      if (!has_rule(id->text)) {
        source.mistake("rules", "the scenario has no rule '" + id->text + "'");
      }
    }
    const auto node = source.get<std::int64_t>("node");
    if (node && *node >= scenario.nodes) source.mistake("node", "the scenario has no such node");
    if (!scenario.places.empty() && source.get<std::int64_t>("refunds").value_or(0) > 0) {
      source.mistake("refunds", "between places they wait for an answer, which no check does");
    }
    check_work(source, means->rules);
  });
  reader.for_each("steps", [&](const SectionReader& step) {
    const std::string rule = text_of(step, "rule");
    if (!rule.empty() && !has_rule(rule)) {
      step.mistake("rule", "the scenario has no rule '" + rule + "'");
    }
    const bool is_fault = step.is_set("fault");
    if (is_fault && is_about_redis(choice_of<Fault::Kind>(step, "fault", kFaultKinds)) &&
        !is_shared) {
      step.mistake("fault", "it needs a Redis: 'settings' has no 'store'");
    }
  });
  if (means->rules.empty()) reader.mistake(reader.place(), "a scenario needs a rule");
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::vector<std::string> texts_of(const std::vector<Duration>& lengths) {
  std::vector<std::string> texts;
  for (const Duration length : lengths)
    texts.push_back(std::to_string(length / kMillisecond) + "ms");
  return texts;
}

// In double quotes, for YAML.
std::string quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char sign : text) {
    if (sign == '"' || sign == '\\') quoted += '\\';
    quoted += sign;
  }
  return quoted + "\"";
}

std::string number_text(double number) {
  std::string text = std::to_string(number);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string_view name_of(Fault::Kind kind) { return kFaultKinds[static_cast<std::size_t>(kind)]; }
std::string_view name_of(TrafficSource::Kind kind) {
  return kTrafficKinds[static_cast<std::size_t>(kind)];
}
bool is_about_redis(Fault::Kind kind) { return kind <= Fault::Kind::kClockBack; }
bool lasts(Fault::Kind kind) {
  using enum Fault::Kind;
  return kind != kClock && kind != kClockBack && kind != kFailover && kind != kBlock &&
         kind != kLift && kind != kZone && kind != kRows;
}

Duration trip_max(const Scenario& scenario) {
  Duration far{0};
  for (const Duration trip : scenario.places) far = std::max(far, trip);
  return 2 * (scenario.latency + scenario.jitter) + far;
}

Result<Scenario, ConfigErrors> read_scenario(std::string_view text, const std::string& file) {
  const auto document = YamlDocument::parse(text);
  Mistakes mistakes(file);
  if (!document) {
    mistakes.add(document.error().place, document.error().message);
    return mistakes.take();
  }
  const YamlNode* const root = document->root();
  if (root == nullptr || root->kind != YamlNode::Kind::kMap) {
    mistakes.add(root == nullptr ? TextPlace() : root->place, "a scenario is a map of fields");
    return mistakes.take();
  }
  const SectionReader reader(kScenario, *root, mistakes);
  Scenario scenario{.name = text_of(reader, "name")};
  const auto begins = reader.get<std::int64_t>("begins");
  if (begins) scenario.begins = Instant(std::chrono::seconds(*begins));
  fill(reader, "length", scenario.length);
  fill(reader, "nodes", scenario.nodes);
  fill(reader, "latency", scenario.latency);
  fill(reader, "jitter", scenario.jitter);
  fill_number(reader, "loss", scenario.loss);
  fill(reader, "skew", scenario.skew);
  fill(reader, "drift", scenario.drift);
  for (const YamlNode* trip : reader.texts("places")) {
    scenario.places.push_back(parse_duration(trip->text).value_or(Duration(0)));
  }
  if (const auto settings = reader.get<const YamlNode*>("settings")) {
    scenario.settings = to_json(**settings, JsonFor::kConfiguration).value_or("{}");
  }
  if (const auto rules = reader.get<const YamlNode*>("rules")) {
    for (const YamlNode* rule : (*rules)->items) {
      scenario.rules.push_back(to_json(*rule, JsonFor::kConfiguration).value_or("{}"));
    }
  }
  reader.for_each("rules", [](const SectionReader&) {});  // finds mistakes at their places
  reader.for_each("traffic", [&](const SectionReader& source) {
    scenario.traffic.push_back(read_source(source));
  });
  Duration at{0};
  reader.for_each("steps", [&](const SectionReader& step) { read_step(step, at, scenario); });
  if (mistakes.empty()) check_together(reader, scenario);
  if (!mistakes.empty()) return mistakes.take();
  return scenario;
}

Result<Means, ConfigErrors> means_of(const Scenario& scenario) {
  std::string text = scenario.settings;
  if (text.size() < 2) text = "{}";
  text.pop_back();
  text += std::string(text.size() > 1 ? "," : "") + "\"rules\":[";
  for (const std::string& rule : scenario.rules) {
    text += (text.ends_with('[') ? "" : ",") + rule;
  }
  text += "]}";
  auto config = parse_config(text, "the scenario");
  if (!config) return std::move(config.error());
  Means means{.settings = std::move(config->settings),
              .rules = std::move(config->rules),
              .sources = std::move(config->sources)};
  const auto fleet = fleet_settings(means.settings);
  const std::string& world = means.settings->store.world;
  std::string fault;
  if (!fleet) {
    fault = fleet.error().message;
  } else if (*fleet && ((*fleet)->url.topology != RedisUrl::Topology::kSingle ||
                        (*fleet)->url.destinations.front().to_string() != kRedisAddress ||
                        !(*fleet)->url.credentials.empty())) {
    fault = "the simulated Redis is redis://redis";
  } else if (world != (scenario.places.empty() ? "" : "redis://world")) {
    fault = "'places', such as [0ms, 80ms], and 'world: redis://world' in 'store' need each other";
  } else if (!world.empty() && std::ranges::any_of(means.rules, [](const Rule& rule) {
               return rule.mode != Mode::kWorld;
             })) {
    fault = "between places every rule counts over all of them: add 'scope: world' to each rule";
  } else if (scenario.nodes > 1 && !*fleet) {
    fault = "several nodes need a 'store' among the settings";
  }
  if (fault.empty()) return means;
  return ConfigErrors{{.file = "the scenario", .line = 1, .column = 1, .message = fault}};
}

std::string to_yaml(const Scenario& scenario) {
  std::string out;
  const auto line = [&](const std::string& text) { out += text + "\n"; };
  if (!scenario.name.empty()) line("name: " + quoted(scenario.name));
  if (scenario.begins != Scenario().begins) {
    line("begins: " + std::to_string(epoch_us(scenario.begins) / 1'000'000));
  }
  line("length: " + format_duration(scenario.length));
  line("nodes: " + std::to_string(scenario.nodes));
  line("latency: " + format_duration(scenario.latency));
  line("jitter: " + format_duration(scenario.jitter));
  if (scenario.loss > 0) line("loss: " + number_text(scenario.loss));
  line("skew: " + format_duration(scenario.skew));
  line("drift: " + std::to_string(scenario.drift));
  if (!scenario.places.empty()) line("places: [" + joined(texts_of(scenario.places)) + "]");
  line("settings: " + scenario.settings);
  line("rules:");
  for (const std::string& rule : scenario.rules) line("  - " + rule);
  if (!scenario.traffic.empty()) line("traffic:");
  for (const TrafficSource& source : scenario.traffic) {
    std::string text = "  - { kind: " + std::string(name_of(source.kind));
    if (!source.rules.empty()) text += ", rules: [" + joined(source.rules) + "]";
    text += ", rate: " + number_text(source.rate) + ", keys: " + std::to_string(source.keys);
    if (source.cost != 1) text += ", cost: " + std::to_string(source.cost);
    if (source.node) text += ", node: " + std::to_string(*source.node);
    if (source.looks > 0) text += ", looks: " + std::to_string(source.looks);
    if (source.refunds > 0) text += ", refunds: " + std::to_string(source.refunds);
    if (source.charges > 0) text += ", charges: " + std::to_string(source.charges);
    if (source.kind == TrafficSource::Kind::kWork) {
      text += ", hold: " + format_duration(source.hold);
    }
    if (source.from > Duration(0)) text += ", from: " + format_duration(source.from);
    if (source.until) text += ", until: " + format_duration(*source.until);
    line(text + " }");
  }
  if (!scenario.faults.empty() || !scenario.questions.empty()) line("steps:");
  for (const Fault& fault : scenario.faults) {
    std::string text =
        "  - { at: " + format_duration(fault.at) + ", fault: " + std::string(name_of(fault.kind));
    if (fault.node) text += ", node: " + std::to_string(*fault.node);
    if (fault.length > Duration(0)) text += ", for: " + format_duration(fault.length);
    if (!fault.rule.empty()) text += ", rule: " + fault.rule;
    if (!fault.key.empty()) text += ", key: " + quoted(fault.key);
    if (!fault.zone.empty()) text += ", zone: " + quoted(fault.zone);
    if (fault.rows > 0) text += ", rows: " + std::to_string(fault.rows);
    if (fault.limit != 0) text += ", limit: " + std::to_string(fault.limit);
    line(text + " }");
  }
  for (const Question& question : scenario.questions) {
    std::string text = "  - { at: " + format_duration(question.at) +
                       ", node: " + std::to_string(question.node) + ", " +
                       std::string(kVerbs[static_cast<std::size_t>(question.verb)]) + ": " +
                       quoted(question.key);
    if (!question.rule.empty()) text += ", rule: " + question.rule;
    if (question.cost != 1) text += ", cost: " + std::to_string(question.cost);
    if (question.allowed)
      text += std::string(", allowed: ") + (*question.allowed ? "true" : "false");
    if (question.left) text += ", left: " + std::to_string(*question.left);
    line(text + " }");
  }
  return out;
}

}  // namespace weir::sim
