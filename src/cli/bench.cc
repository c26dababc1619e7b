// weir bench: loads a door and says how fast it answered.
//
// One subcommand a protocol; each parses its own options and shares the workload's.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/duration_text.h"
#include "cli/commands.h"
#include "load/grpc_codec.h"
#include "load/http_codec.h"
#include "load/load.h"
#include "load/report.h"
#include "load/resp_codec.h"
#include "load/target.h"
#include "weir/quota.h"

namespace weir {
namespace {

using load::LoadPlan;

// Enough for any test on one machine, and small enough that a slip of the finger
// ("--connections 64000") is refused with a reason instead of "too many open files".
constexpr std::size_t kConnectionsMax = 10'000;
constexpr std::size_t kPipelineMax = 1'024;
constexpr std::size_t kThreadsMax = 256;

// The options that every protocol has.
struct Workload {
  LoadPlan plan;
  double rate = 0;  // 0: closed loop
  std::string distribution = "uniform";
  std::string duration = "5s";
  std::string server;
  bool allow_remote = false;
  bool json = false;
};

struct HttpBench {
  Workload workload;
  load::CheckSpec check;
  std::string get;  // a path: plain GETs instead of checks
  std::string window;
};

struct GrpcBench {
  Workload workload;
  std::string domain;
  std::vector<std::string> entries;  // "key=value"
};

struct RespBench {
  Workload workload;
  std::vector<std::string> command;
};

std::string check_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration || duration->count() <= 0) return "'" + text + "' is no duration like 5s or 200ms";
  return {};
}

std::string check_algorithm(const std::string& name) {
  return algorithm_from_name(name) ? "" : "'" + name + "' is no algorithm";
}

void add_workload_options(CLI::App& command, Workload& workload) {
  LoadPlan& plan = workload.plan;
  command.add_option("--server", workload.server, "Where it listens")->capture_default_str();
  command.add_option("--connections", plan.connections, "Connections, opened before time counts")
      ->check(CLI::Range(std::size_t{1}, kConnectionsMax))
      ->capture_default_str();
  command.add_option("--pipeline", plan.depth, "Requests on their way on each connection")
      ->check(CLI::Range(std::size_t{1}, kPipelineMax))
      ->capture_default_str();
  command.add_option("--threads", plan.threads, "Client threads, each with its connections")
      ->check(CLI::Range(std::size_t{1}, kThreadsMax))
      ->capture_default_str();
  command.add_option("--keys", plan.keys.keys, "Different keys asked about")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--distribution", workload.distribution, "How often each key is asked about")
      ->check(CLI::IsMember({"uniform", "zipf"}))
      ->capture_default_str();
  command
      .add_option("--zipf-exponent", plan.keys.zipf_exponent, "0: all alike; 1: as in the world")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command.add_option("--duration", workload.duration, "How long")
      ->check(check_duration)
      ->capture_default_str();
  command.add_option("--requests", plan.requests_max, "End after so many, if that is sooner")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--rate", workload.rate,
                  "Requests a second on a fixed schedule (open loop); without it each "
                  "connection waits for its replies (closed loop)")
      ->check(CLI::PositiveNumber);
  command.add_option("--seed", plan.seed, "Seed of the random choice of keys")
      ->capture_default_str();
  command.add_flag("--allow-remote", workload.allow_remote, "Load a server on another machine");
  command.add_flag("--json", workload.json, "Print one line of JSON");
}

LoadPlan finish_plan(const Workload& workload) {
  LoadPlan plan = workload.plan;
  plan.duration = *parse_duration(workload.duration);  // checked when it was parsed
  if (workload.distribution == "zipf") plan.keys.distribution = load::Distribution::kZipf;
  if (workload.rate > 0) plan.rate = workload.rate;
  if (plan.threads > plan.connections) {
    throw CLI::ValidationError("--threads", "at most --connections: each has one thread");
  }
  return plan;
}

void print(const std::string& what, const Workload& workload, const LoadPlan& plan,
           const load::LoadResult& result) {
  const std::string report =
      workload.json ? load::json_report(plan, result) : load::text_report(what, plan, result);
  std::fputs(report.c_str(), stdout);
}

// "60s" is 60 on the wire: a number of seconds, as every server of this API reads it.
std::string seconds_text(Duration duration) {
  constexpr std::int64_t kSecond = 1'000'000;
  std::string text = std::to_string(duration.count() / kSecond);
  if (const std::int64_t rest = duration.count() % kSecond; rest != 0) {
    text += "." + std::to_string(kSecond + rest).substr(1);
  }
  return text;
}

load::Target target_of(const Workload& workload) {
  return load::resolve_target(
      workload.server, workload.allow_remote ? load::Reach::kAnywhere : load::Reach::kLoopbackOnly);
}

void run_grpc(const GrpcBench& bench) {
  const LoadPlan plan = finish_plan(bench.workload);
  if (plan.depth > load::GrpcCodec::kCallsMax) {
    throw load::LoadError("--pipeline may be " + std::to_string(load::GrpcCodec::kCallsMax) +
                          " at most: what is sent has to fit the server's first window");
  }
  const auto target = target_of(bench.workload);
  load::CallSpec spec{.authority = target.authority, .domain = bench.domain, .entries = {}};
  for (const std::string& entry : bench.entries) {
    const auto equals = entry.find('=');
    spec.entries.emplace_back(entry.substr(0, equals),
                              equals == std::string::npos ? "" : entry.substr(equals + 1));
  }
  const load::Call call = load::make_call(spec);
  const auto result = load::run_load(target, plan, [&](std::size_t depth) {
    return std::make_unique<load::GrpcCodec>(call, depth);
  });
  print("ShouldRateLimit at " + target.authority, bench.workload, plan, result);
  if (result.outcome.tally.replies == 0) throw load::LoadError("not one call was answered");
}

void run_resp(const RespBench& bench) {
  const LoadPlan plan = finish_plan(bench.workload);
  const auto target = target_of(bench.workload);
  const load::Request request = load::make_command(bench.command);
  const auto result = load::run_load(target, plan, [&](std::size_t depth) {
    return std::make_unique<load::RespCodec>(request, depth);
  });
  print(bench.command.front() + " at " + target.authority, bench.workload, plan, result);
  if (result.outcome.tally.replies == 0) throw load::LoadError("not one command was answered");
}

void run_http(HttpBench& bench) {
  const LoadPlan plan = finish_plan(bench.workload);
  const auto target = target_of(bench.workload);
  if (!bench.window.empty()) bench.check.window = seconds_text(*parse_duration(bench.window));
  const load::Request request = bench.get.empty() ? load::make_check(target.authority, bench.check)
                                                  : load::make_get(target.authority, bench.get);
  const auto result = load::run_load(target, plan, [&](std::size_t depth) {
    return std::make_unique<load::HttpCodec>(request, depth);
  });
  const std::string what = bench.get.empty() ? "POST " + bench.check.path : "GET " + bench.get;
  print(what + " at " + target.authority, bench.workload, plan, result);
  if (result.outcome.tally.replies == 0) throw load::LoadError("not one request was answered");
}

template <typename Run>
void report_failure(const char* protocol, const Run& run) {
  try {
    run();
  } catch (const load::LoadError& error) {
    std::fprintf(stderr, "weir bench %s: %s\n", protocol, error.what());
    throw CLI::RuntimeError(1);
  }
}

void add_http(CLI::App& bench_command) {
  auto* command = bench_command.add_subcommand("http", "Load the HTTP API, or any HTTP server");
  // Shared with the callback, which is called while the command line is parsed.
  auto bench = std::make_shared<HttpBench>();
  bench->workload.server = "http://127.0.0.1:8080";
  bench->check.limit = 100;
  bench->window = "60s";
  add_workload_options(*command, bench->workload);
  command->add_option("--path", bench->check.path, "Where checks are sent")->capture_default_str();
  command->add_option("--limit", bench->check.limit, "Units a window")->capture_default_str();
  command->add_option("--window", bench->window, "The window")
      ->check(check_duration)
      ->capture_default_str();
  command->add_option("--algorithm", bench->check.algorithm, "The server's default unless given")
      ->check(check_algorithm);
  command->add_option("--cost", bench->check.cost, "Units a request; 1 unless given");
  command->add_option("--get", bench->get, "Send plain GETs of this path instead of checks")
      ->excludes("--path");
  command->callback([bench] { report_failure("http", [&] { run_http(*bench); }); });
}

void add_grpc(CLI::App& bench_command) {
  auto* command = bench_command.add_subcommand(
      "grpc", "Load Envoy's rate limit service, Weir's or any other, over clear text");
  auto bench = std::make_shared<GrpcBench>();
  bench->workload.server = "http://127.0.0.1:8080";
  bench->domain = "edge";
  bench->entries = {"remote_address=" + std::string(load::kKeyWord)};
  add_workload_options(*command, bench->workload);
  command->add_option("--domain", bench->domain, "The domain asked about")->capture_default_str();
  command
      ->add_option("entries", bench->entries,
                   "The descriptor, as KEY=VALUE each; {key} stands for the key, once "
                   "[remote_address={key}]")
      ->expected(1, 16);
  command->callback([bench] { report_failure("grpc", [&] { run_grpc(*bench); }); });
}

void add_resp(CLI::App& bench_command) {
  auto* command =
      bench_command.add_subcommand("resp", "Load the Redis door, or any server that speaks RESP");
  auto bench = std::make_shared<RespBench>();
  bench->workload.server = "redis://127.0.0.1:6380";
  bench->command = {"CL.THROTTLE", std::string(load::kKeyWord), "15", "30", "60"};
  add_workload_options(*command, bench->workload);
  command
      ->add_option("command", bench->command,
                   "What to send; {key} stands for the key [CL.THROTTLE {key} 15 30 60]")
      ->expected(1, 64);
  command->callback([bench] { report_failure("resp", [&] { run_resp(*bench); }); });
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto* command = app.add_subcommand("bench", "Load a server and report its speed");
  command->require_subcommand(1);
  add_http(*command);
  add_grpc(*command);
  add_resp(*command);
}

}  // namespace weir
