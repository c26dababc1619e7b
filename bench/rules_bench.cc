// Matching one request against many rules: nanoseconds a request, and how they grow.
//
//   match/paths/N      of N rules half have an exact path, half a beginning of paths,
//                      one in ten a header as well, all two methods; and one matches all
//   match/regexes/N    the same, but every tenth rule has an expression for its path
//
// The requests are for paths of rules in turn, so that each finds two rules.
// By hand: build/release/bench/rules_bench

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/rule_set.h"

namespace weir {
namespace {

constexpr std::array kHeaders = {
    NameValue{"Host", "www.example.com"}, NameValue{"User-Agent", "Mozilla/5.0 (X11; Linux)"},
    NameValue{"Accept", "application/json"}, NameValue{"X-Forwarded-For", "192.0.2.7"},
    NameValue{"X-Api-Key", "0123456789abcdef"}};

std::string path_of(std::size_t rule) {
  return "/api/v" + std::to_string(rule % 3) + "/service-" + std::to_string(rule / 3) + "/items";
}

Rule rule(std::size_t index, bool has_regexes) {
  RequestMatch match{.methods = {"GET", "POST"}};
  const std::string path = path_of(index);
  if (has_regexes && index % 10 == 9) {
    match.path_regexes.push_back({.pattern = path + "/[0-9]+(/.*)?"});
  } else {
    match.paths.emplace_back(index % 2 == 0 ? path : path + "*");
  }
  if (index % 10 == 5) match.headers.push_back({"X-Api-Key", TextPattern("*")});
  return {.id = "rule-" + std::to_string(index), .match = std::move(match)};
}

RuleSet rules_of(std::size_t count, bool has_regexes) {
  std::vector<Rule> rules;
  for (std::size_t i = 0; i + 1 < count; ++i) rules.push_back(rule(i, has_regexes));
  rules.push_back({.id = "each", .group = "address", .match = RequestMatch{}});
  return RuleSet(std::move(rules));
}

void match(benchmark::State& state, bool has_regexes) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const RuleSet rules = rules_of(count, has_regexes);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t target = i * 7919 % (count - 1);
    paths.push_back(path_of(target) + (has_regexes && target % 10 == 9 ? "/42" : ""));
  }
  MatchScratch scratch;
  std::size_t next = 0;
  for (auto _ : state) {
    Request request{.method = "GET",
                    .host = "www.example.com",
                    .path = paths[next++ % paths.size()],
                    .headers = kHeaders};
    const auto matched = rules.match(request, scratch, Instant());
    if (matched.size() != 2) state.SkipWithError("a request found other than two rules");
  }
}

void paths(benchmark::State& state) { match(state, false); }
void regexes(benchmark::State& state) { match(state, true); }

BENCHMARK(paths)->Name("match/paths")->Arg(10)->Arg(1'000)->Arg(10'000);
BENCHMARK(regexes)->Name("match/regexes")->Arg(10)->Arg(1'000)->Arg(10'000);

}  // namespace
}  // namespace weir
