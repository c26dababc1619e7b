// weir check: asks a running server one question.

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "base/duration_text.h"
#include "cli/check_answer.h"
#include "cli/check_options.h"
#include "cli/commands.h"
#include "cli/http_client.h"
#include "weir/quota.h"

namespace weir {
namespace {

constexpr int kExitDenied = 1;
constexpr int kExitError = 2;
constexpr Duration kPatience = std::chrono::seconds(5);

struct CheckOptions {
  std::string key;
  load::CheckSpec spec;
  std::string server = "http://127.0.0.1:8080";
  bool json = false;
};

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "weir check: " << message << '\n';
  throw CLI::RuntimeError(kExitError);
}

HttpReply ask(const CheckOptions& options) try {
  return post_json(options.server, "/check", load::check_body(options.key, options.spec),
                   kPatience);
} catch (const HttpClientError& error) {
  fail(error.what());
}

void check(const CheckOptions& options) {
  const auto& spec = options.spec;
  if (!spec.rule && (!spec.limit || !spec.window)) {
    fail("say what is allowed: --limit 5 --window 1m, or --rule NAME");
  }
  const auto reply = ask(options);
  if (reply.status != 200) {
    fail(read_problem(reply.body).value_or("status " + std::to_string(reply.status)));
  }
  const auto answer = read_answer(reply.body);
  if (!answer) fail(options.server + " does not answer like weir; is it another program?");
  std::cout << (options.json ? reply.body : answer->text) << '\n';
  if (!answer->allowed) throw CLI::RuntimeError(kExitDenied);
}

std::string mistake_in_algorithm(const std::string& name) {
  return algorithm_from_name(name) ? "" : "'" + name + "' is no algorithm";
}

}  // namespace

std::string mistake_in_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  const bool is_length = duration && duration->count() > 0;
  return is_length ? "" : "'" + text + "' is no duration; write 60s, 1m or 1h30m";
}

void add_check_options(CLI::App& command, load::CheckSpec& spec) {
  command.add_option("--limit", spec.limit, "Units a window");
  command
      .add_option_function<std::string>(
          "--window", [&spec](const std::string& text) { spec.window = parse_duration(text); },
          "Length of the window, as in 1m")
      ->check(mistake_in_duration);
  command.add_option("--rule", spec.rule, "A rule of the server, instead of a limit");
  command.add_option("--bucket", spec.bucket, "Counts apart from other buckets");
  command.add_option("--cost", spec.cost, "Units to spend [1]; 0 only looks");
  command.add_option("--burst", spec.burst, "token_bucket: most units at once [the limit]");
  command.add_option("--algorithm", spec.algorithm, "How to count [sliding_window]")
      ->check(mistake_in_algorithm);
}

void add_check_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "check", "Ask a running server; exit code 0: allowed, 1: denied, 2: no answer");
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("KEY", options->key, "The key that wants to spend")->required();
  add_check_options(*command, options->spec);
  command->add_option("--server", options->server, "Where it listens")->capture_default_str();
  command->add_flag("--json", options->json, "Print what the server said");
  command->callback([options] { check(*options); });
}

}  // namespace weir
