// Feeds a dry run, parted by zero bytes: the query of /admin/rules/validate, its body, and what a
// server says to `weir validate --against`. What the query and the body mean is tried on requests
// that are always the same; the figures agree with each other, and with the words for them.

#include <algorithm>
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/percent.h"
#include "cli/commands.h"
#include "config/config.h"
#include "observe/keys/recent_asks.h"
#include "rulebook/rulebook.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

constexpr std::string_view kInForce = R"(
rules:
  - {id: login, limit: 5, window: 10s, on_deny: {block: [5s, 10s]}}
  - {id: api, limit: 20, window: 30s, algorithm: token_bucket, burst: 40}
  - {id: plans, limit: 3, window: 20s, match: {}, key: client,
     tier: header:X-Plan, tiers: [{name: gold, limit: 9, window: 1m}]}
)";

struct World {
  World() {
    book.load(*parse_config(std::string(kInForce), "weir.yaml"), TestDoor::kStart);
    for (int i = 0; i < 300; ++i) {
      asks.core(0).add({.key = static_cast<std::uint64_t>(i % 7) + 1,
                        .tier = RecentAsk::tier_named(i % 2 == 0 ? "gold" : ""),
                        .place = static_cast<std::uint16_t>(i % 7 * 15),
                        .rule = static_cast<std::uint16_t>(i % 3),
                        .operation = i % 11 == 0 ? Operation::kCharge : Operation::kSpendEach,
                        .cost = i % 13 == 0 ? 3 : 1,
                        .at = TestDoor::kStart + i * std::chrono::milliseconds(330)});
    }
  }

  // Asks a door, whose desk answers with this verdict.
  TestReply ask(std::string_view query, std::string_view body) {
    const auto is_plain = [](char c) { return c > ' ' && c < 0x7f && c != '#' && c != '%'; };
    return door.ask(
        post("/admin/rules/validate?" + percent_encoded(query, is_plain), std::string(body)));
  }

  TestDoor door;
  RecentAsks asks{RecentAsks::kBytesMin, 1, TestDoor::kStart};
  Rulebook book{{},
                [](std::vector<Rule> rules, RequestSources) {
                  RuleNumber number = 0;
                  for (Rule& rule : rules) rule.number = number++;
                  return std::make_shared<const RuleSet>(std::move(rules));
                },
                [] {}};
};

void check_count(const DryRun::Count& count, const DryRun::Count& of) {
  WEIR_ASSERT(count.keys <= count.requests);
  WEIR_ASSERT(count.requests <= of.requests && count.keys <= of.keys);
}

void check_figures(const DryRun& run, const RuleTrial& trial) {
  if (!run.unknown.empty()) return;
  WEIR_ASSERT(run.over > Duration{0} && run.over <= trial.over);
  for (const DryRun::Outcome& outcome : {run.in_force, run.wanted}) {
    const auto& [limit, denied, spared, too_early] = outcome;
    check_count({denied.requests + spared.requests, denied.keys + spared.keys}, run.asked);
    WEIR_ASSERT(too_early <= denied.requests + spared.requests);
  }
  check_count(run.newly_denied, run.wanted.denied);
  check_count(run.newly_allowed, run.in_force.denied);
  WEIR_ASSERT(run.in_force.denied.requests + run.newly_denied.requests ==
              run.wanted.denied.requests + run.newly_allowed.requests);
  const auto wanted = std::ranges::find(run.curve, run.wanted.limit, &DryRun::Outcome::limit);
  WEIR_ASSERT(run.curve.empty() || wanted != run.curve.end());
  for (const DryRun::Outcome& point : run.curve) check_count(point.denied, run.asked);
  if (!run.curve.empty()) WEIR_ASSERT(wanted->denied.requests == run.wanted.denied.requests);
}

void check_words(const boost::json::value& said) {
  const std::string words = dry_runs_in_words(said);
  WEIR_ASSERT(!words.empty());
  WEIR_ASSERT(std::ranges::none_of(words, [](char c) { return c != '\n' && c >= 0 && c < ' '; }));
  WEIR_ASSERT(words.find("\xc2\x9b") == std::string::npos);  // begins a command to a terminal
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  static World world;  // to make one takes longer than all the rest
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto part = [&] {
    const std::string_view taken = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(taken.size() + 1, rest.size()));
    return taken;
  };
  const auto query = part();
  const auto body = part();
  try {
    check_words(boost::json::parse(rest));
  } catch (const std::exception&) {
    // Weir has not written this, and the command says so.
  }
  world.door.desk.last_trial = {};
  const bool is_taken = world.ask(query, body).status == 200;
  const RuleTrial trial = world.door.desk.last_trial;
  if (trial.over == Duration{0}) return 0;
  WEIR_ASSERT(is_taken);
  world.door.desk.verdict = world.book.judge(trial, &world.asks, world.door.now);
  for (const DryRun& run : world.door.desk.verdict.dry_runs) check_figures(run, trial);
  const TestReply reply = world.ask(query, body);
  world.door.desk.verdict = {};
  check_words(boost::json::parse(reply.body));
  return 0;
}
