// Plays each scenario of this folder on each host that can say all its steps.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/duration_text.h"
#include "scenarios/hosts.h"
#include "scenarios/scenario.h"
#include "server/http/http_test_door.h"
#include "weir/limiter.h"

namespace weir::scenarios {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr Instant kStart = instant_from_epoch_us(1'700'006'400'000'000);  // midnight

// Of both what is expected: a host may say more, and may not know all of it.
std::string shown(const Outcome& outcome, const Outcome& expected, const Outcome& said) {
  std::string text = outcome.allowed ? "allowed" : "denied";
  const auto add = [&](std::string_view name, const std::string& value) {
    text.append(" ").append(name).append(" ").append(value);
  };
  if (expected.left && said.left) add("left", std::to_string(*outcome.left));
  const bool tells_retry = said.retry || said.never;
  if ((expected.retry || expected.never) && tells_retry && !said.allowed) {
    // Seconds are rounded up where they are whole.
    const bool is_whole = said.retry && *said.retry % 1s == 0us;
    const Duration retry = outcome.retry.value_or(0s);
    add("retry",
        outcome.never ? "never" : format_duration(is_whole ? (retry + 1s - 1us) / 1s * 1s : retry));
  }
  if (!expected.because.empty() && !said.because.empty()) add("because", outcome.because);
  if (expected.status != 0 && said.status != 0) add("status", std::to_string(outcome.status));
  if (expected.body && said.body) add("body", *outcome.body);
  return text;
}

void play(const Scenario& scenario, std::size_t host_number, const std::string& file) {
  World world(scenario, kStart);
  Host& host = *world.hosts()[host_number];
  for (const Step& step : scenario.steps) {
    const Instant now = kStart + step.at;
    for (std::int64_t turn = 0; turn < step.times; ++turn) {
      if (step.way == Step::Way::kBlock) {
        world.block(step, now);
        continue;
      }
      const std::vector<Outcome> said = host.ask(step, now);
      SCOPED_TRACE(file + ":" + std::to_string(step.line) + ": " + scenario.name + ", by " +
                   std::string(host.name()));
      ASSERT_EQ(said.size(), step.questions.size());
      for (std::size_t i = 0; i < said.size(); ++i) {
        const Outcome& expected = step.questions[i].expected;
        ASSERT_EQ(shown(said[i], expected, said[i]), shown(expected, expected, said[i]));
        const std::string reply = said[i].has.empty() ? std::string() : said[i].has[0];
        for (const std::string& part : expected.has) EXPECT_THAT(reply, HasSubstr(part));
        for (const std::string& part : expected.lacks) EXPECT_THAT(reply, Not(HasSubstr(part)));
      }
    }
  }
}

bool can_play(const Host& host, const Scenario& scenario) {
  const auto& only = scenario.only;
  if (!only.empty() && std::ranges::find(only, host.name()) == only.end()) return false;
  return std::ranges::all_of(scenario.steps, [&](const Step& step) {
    return step.way == Step::Way::kBlock || host.can_say(step, scenario);
  });
}

TEST(Scenarios, AreAnsweredByAllHosts) {
  std::map<std::string_view, int> played;
  for (const auto& entry : std::filesystem::directory_iterator(WEIR_SCENARIOS)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto read = read_scenarios(entry.path());
    if (!read) {
      for (const ConfigError& error : read.error()) ADD_FAILURE() << error.to_string();
      continue;
    }
    for (const Scenario& scenario : *read) {
      const World world(scenario, kStart);
      int hosts = 0;
      for (std::size_t i = 0; i < world.hosts().size(); ++i) {
        if (!can_play(*world.hosts()[i], scenario)) continue;
        ++hosts;
        ++played[world.hosts()[i]->name()];
        play(scenario, i, entry.path().filename());
      }
      EXPECT_TRUE(hosts > 0 || !scenario.only.empty()) << scenario.name << ": nobody can say it";
    }
  }
  for (const auto& [host, scenarios] : played) std::cout << host << ": " << scenarios << '\n';
  EXPECT_EQ(played.size(), 7u);
}

enum class Asked : std::uint8_t { kHitsThatAllHostsCanSay, kAll };

// A thousand asks of three keys at random times.
Scenario random_scenario(Algorithm algorithm, Asked asked) {
  std::mt19937 random(42);
  Scenario scenario{
      .rules = {{.id = "r",
                 .quota = *Quota::make({.algorithm = algorithm, .limit = 10, .window = 10s})}}};
  Duration at{0};
  for (int i = 0; i < 1'000; ++i) {
    at += std::chrono::milliseconds(random() % 400);
    Question question{.rule = "r",
                      .key = std::to_string(random() % 3),
                      .cost = 1 + static_cast<std::int64_t>(random() % 3)};
    if (asked == Asked::kAll && i % 2 == 0) {
      question.verb = static_cast<Verb>(random() % 4);
      --question.cost;
    }
    scenario.steps.push_back({.at = at, .questions = {question}});
  }
  make_reachable(scenario);
  return scenario;
}

TEST(Scenarios, ByChanceAreAnsweredAlikeWithEveryAlgorithm) {
  for (int i = 0; i < 2 * kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i / 2);
    Scenario scenario = random_scenario(algorithm, static_cast<Asked>(i % 2));
    World world(scenario, kStart);
    int denied = 0;
    for (Step& step : scenario.steps) {
      step.questions[0].expected = world.hosts()[0]->ask(step, kStart + step.at)[0];
      denied += step.questions[0].expected.allowed ? 0 : 1;
    }
    EXPECT_GT(denied, 100) << algorithm_name(algorithm);
    for (std::size_t host = 1; host < world.hosts().size(); ++host) {
      const std::string name(algorithm_name(algorithm));
      if (can_play(*world.hosts()[host], scenario)) play(scenario, host, name);
    }
  }
}

// Without a rule, the same numbers are the same counter: CL.THROTTLE is a token bucket of
// one unit more than its burst.
TEST(Scenarios, DoorsShareOneCounterForOneInlineQuota) {
  World world({}, kStart);
  SetClock clock;
  clock.at = kStart;
  const Limiter limiter(
      world.store(), clock,
      {.algorithm = Algorithm::kTokenBucket, .limit = 30, .window = 1min, .burst = 3}, {});
  const std::string throttle = "CL.THROTTLE user 2 30 60\r\n";
  EXPECT_EQ(converse(world.resp(), throttle, kStart), "*5\r\n:0\r\n:3\r\n:2\r\n:-1\r\n:2\r\n");
  EXPECT_EQ(limiter.hit("", "user")->remaining, 1);
  const std::string check = post(
      "/check", R"({"key":"user","algorithm":"token_bucket","limit":30,"window":60,"burst":3})");
  EXPECT_THAT(converse(world.http(), check, kStart), HasSubstr(R"("remaining":0)"));
  EXPECT_EQ(converse(world.resp(), throttle, kStart), "*5\r\n:1\r\n:3\r\n:0\r\n:2\r\n:6\r\n");
}

TEST(Scenarios, AMistakeIsNamedWithItsPlace) {
  const auto mistakes = [](const std::string& steps) {
    const std::string path = testing::TempDir() + "/scenarios_test.yaml";
    std::ofstream(path) << "scenarios:\n  - name: x\n    rules: [{ id: r, limit: 1, window: 1m }]\n"
                           "    steps:\n" +
                               steps;
    const auto read = read_scenarios(path);
    if (read) return std::string();
    return std::to_string(read.error().front().line) + ": " + read.error().front().message;
  };
  EXPECT_EQ(mistakes("      - { hit: a, left: 0 }"), "");
  EXPECT_EQ(mistakes("      - { hit: a }\n      - { hit: a, lfet: 0 }"),
            "6: unknown key 'lfet'; did you mean 'left'?");
  EXPECT_EQ(mistakes("      - { hit: a, rule: q }"), "5: the scenario has no rule 'q'");
  EXPECT_EQ(mistakes("      - { hit: a, denied: soon }").substr(0, 10), "5: 'denied");
  EXPECT_EQ(mistakes("      - { hit: a, look: b }").substr(0, 22), "5: an ask has one of h");
  EXPECT_EQ(mistakes("      - { left: 3 }").substr(0, 22), "5: a step has one of h");
}

}  // namespace
}  // namespace weir::scenarios
