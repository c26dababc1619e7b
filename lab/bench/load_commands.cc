// weir-bench http, grpc, resp: load a door and report how fast it answered.
//
// One subcommand for each protocol; each parses its own options and shares the workload's.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/duration_text.h"
#include "bench/commands.h"
#include "cli/check_options.h"
#include "load/grpc_codec.h"
#include "load/http_codec.h"
#include "load/load.h"
#include "load/report.h"
#include "load/resp_codec.h"
#include "load/target.h"

namespace weir {
namespace {

using load::LoadPlan;

// Enough for any test on one machine, and small enough that a slip of the finger
// ("--connections 64000") is refused with a reason instead of "too many open files".
constexpr std::size_t kConnectionsMax = 10'000;
constexpr std::size_t kPipelineMax = 1'024;
constexpr std::size_t kThreadsMax = 256;

// The options of every protocol.
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
  CheckRequest check;
  std::string path = "/check";
  std::string get;  // a path: plain GETs instead of checks
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

void add_workload_options(CLI::App& command, Workload& workload) {
  LoadPlan& plan = workload.plan;
  command.option_defaults()->always_capture_default();
  command.add_option("--server", workload.server, "Where it listens");
  command.add_option("--connections", plan.connections, "Connections, opened before time counts")
      ->check(CLI::Range(std::size_t{1}, kConnectionsMax));
  command.add_option("--pipeline", plan.depth, "Requests on their way on each connection")
      ->check(CLI::Range(std::size_t{1}, kPipelineMax));
  command.add_option("--threads", plan.threads, "Client threads, each with its connections")
      ->check(CLI::Range(std::size_t{1}, kThreadsMax));
  command.add_option("--keys", plan.keys.keys, "Different keys")->check(CLI::PositiveNumber);
  command.add_option("--distribution", workload.distribution, "How often each key comes")
      ->check(CLI::IsMember({"uniform", "zipf"}));
  command
      .add_option("--zipf-exponent", plan.keys.zipf_exponent, "0: all alike; 1: as in the world")
      ->check(CLI::Range(0.0, 10.0));
  command.add_option("--duration", workload.duration, "How long")->check(mistake_in_duration);
  command.add_option("--requests", plan.requests_max, "End after so many, if that is sooner")
      ->check(CLI::PositiveNumber)
      ->default_str("");
  command
      .add_option("--rate", workload.rate,
                  "Requests a second on a fixed schedule (open loop); without it each "
                  "connection waits for its replies (closed loop)")
      ->check(CLI::PositiveNumber)
      ->default_str("");
  command.add_option("--seed", plan.seed, "Seed of the random choice of keys");
  command.option_defaults()->always_capture_default(false);
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

// The requests of one protocol, and the report's name for them.
struct Job {
  std::string what;
  load::CodecFactory codec;
};

template <typename Codec, typename Requests>
load::CodecFactory codecs(Requests requests) {
  return [requests = std::move(requests)](std::size_t depth) {
    return std::make_unique<Codec>(requests, depth);
  };
}

// Runs the command of a protocol. `prepare` makes the Job for a target.
template <typename Prepare>
void run_bench(const char* protocol, const Workload& workload, const Prepare& prepare) try {
  const LoadPlan plan = finish_plan(workload);
  const auto reach = workload.allow_remote ? load::Reach::kAnywhere : load::Reach::kLoopbackOnly;
  const auto target = load::resolve_target(workload.server, reach);
  const Job job = prepare(target, plan);
  const auto result = load::run_load(target, plan, job.codec);
  const std::string report =
      workload.json ? load::json_report(plan, result)
                    : load::text_report(job.what + " at " + target.authority, plan, result);
  std::fputs(report.c_str(), stdout);
  if (result.outcome.tally.replies == 0) throw load::LoadError("not one request was answered");
} catch (const load::LoadError& error) {
  std::fprintf(stderr, "weir-bench %s: %s\n", protocol, error.what());
  throw CLI::RuntimeError(1);
}

Job http_job(const HttpBench& bench, const load::Target& target, const LoadPlan&) {
  if (!bench.get.empty()) {
    return {"GET " + bench.get, codecs<load::HttpCodec>(load::make_get(
                                    {.authority = target.authority, .path = bench.get}))};
  }
  CheckRequest check = bench.check;
  if (!check.rule) {
    check.limit = check.limit.value_or(100);
    check.window = check.window.value_or(std::chrono::minutes(1));
  }
  return {"POST " + bench.path, codecs<load::HttpCodec>(load::make_post(
                                    {.authority = target.authority, .path = bench.path},
                                    check_body(load::kKeyWord, check)))};
}

Job grpc_job(const GrpcBench& bench, const load::Target& target, const LoadPlan& plan) {
  if (plan.depth > load::GrpcCodec::kCallsMax) {
    throw load::LoadError("--pipeline may be " + std::to_string(load::GrpcCodec::kCallsMax) +
                          " at most: what is sent has to fit the server's first window");
  }
  load::CallSpec spec{.authority = target.authority, .domain = bench.domain, .entries = {}};
  for (const std::string& entry : bench.entries) {
    const auto equals = entry.find('=');
    spec.entries.emplace_back(entry.substr(0, equals),
                              equals == std::string::npos ? "" : entry.substr(equals + 1));
  }
  return {"ShouldRateLimit", codecs<load::GrpcCodec>(load::make_call(spec))};
}

Job resp_job(const RespBench& bench, const load::Target&, const LoadPlan&) {
  return {bench.command.front(), codecs<load::RespCodec>(load::make_command(bench.command))};
}

// The subcommand of a protocol. The caller adds the protocol's own options.
template <typename Bench, typename MakeJob>
CLI::App& add_protocol(CLI::App& app, const char* protocol, const char* help,
                       const std::shared_ptr<Bench>& bench, MakeJob make_job) {
  auto* command = app.add_subcommand(protocol, help);
  add_workload_options(*command, bench->workload);
  command->callback([=] {
    run_bench(protocol, bench->workload, [&](const load::Target& target, const LoadPlan& plan) {
      return make_job(*bench, target, plan);
    });
  });
  return *command;
}

void add_http(CLI::App& app) {
  // Shared with the callback, which is called while the command line is parsed.
  const auto bench = std::make_shared<HttpBench>();
  bench->workload.server = "http://127.0.0.1:8080";
  auto& command = add_protocol(app, "http",
                               "Load the HTTP API, or any HTTP server; without --rule the limit "
                               "is 100 in a window of 1m",
                               bench, http_job);
  add_check_options(command, bench->check);
  command.add_option("--path", bench->path, "Where checks are sent")->capture_default_str();
  command
      .add_option("--get", bench->get,
                  "Send plain GETs of this path instead of checks; {key} in it is another key "
                  "each time")
      ->excludes("--path");
}

void add_grpc(CLI::App& app) {
  const auto bench = std::make_shared<GrpcBench>();
  bench->workload.server = "http://127.0.0.1:8080";
  bench->domain = "edge";
  bench->entries = {"remote_address=" + std::string(load::kKeyWord)};
  auto& command = add_protocol(
      app, "grpc", "Load Envoy's rate limit service, Weir's or any other, over clear text", bench,
      grpc_job);
  command.add_option("--domain", bench->domain, "The domain of the descriptors")
      ->capture_default_str();
  command
      .add_option("entries", bench->entries,
                  "The descriptor, as KEY=VALUE each; {key} stands for the key, once "
                  "[remote_address={key}]")
      ->expected(1, 16);
}

void add_resp(CLI::App& app) {
  const auto bench = std::make_shared<RespBench>();
  bench->workload.server = "redis://127.0.0.1:6380";
  bench->command = {"CL.THROTTLE", std::string(load::kKeyWord), "15", "30", "60"};
  add_protocol(app, "resp", "Load the Redis door, or any server that speaks RESP", bench, resp_job)
      .add_option("command", bench->command,
                  "What to send; {key} stands for the key [CL.THROTTLE {key} 15 30 60]")
      ->expected(1, 64);
}

}  // namespace

void add_load_commands(CLI::App& app) {
  add_http(app);
  add_grpc(app);
  add_resp(app);
}

}  // namespace weir
