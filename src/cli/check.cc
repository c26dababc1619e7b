// weir check: asks a running server one question.

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "base/duration_text.h"
#include "cli/check_answer.h"
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
  std::string rule;
  std::string bucket;
  std::string algorithm;
  std::string window;
  std::optional<std::int64_t> limit;
  std::optional<std::int64_t> cost;
  std::optional<std::int64_t> burst;
  std::string server = "http://127.0.0.1:8080";
  bool json = false;
};

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "weir check: " << message << '\n';
  throw CLI::RuntimeError(kExitError);
}

// What was not given is left out: the server, or the rule, decides.
std::string request_body(const CheckOptions& options) {
  auto body = boost::json::object{{"key", options.key}};
  const auto add_text = [&](const char* name, const std::string& value) {
    if (!value.empty()) body[name] = value;
  };
  const auto add_number = [&](const char* name, std::optional<std::int64_t> value) {
    if (value) body[name] = *value;
  };
  add_text("rule", options.rule);
  add_text("bucket", options.bucket);
  add_text("algorithm", options.algorithm);
  add_text("window", options.window);
  add_number("limit", options.limit);
  add_number("cost", options.cost);
  add_number("burst", options.burst);
  return boost::json::serialize(body);
}

HttpReply ask(const CheckOptions& options) try {
  return post_json(options.server, "/check", request_body(options), kPatience);
} catch (const HttpClientError& error) {
  fail(error.what());
}

void check(const CheckOptions& options) {
  if (options.rule.empty() && (!options.limit || options.window.empty())) {
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

std::string check_window(const std::string& text) {
  return parse_duration(text) ? "" : "'" + text + "' is no duration; write 60s, 1m or 1h30m";
}

std::string check_algorithm(const std::string& name) {
  return algorithm_from_name(name) ? "" : "'" + name + "' is no algorithm";
}

}  // namespace

void add_check_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "check", "Ask a running server; exit code 0: allowed, 1: denied, 2: no answer");
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("KEY", options->key, "Who wants to spend")->required();
  command->add_option("--limit", options->limit, "Units a window");
  command->add_option("--window", options->window, "Length of the window, as in 1m")
      ->check(check_window);
  command->add_option("--rule", options->rule, "A rule of the server, instead of a limit");
  command->add_option("--bucket", options->bucket, "Counts apart from other buckets");
  command->add_option("--cost", options->cost, "Units to spend [1]; 0 only looks");
  command->add_option("--burst", options->burst, "token_bucket: most units at once [the limit]");
  command->add_option("--algorithm", options->algorithm, "How to count [sliding_window]")
      ->check(check_algorithm);
  command->add_option("--server", options->server, "Where it listens")->capture_default_str();
  command->add_flag("--json", options->json, "Print what the server said");
  command->callback([options] { check(*options); });
}

}  // namespace weir
