// Whole simulations: they repeat exactly, faults do what they say, and checks fail when they
// should.

#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <string>

#include "config/config.h"
#include "simulate/run.h"
#include "simulate/shrink.h"
#include "simulate/swarm.h"
#include "simulate/timeline_page.h"

namespace weir::sim {
namespace {

using namespace std::chrono_literals;

Scenario scenario_of(const std::string& text) {
  auto scenario = read_scenario(text, "test.yaml");
  if (!scenario) {
    ADD_FAILURE() << scenario.error().front().to_string();
    return {};
  }
  return *std::move(scenario);
}

std::string played(const Scenario& scenario, std::uint64_t seed) {
  Timeline timeline(100'000);
  const Outcome outcome = run(scenario, seed, &timeline);
  std::string text = to_text(outcome, scenario, seed);
  for (const std::string& line : timeline.lines()) text += line + "\n";
  return text;
}

constexpr const char* kFleet = R"(
name: a fleet
length: 20s
nodes: 3
settings: { store: { redis: "redis://redis", mode: MODE } }
rules: [{ id: r, algorithm: fixed_window, limit: 50, window: 1s }]
traffic: [{ kind: steady, rate: 400, keys: 5, until: 8s }]
steps:
  - { at: 2s, fault: cut, node: 1, for: 1s }
  - { at: 4s, fault: failover, for: 20ms }
  - { at: 6s, fault: kill, node: 2, for: 500ms }
)";

Scenario fleet(const std::string& mode) {
  std::string text = kFleet;
  return scenario_of(text.replace(text.find("MODE"), 4, mode));
}

TEST(Simulate, SameSeedIsTheSameRunToTheByte) {
  for (const char* const mode : {"strict", "leased", "async"}) {
    const Scenario scenario = fleet(mode);
    const std::string once = played(scenario, 7);
    EXPECT_EQ(once, played(scenario, 7)) << mode;
    EXPECT_NE(once, played(scenario, 8)) << mode;
  }
}

TEST(Simulate, DrawnScenarioIsTheSameWhenItIsWrittenAndRead) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Scenario drawn = draw_scenario(seed);
    EXPECT_EQ(to_yaml(scenario_of(to_yaml(drawn))), to_yaml(drawn)) << seed;
  }
}

TEST(Simulate, FaultsHurtAndHeal) {
  const Scenario scenario = fleet("strict");
  const Outcome outcome = run(scenario, 3, nullptr);
  EXPECT_FALSE(outcome.violation) << outcome.violation->what;
  EXPECT_GT(outcome.tally.rules[0].alone, 100u);
  EXPECT_GT(outcome.tally.rules[0].allowed, 500u);
  EXPECT_GT(outcome.tally.rules[0].denied, 500u);
  EXPECT_GT(outcome.tally.late, 1'000u);
}

// Every node asks for more than the limit. One place is cut off, and the Redis of all places dies.
TEST(Simulate, PlacesShareALimitAndNoCheckWaits) {
  const Scenario scenario = scenario_of(R"(
length: 40s
nodes: 6
places: [0ms, 80ms, 150ms]
settings: { store: { redis: "redis://redis", world: "redis://world" } }
rules: [{ id: r, algorithm: fixed_window, limit: 300, window: 5s, scope: world }]
traffic: [{ kind: steady, rate: 300, keys: 2, until: 26s }]
steps:
  - { at: 6s, fault: cut, node: 2, for: 3s }
  - { at: 7s, node: 2, fault: block, for: 60s, key: mallory }
  - { at: 12s, fault: restart, for: 2s }
  - { at: 16s, node: 1, fault: lift, key: mallory }
  - { at: 18s, fault: kill, node: 5, for: 1s }
)");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome outcome = run(scenario, seed, nullptr);
    EXPECT_FALSE(outcome.violation) << seed << ": " << outcome.violation->what;
    EXPECT_EQ(outcome.tally.late, 0u);
    EXPECT_GT(outcome.tally.rules[0].alone, 100u);
    EXPECT_GT(outcome.tally.rules[0].denied, 500u);
  }
}

TEST(Simulate, LocalCountsAreOfOneNode) {
  Scenario scenario = fleet("local");
  EXPECT_FALSE(run(scenario, 3, nullptr).violation);
}

// Expects all these lines, and no broken promise.
void expect_lines(const std::string& scenario, std::initializer_list<const char*> lines) {
  const std::string text = played(scenario_of(scenario), 5);
  for (const char* const line : lines) EXPECT_NE(text.find(line), std::string::npos) << line;
  EXPECT_EQ(text.find("BROKEN"), std::string::npos);
}

// Nodes take slots, and any node releases them.
TEST(Simulate, WorkTakesSlotsAndReleasesThem) {
  expect_lines(
      R"(
length: 8s
nodes: 3
settings: { store: { redis: "redis://redis", mode: leased } }
rules: [{ id: r, of: concurrency, limit: 6 }]
traffic: [{ kind: work, rate: 40, keys: 2, hold: 500ms }]
)",
      {"reserve 1 allowed, holds as #", "denied, holds nothing", " charged, ", " unknown, "});
}

// The same with leases. One node dies; others get its slots when its lease has ended.
TEST(Simulate, WorkTakesSlotsOnLease) {
  expect_lines(
      R"(
length: 20s
nodes: 3
settings: { store: { redis: "redis://redis", mode: strict } }
rules: [{ id: r, of: concurrency, limit: 6, mode: leased }]
traffic: [{ kind: work, rate: 60, keys: 2, hold: 500ms }]
steps: [{ at: 6s, fault: kill, node: 1, for: 9s }]
)",
      {"node 0: r k0 reserve 1 allowed, holds as #", "node 1: r k0 reserve 1 allowed, holds as #",
       "denied, holds nothing", " charged, ", " unknown, ", "end of kill"});
}

// Nodes change rows at once, one of them many rows.
TEST(Simulate, RowsOfTenantsReachAllNodes) {
  expect_lines(
      R"(
length: 24s
nodes: 3
settings: { store: { redis: "redis://redis", mode: strict } }
rules: [{ id: r, algorithm: fixed_window, limit: 20, window: 2s, tenants: true }]
traffic: [{ kind: steady, rate: 60, keys: 3, until: 11s }]
steps:
  - { at: 2s, fault: rows, node: 0, key: k0, limit: 3 }
  - { at: 2s, fault: rows, node: 1, key: k1, limit: 4 }
  - { at: 4s, fault: rows, node: 2, rows: 400, limit: 5 }
  - { at: 4010ms, fault: rows, node: 1, key: k1, limit: -2 }
  - { at: 7s, fault: cut, node: 1, for: 3s }
  - { at: 8s, fault: rows, node: 1, key: k2, limit: 0 }
)",
      {"400 rows in version", ": taken", "1 rows in version", ": alone", "hit 1 denied, left 0"});
}

// Nodes hold units. Any node commits them once, or they lapse; some commits come too late.
TEST(Simulate, WorkHoldsUnitsAndCommitsThem) {
  expect_lines(R"(
length: 8s
nodes: 3
settings: { store: { redis: "redis://redis", mode: strict } }
rules: [{ id: r, algorithm: fixed_window, limit: 60, window: 2s, max_holds: 20 }]
traffic: [{ kind: work, rate: 40, keys: 3, cost: 9, hold: 500ms }]
)",
               {"allowed, holds as #", "denied, holds nothing", " charged, ", " unknown, "});
}

// Scenarios that simulations found, and that were fixed; the name has the seed, if there is one.
TEST(Simulate, FoundScenariosHold) {
  int played = 0;
  for (const auto& file : std::filesystem::directory_iterator(WEIR_FOUND)) {
    const auto text = read_config_file(file.path());
    ASSERT_TRUE(text) << file.path();
    const Scenario scenario = scenario_of(*text);
    const std::string name = file.path().stem();
    const auto number = Seed::parse(name.substr(name.find_last_of('_') + 1));
    for (const std::uint64_t seed : {std::uint64_t{1}, number ? number->number : 2}) {
      ++played;
      const Outcome outcome = run(scenario, seed, nullptr);
      EXPECT_FALSE(outcome.violation)
          << file.path() << ", seed " << seed << ": " << outcome.violation->what;
    }
  }
  EXPECT_GE(played, 3);
}

// Units come back when the window ends. In another zone the window goes on, and none come back.
TEST(Simulate, WindowsOfACalendarEndAndChange) {
  const std::string text = R"(
begins: 1711846795
length: 9s
nodes: 2
settings: { store: { redis: "redis://redis", mode: MODE } }
rules: [{ id: r, limit: 2, window: day, zone: Europe/Berlin, resets_at: "02:30" }]
steps:
  - { at: 1s, hit: a, allowed: true }
  - { at: 2s, hit: a, allowed: true, left: 0 }
  - { at: 3s, hit: a, allowed: false }
  - { at: 4s, fault: zone, zone: ZONE }
  - { at: 4500ms, hit: a, allowed: false }
  - { at: 6s, hit: a, allowed: ENDS }
)";
  const auto broken = [&](const std::string& mode, const std::string& zone, const char* ends) {
    std::string changed = text;
    changed.replace(changed.find("MODE"), 4, mode);
    changed.replace(changed.find("ZONE"), 4, zone);
    changed.replace(changed.find("ENDS"), 4, ends);
    const Outcome outcome = run(scenario_of(changed), 1, nullptr);
    return outcome.violation ? outcome.violation->promise : "";
  };
  for (const std::string mode : {"strict", "leased", "local"}) {
    EXPECT_EQ(broken(mode, "Europe/Berlin", "true"), "") << mode;
    EXPECT_EQ(broken(mode, "Europe/Berlin", "false"), "expected") << mode;
  }
  for (const std::string mode : {"strict", "leased"}) {
    EXPECT_EQ(broken(mode, "Asia/Kathmandu", "false"), "") << mode;
  }
}

TEST(Simulate, BoundariesThatAreDrawnAreThoseOfTheRules) {
  for (const Boundary& boundary : boundaries()) {
    Scenario scenario;
    scenario.rules = {R"({"id":"r","limit":1,)" + std::string(boundary.fields) + "}"};
    const auto means = means_of(scenario);
    ASSERT_TRUE(means) << boundary.fields;
    const Rule& rule = means->rules.front();
    const Instant at(std::chrono::seconds(boundary.at_s));
    EXPECT_EQ(window_ends(rule.calendar, rule.quota, at - 1s).current, at) << boundary.fields;
    EXPECT_EQ(window_ends(rule.calendar, rule.quota, at).previous, at) << boundary.fields;
  }
}

// Wrong expectations are found, and reported with their times.
TEST(Simulate, ExpectedAnswersAreCompared) {
  const std::string text = R"(
rules: [{ id: r, algorithm: fixed_window, limit: 2, window: 1m }]
steps:
  - { at: 1s, hit: a, allowed: true, left: 1 }
  - { hit: a, allowed: true, left: 0 }
  - { at: 2s, hit: a, allowed: DENIED }
)";
  const auto with = [&](const std::string& denied) {
    std::string changed = text;
    return run(scenario_of(changed.replace(changed.find("DENIED"), 6, denied)), 1, nullptr);
  };
  EXPECT_FALSE(with("false").violation);
  const Outcome broken = with("true");
  ASSERT_TRUE(broken.violation);
  EXPECT_EQ(broken.violation->promise, "expected");
  EXPECT_EQ(broken.violation->at, 2s);
  EXPECT_NE(to_text(broken, {}, 1).find("seed 1@" + build_id()), std::string::npos);
}

TEST(Simulate, PageHasAColumnForEachNode) {
  Timeline timeline(2);
  timeline.add(1s, "an old line");
  timeline.add(2s, "node 1: r <k> hit 1 denied");
  timeline.add(3s, "BROKEN: never over");
  const std::string page = to_page(timeline, "one & all\n", 2);
  EXPECT_NE(page.find("<pre>one &amp; all\n</pre>"), std::string::npos);
  EXPECT_NE(page.find("<th>node 0<th>node 1\n<tr"), std::string::npos);
  EXPECT_NE(page.find("<td>2s<td><td><td class=\"denied\">node 1: r &lt;k> hit 1 denied\n"),
            std::string::npos);
  EXPECT_NE(page.find("<td>3s<td class=\"broken\">BROKEN: never over"), std::string::npos);
  EXPECT_EQ(page.find("an old line"), std::string::npos);
}

// Only the wrong expectation is left.
TEST(Simulate, ShrinksToWhatItTakes) {
  Scenario scenario = fleet("strict");
  scenario.questions.push_back({.at = 9s, .key = "a", .allowed = false});
  scenario.questions.push_back({.at = 9s, .key = "b", .allowed = true});
  const Shrunk shrunk = shrink(scenario, 7, "expected", 200);
  EXPECT_TRUE(shrunk.scenario.faults.empty());
  EXPECT_TRUE(shrunk.scenario.traffic.empty());
  ASSERT_EQ(shrunk.scenario.questions.size(), 1u);
  EXPECT_EQ(shrunk.scenario.questions[0].key, "a");
  EXPECT_EQ(shrunk.scenario.nodes, 1);
  EXPECT_LT(shrunk.scenario.length, 20s);
  EXPECT_EQ(run(shrunk.scenario, 7, nullptr).violation->promise, "expected");
}

TEST(Simulate, ContradictionsAreRefusedWhereTheyAre) {
  const auto mistake = [](const std::string& text) {
    const auto scenario = read_scenario(text, "s.yaml");
    return scenario ? std::string() : scenario.error().front().to_string();
  };
  const std::string rules = "rules: [{ id: r, limit: 1, window: 1s }]\n";
  EXPECT_EQ(mistake(rules), "");
  EXPECT_EQ(mistake(rules + "length: 1s\nsteps:\n  - { at: 2s, hit: a }"),
            "s.yaml:4:11: it comes after the end of the scenario");
  EXPECT_EQ(mistake(rules + "steps:\n  - { fault: pause }"),
            "s.yaml:3:14: it needs a Redis: 'settings' has no 'store'");
  EXPECT_EQ(mistake(rules + "steps:\n  - { hit: a, node: 1 }"),
            "s.yaml:3:21: the scenario has no such node");
  EXPECT_EQ(mistake(rules + "traffic:\n  - { kind: steady, rules: [x] }"),
            "s.yaml:3:28: the scenario has no rule 'x'");
  EXPECT_EQ(mistake(rules + "steps:\n  - { at: 9s, fault: kill, for: 2s }"),
            "s.yaml:3:5: the fault lasts longer than the scenario");
  EXPECT_EQ(mistake(rules + "traffic:\n  - { kind: work }"),
            "s.yaml:3:5: work needs one rule, with 'max_holds' or 'of: concurrency'");
  EXPECT_EQ(mistake("rules: [{ id: r, limit: 1, window: 1s, max_holds: 1 }]\n"
                    "traffic:\n  - { kind: work, hold: 2s }"),
            "s.yaml:3:25: it is longer than the rule's window");
  EXPECT_EQ(mistake(rules + "steps:\n  - { fault: zone, zone: Mars }"),
            "s.yaml:3:5: there is no time zone 'Mars'");
  const std::string world = "settings: {store: {redis: 'redis://redis', world: 'redis://world'}}\n";
  const std::string places = world + "places: [0ms, 80ms]\n";
  EXPECT_NE(mistake(rules + world).find("need each other"), std::string::npos);
  EXPECT_NE(mistake(rules + "places: [0ms, 80ms]").find("need each other"), std::string::npos);
  EXPECT_NE(mistake(rules + places).find("add 'scope: world' to each rule"), std::string::npos);
  EXPECT_EQ(mistake("rules: [{ id: r, limit: 1, window: 1s, scope: world }]\n" + places +
                    "traffic:\n  - { kind: steady, refunds: 5 }"),
            "s.yaml:5:30: between places they wait for an answer, which no check does");
  EXPECT_NE(mistake(rules + "places: [far]").find("milliseconds such as 80ms"), std::string::npos);
  EXPECT_NE(mistake(rules + "nodes: 2").find("several nodes need a 'store'"), std::string::npos);
  EXPECT_NE(mistake("rules: [{ id: r, limit: -1, window: 1s }]").find("s.yaml:1:"),
            std::string::npos);
  EXPECT_NE(mistake("nothing"), "");
}

TEST(Simulate, SeedsKnowTheirBuild) {
  EXPECT_EQ(Seed::parse("7")->number, 7u);
  EXPECT_EQ(Seed::parse("7@0123abcd")->build, "0123abcd");
  for (const char* const text : {"", "x", "-1", "7@", "@0123abcd"}) {
    EXPECT_FALSE(Seed::parse(text)) << text;
  }
}

}  // namespace
}  // namespace weir::sim
