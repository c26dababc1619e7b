// weir check: asks a running server for one decision.

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "cli/check_options.h"
#include "cli/commands.h"
#include "cli/http/http_client.h"

namespace weir {
namespace {

constexpr int kExitDenied = 1;
constexpr int kExitError = 2;
constexpr Duration kPatience = std::chrono::seconds(5);

struct CheckOptions {
  std::string key;
  CheckRequest fields;
  std::string server = "http://127.0.0.1:8080";
  bool json = false;
};

[[noreturn]] void fail_check(const std::string& message) {
  std::cerr << "weir check: " << message << '\n';
  throw CLI::RuntimeError(kExitError);
}

void check(const CheckOptions& options) {
  const auto& fields = options.fields;
  if (!fields.rule && (!fields.limit || !fields.window)) {
    fail_check("say what is allowed: --limit 5 --window 1m, or --rule NAME");
  }
  const auto reply = ask_http({.url = options.server + "/check",
                               .method = "POST",
                               .body = check_body(options.key, options.fields)},
                              kPatience);
  if (!reply) fail_check("no answer from " + options.server + ": " + reply.error().message);
  if (reply->status != 200) {
    fail_check(read_problem(reply->body).value_or("status " + std::to_string(reply->status)));
  }
  const auto answer = read_answer(reply->body);
  if (!answer) fail_check(options.server + " does not answer like weir; is it another program?");
  std::cout << (options.json ? reply->body : answer->text) << '\n';
  if (!answer->allowed) throw CLI::RuntimeError(kExitDenied);
}

}  // namespace

void add_check_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "check", "Ask a running server; exit code 0: allowed, 1: denied, 2: no answer");
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("KEY", options->key, "The key that wants to spend")->required();
  add_check_options(*command, options->fields);
  command->add_option("--server", options->server, "Where it listens")->capture_default_str();
  command->add_flag("--json", options->json, "Print what the server said");
  command->callback([options] { check(*options); });
}

}  // namespace weir
