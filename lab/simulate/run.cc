#include "simulate/run.h"

#include <xxhash.h>

#include <array>
#include <cstdio>

#include "base/decimal.h"
#include "base/duration_text.h"
#include "config/config.h"
#include "weir/version.h"

namespace weir::sim {
namespace {

constexpr std::size_t kProgramMax = std::size_t{1} << 30;

std::string hashed_program() {
  const auto program = read_file("/proc/self/exe", kProgramMax);
  if (!program) return "unknown";
  std::array<char, 9> text{};
  const auto hash = static_cast<std::uint32_t>(XXH3_64bits(program->data(), program->size()));
  std::snprintf(text.data(), text.size(), "%08x", hash);
  return text.data();
}

std::string count(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace

std::optional<Seed> Seed::parse(std::string_view text) {
  const auto sign = text.find('@');
  const auto number = read_decimal<std::uint64_t>(text.substr(0, sign));
  if (!number) return std::nullopt;
  const auto build = sign == std::string_view::npos ? std::string_view() : text.substr(sign + 1);
  if (sign != std::string_view::npos && build.empty()) return std::nullopt;
  return Seed{.number = *number, .build = std::string(build)};
}

const std::string& build_id() {
  static const std::string id = hashed_program();
  return id;
}

Outcome run(const Scenario& scenario, std::uint64_t seed, Timeline* timeline) {
  Outcome outcome;
  const auto means = means_of(scenario);
  if (!means) {
    outcome.violation = {.promise = "readable", .what = means.error().front().to_string()};
    return outcome;
  }
  for (const Rule& rule : means->rules) outcome.rules.push_back(rule.id);
  World world(scenario, *means, seed, timeline);
  world.run();
  outcome.violation = world.violation();
  outcome.tally = world.tally();
  outcome.events = world.events();
  outcome.packets = world.network().packets();
  if (world.redis() != nullptr) outcome.redis_commands = world.redis()->commands();
  return outcome;
}

std::string to_text(const Outcome& outcome, const Scenario& scenario, std::uint64_t seed) {
  std::string out;
  const auto line = [&](const std::string& text) { out += text + "\n"; };
  const Tally& tally = outcome.tally;
  line(scenario.name + ": " + format_duration(scenario.length) +
       ", nodes: " + std::to_string(scenario.nodes) + ", seed " + std::to_string(seed));
  line("requests " + count(tally.requests) + ", answered late " + count(tally.late) +
       (tally.late == 0 ? ""
                        : ", after " + format_duration(tally.latency.at(0.5)) + " (half), " +
                              format_duration(tally.latency.at(0.99)) + " (99 of 100)"));
  for (std::size_t i = 0; i < outcome.rules.size(); ++i) {
    const RuleFigures& rule = tally.rules[i];
    line("rule " + outcome.rules[i] + ": allowed " + count(rule.allowed) + ", denied " +
         count(rule.denied) + ", without the store " + count(rule.alone) + ", failed " +
         count(rule.failed) + "; units over " + count(rule.over) + ", denied early " +
         count(rule.under));
  }
  line("redis commands " + count(outcome.redis_commands) + ", packets " + count(outcome.packets) +
       ", events " + count(outcome.events));
  if (!outcome.violation) {
    line("every promise holds");
    return out;
  }
  line("BROKEN: " + outcome.violation->promise + ", at " + format_duration(outcome.violation->at) +
       ": " + outcome.violation->what);
  line("weir-lab " + std::string(kVersion) + ", seed " + std::to_string(seed) + "@" + build_id());
  return out;
}

}  // namespace weir::sim
