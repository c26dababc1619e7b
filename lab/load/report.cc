#include "load/report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>

#include "proto/json_writer.h"

namespace weir::load {
namespace {

struct Quantile {
  const char* name;
  double value;
};
constexpr std::array<Quantile, 4> kQuantiles = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}};

double ms(Nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }
double seconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string workload(const LoadPlan& plan) {
  const auto depth = plan.rate ? fmt::format("at most {} on their way on each", plan.depth)
                               : fmt::format("{} pipelined on each", plan.depth);
  const auto keys = plan.keys.distribution == Distribution::kZipf
                        ? fmt::format("by Zipf's law (exponent {:g})", plan.keys.zipf_exponent)
                        : "uniformly";
  return fmt::format("{} connections, {}, {} keys {}, {} client thread{}", plan.connections, depth,
                     grouped(plan.keys.keys), keys, plan.threads, plan.threads == 1 ? "" : "s");
}

std::string errors(const LoadResult& result) {
  if (result.errors() == 0) return "0";
  return fmt::format("{} ({} bad status, {} connection lost, {} no answer, {} never sent)",
                     grouped(result.errors()), result.outcome.tally.failed, result.lost,
                     result.unanswered, result.unsent);
}

std::string latencies(const Histogram& latency) {
  std::string text;
  for (const auto& [name, value] : kQuantiles) {
    text += fmt::format("{} {:.3f} ms  ", name, ms(latency.at(value)));
  }
  return text + fmt::format("max {:.3f} ms", ms(latency.max()));
}

}  // namespace

std::string text_report(const std::string& what, const LoadPlan& plan, const LoadResult& result) {
  const Tally& tally = result.outcome.tally;
  const auto loop =
      plan.rate
          ? fmt::format("open loop at {:.0f} req/s: latencies count from when a request was due",
                        *plan.rate)
          : "closed loop: latencies are service times";
  return fmt::format(
      "{}\n{}\n\n"
      "requests   {} in {:.2f} s\n"
      "rate       {} req/s\n"
      "decisions  {} allowed, {} denied\n"
      "errors     {}\n"
      "latency    {}\n"
      "client     {:.0f} % of one CPU, {} reconnects\n\n"
      "{}\n",
      what, workload(plan), grouped(tally.replies), seconds(result.elapsed),
      grouped(static_cast<std::uint64_t>(result.per_second())), grouped(tally.allowed),
      grouped(tally.denied), errors(result), latencies(result.outcome.latency),
      100 * seconds(result.cpu) / std::max(seconds(result.elapsed), 1e-9), result.reconnects, loop);
}

std::string json_report(const LoadPlan& plan, const LoadResult& result) {
  const Tally& tally = result.outcome.tally;
  JsonWriter json;
  const auto number = [&](std::string_view name, auto value) { json.key(name).number(value); };
  json.begin_object().key("loop").string(plan.rate ? "open" : "closed");
  number("connections", plan.connections);
  number("pipeline", plan.depth);
  number("threads", plan.threads);
  number("keys", plan.keys.keys);
  number("elapsed_s", seconds(result.elapsed));
  number("requests", tally.replies);
  number("requests_per_s", result.per_second());
  number("allowed", tally.allowed);
  number("denied", tally.denied);
  number("errors", result.errors());
  number("bad_status", tally.failed);
  number("lost", result.lost);
  number("unanswered", result.unanswered);
  number("unsent", result.unsent);
  number("reconnects", result.reconnects);
  number("client_cpu_s", seconds(result.cpu));
  json.key("latency_ms").begin_object();
  for (const auto& [name, value] : kQuantiles) number(name, ms(result.outcome.latency.at(value)));
  number("max", ms(result.outcome.latency.max()));
  return json.end_object().end_object().text() + "\n";
}

}  // namespace weir::load
