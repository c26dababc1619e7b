#include "scenarios/scenario.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/decimal.h"
#include "base/duration_text.h"
#include "config/fields/section_reader.h"
#include "config/yaml/yaml_document.h"

namespace weir::scenarios {
namespace {

using Way = Step::Way;

constexpr FieldRange kTime = {0, 1'000'000'000'000'000};
constexpr std::string_view kVerbs[] = {"hit",     "look",    "charge", "drain",  "reset",
                                       "reserve", "acquire", "commit", "release"};
constexpr std::string_view kCauses[] = {"counted",     "not_counted", "deny_list",
                                        "missing_key", "blocked",     "charged",
                                        "noted",       "released",    "unknown"};

// Of an ask, alone or in a list.
constexpr std::array kAskFields = {
    row::text("hit", kAnyText, "The key that spends."),
    row::text("look", kAnyText, "The key that is looked at."),
    row::text("charge", kAnyText, "The key that pays, whether or not it fits."),
    row::text("drain", kAnyText, "The key that pays what it has, if all does not fit."),
    row::text("reset", kAnyText, "The key that is forgotten."),
    row::text("reserve", kAnyText, "The key of which units are held."),
    row::text("acquire", kAnyText, "The key of which a slot is held."),
    row::text("commit", kAnyText, "The key whose last hold has cost so much."),
    row::text("release", kAnyText, "The key whose last slot is given back."),
    row::duration("hold", kTime, "For how long units or slots are held.").defaults_to("30s"),
    row::boolean("more", "The work goes on."),
    row::text("rule", kAnyText, "The id of the rule. Without it, the first."),
    row::integer("cost", {-kCostMax, kCostMax}, "How many units.").defaults_to("1"),
    row::text("tier", kAnyText, "The key's tier."),
    row::text("client", kAnyText, "The client's address."),
    row::text("left", kAnyText, "What remains; 'none' if no limit is told."),
    row::text("denied", kAnyText, "When to retry, 'never' or 'yes'. Without it, allowed."),
    row::choice("because", kCauses, "Why, of hosts that tell."),
    row::integer("status", {100, 599}, "The status, of HTTP hosts."),
    row::text("body", kAnyText, "The body, of HTTP hosts."),
    row::texts("has", kAnyText, "Parts of the reply to 'http'."),
    row::texts("lacks", kAnyText, "What is no part of the reply to 'http'."),
};
constexpr Section kAsk = {"an ask", "An ask of a list.", kAskFields};

constexpr std::array kOwnStepFields = {
    row::duration("at", kTime, "When, since the scenario began. Without it, as the step before."),
    row::integer("times", {1, 100'000}, "How often in succession.").defaults_to("1"),
    row::sections("together", kAsk, "Asks that are all or nothing."),
    row::sections("each", kAsk, "Asks of one request, each by itself."),
    row::text("request", kAnyText, "The target of a request that the rules are to match."),
    row::text("http", kAnyText, "A request to the HTTP door: its method, target and body."),
    row::text("method", kAnyText, "Its method.").defaults_to("GET"),
    row::text("host", kAnyText, "Its host."),
    row::texts("headers", kAnyText, "Its headers, as 'Name: value'."),
    row::text("block", kAnyText, "A key that is blocked by hand: of the rule, or of all."),
    row::duration("for", kTime, "For so long.").defaults_to("1m"),
};
constexpr auto kStepFields = [] {
  std::array<Field, kAskFields.size() + kOwnStepFields.size()> fields{};
  std::ranges::copy(kOwnStepFields, std::ranges::copy(kAskFields, fields.begin()).out);
  return fields;
}();
constexpr Section kStep = {"a step", "A step of a scenario.", kStepFields};

constexpr Field kScenarioFields[] = {
    row::text("name", kAnyText, "What it says, as a sentence.").required(),
    row::texts("only", kAnyText, "The hosts that it is about."),
    row::text("token", kAnyText, "The token of admins."),
    row::boolean("network", "The server listens on more than loopback."),
    row::tree("settings", "What the configuration says apart from the rules."),
    row::text("config", kAnyText, "A configuration in place of both: its path from this folder."),
    row::sections("rules", kRuleSection, "The rules, as in a configuration."),
    row::sections("steps", kStep, "What is asked, and answered."),
};
constexpr Section kScenario = {"a scenario", "A scenario.", kScenarioFields};
constexpr Field kFileFields[] = {row::sections("scenarios", kScenario, "Scenarios.")};
constexpr Section kFile = {"the file", "A file of scenarios.", kFileFields};

std::string text_of(const SectionReader& reader, std::string_view field) {
  return reader.get<std::string>(field).value_or("");
}

Outcome read_outcome(const SectionReader& reader) {
  Outcome outcome{.because = text_of(reader, "because"),
                  .status = static_cast<int>(reader.get<std::int64_t>("status").value_or(0)),
                  .body = reader.get<std::string>("body")};
  if (const auto left = reader.get<std::string>("left")) {
    outcome.left = *left == "none" ? -1 : read_decimal<std::int64_t>(*left).value_or(-2);
    if (*outcome.left < -1) reader.reject("left", "a whole number, or none");
  }
  for (const YamlNode* part : reader.texts("has")) outcome.has.push_back(part->text);
  for (const YamlNode* part : reader.texts("lacks")) outcome.lacks.push_back(part->text);
  const auto denied = reader.get<std::string>("denied");
  if (!denied) return outcome;
  outcome.allowed = false;
  outcome.never = *denied == "never";
  outcome.retry = parse_duration(*denied);
  if (!outcome.never && !outcome.retry && *denied != "yes") {
    reader.reject("denied", "a duration, never or yes");
  }
  return outcome;
}

// Nothing if it names no key.
std::optional<Question> read_question(const SectionReader& reader, const Scenario& scenario) {
  std::optional<Question> question;
  for (std::size_t verb = 0; verb < std::size(kVerbs); ++verb) {
    if (!reader.is_set(kVerbs[verb])) continue;
    if (question) {
      reader.mistake(kVerbs[verb],
                     "an ask has one of hit, look, charge, drain, reset, reserve, acquire, commit, "
                     "release");
    }
    question = Question{.verb = static_cast<Verb>(verb), .key = text_of(reader, kVerbs[verb])};
  }
  if (!question) return question;
  question->rule = text_of(reader, "rule");
  if (question->rule.empty() && !scenario.rules.empty()) question->rule = scenario.rules[0].id;
  if (std::ranges::find(scenario.rules, question->rule, &Rule::id) == scenario.rules.end()) {
    reader.mistake(reader.place(), "the scenario has no rule '" + question->rule + "'");
  }
  question->tier = text_of(reader, "tier");
  question->client = text_of(reader, "client");
  question->cost = reader.get<std::int64_t>("cost").value_or(1);
  question->hold = reader.get<Duration>("hold").value_or(std::chrono::seconds(30));
  question->goes_on = reader.get<bool>("more").value_or(false);
  question->expected = read_outcome(reader);
  return question;
}

Step read_step(const SectionReader& reader, const Scenario& scenario) {
  Step step{.at = scenario.steps.empty() ? Duration(0) : scenario.steps.back().at,
            .times = reader.get<std::int64_t>("times").value_or(1),
            .line = reader.place().line};
  if (const auto at = reader.get<Duration>("at")) step.at = *at;
  int ways = 0;
  const auto is_way = [&](std::string_view field, Way way) {
    if (!reader.is_set(field)) return false;
    ++ways;
    step.way = way;
    return true;
  };
  for (const auto& [field, way] : {std::pair{"together", Way::kTogether}, {"each", Way::kEach}}) {
    if (!is_way(field, way)) continue;
    reader.for_each(field, [&](const SectionReader& ask) {
      auto question = read_question(ask, scenario);
      if (question && question->is_of_holds()) {
        ask.mistake(ask.place(), "holds come and go one by one");
      } else if (question) {
        step.questions.push_back(std::move(*question));
      } else {
        ask.mistake(ask.place(), "an ask needs one of hit, look, charge, drain, reset");
      }
    });
  }
  const bool is_described = is_way("request", Way::kRequest);
  const bool is_http = is_way("http", Way::kHttp);
  if (is_described) {
    step.target = text_of(reader, "request");
    step.method = reader.get<std::string>("method").value_or("GET");
  }
  if (is_http) {
    const std::string request = text_of(reader, "http");
    step.method = request.substr(0, request.find(' '));
    step.target = request.substr(std::min(request.size(), step.method.size() + 1));
  }
  if (is_described || is_http) {
    step.host = reader.get<std::string>("host").value_or("localhost");
    for (const YamlNode* header : reader.texts("headers")) step.headers.push_back(header->text);
    step.questions = {{.client = text_of(reader, "client"), .expected = read_outcome(reader)}};
  }
  if (is_way("block", Way::kBlock)) {
    step.block = reader.get<Duration>("for").value_or(std::chrono::minutes(1));
    step.questions = {{.rule = text_of(reader, "rule"), .key = text_of(reader, "block")}};
  }
  if (auto question = read_question(reader, scenario)) {
    ++ways;
    step.questions = {std::move(*question)};
  }
  if (ways != 1) {
    reader.mistake(reader.place(),
                   "a step has one of hit, look, charge, drain, reset, together, each, request, "
                   "http and block");
  }
  return step;
}

void make_rule_reachable(Rule& rule, bool has_costs) {
  if (rule.descriptor) return;
  rule.descriptor = DescriptorMatch{.domain = std::string(kDomain), .entries = {{.key = rule.id}}};
  if (rule.match) return;
  rule.match.emplace();
  rule.match->paths.emplace_back("/" + rule.id);
  if (rule.group.empty()) rule.group = rule.id;
  if (rule.key_parts.empty()) {
    rule.key_parts = {{.property = KeyPart::Property::kHeader, .name = "X-Key"}};
  }
  if (!rule.tier && !rule.tiers.empty()) {
    rule.tier = KeyPart{.property = KeyPart::Property::kHeader, .name = "X-Tier"};
  }
  if (has_costs) rule.cost_from = {.property = KeyPart::Property::kHeader, .name = "X-Cost"};
}

// A configuration of its own.
void read_scenario_rules(const SectionReader& reader, Scenario& scenario) {
  const auto json = [&](std::string_view field) {
    const auto node = reader.get<const YamlNode*>(field);
    return node ? to_json(**node, JsonFor::kConfiguration).value_or("") : std::string();
  };
  std::string text = json("settings");
  text = text.empty() ? "{" : text.substr(0, text.size() - 1) + ",";
  text += "\"rules\":" + (json("rules").empty() ? "[]" : json("rules")) + "}";
  const std::string file = text_of(reader, "config");
  if (!file.empty() && (reader.is_set("rules") || reader.is_set("settings"))) {
    reader.mistake("config", "a configuration has rules and settings of its own");
  }
  auto parsed = file.empty() ? parse_config(text, "the rules")
                             : load_config(std::string(WEIR_SCENARIOS "/") + file);
  if (!parsed) {
    for (const ConfigError& error : parsed.error())
      reader.mistake(reader.place(), error.to_string());
  } else {
    scenario.settings = std::move(parsed->settings);
    scenario.sources = std::move(parsed->sources);
    scenario.rules = std::move(parsed->rules);
  }
}

Scenario read_scenario(const SectionReader& reader) {
  Scenario scenario{.name = text_of(reader, "name"),
                    .line = reader.place().line,
                    .token = reader.get<std::string>("token"),
                    .is_on_the_network = reader.get<bool>("network").value_or(false)};
  for (const YamlNode* host : reader.texts("only")) scenario.only.push_back(host->text);
  read_scenario_rules(reader, scenario);
  reader.for_each("steps", [&](const SectionReader& step) {
    scenario.steps.push_back(read_step(step, scenario));
  });
  if (scenario.steps.empty()) reader.mistake(reader.place(), "a scenario needs steps");
  make_reachable(scenario);
  return scenario;
}

}  // namespace

void make_reachable(Scenario& scenario) {
  const bool has_costs = std::ranges::any_of(scenario.steps, [](const Step& step) {
    return std::ranges::any_of(step.questions, [](const auto& q) { return q.cost != 1; });
  });
  for (Rule& rule : scenario.rules) make_rule_reachable(rule, has_costs);
}

const Rule& Scenario::rule(const std::string& id) const {
  return *std::ranges::find(rules, id, &Rule::id);
}

Result<std::vector<Scenario>, ConfigErrors> read_scenarios(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto document = YamlDocument::parse(text);
  Mistakes mistakes(path);
  std::vector<Scenario> scenarios;
  if (!document) {
    mistakes.add(document.error().place, document.error().message);
  } else if (const YamlNode* root = document->root();
             root == nullptr || root->kind != YamlNode::Kind::kMap) {
    mistakes.add({1, 1}, "a file of scenarios is a map with 'scenarios:'");
  } else {
    SectionReader(kFile, *root, mistakes).for_each("scenarios", [&](const SectionReader& scenario) {
      scenarios.push_back(read_scenario(scenario));
    });
  }
  if (!mistakes.empty()) return mistakes.take();
  return scenarios;
}

}  // namespace weir::scenarios
