// weir busiest: shows the busiest keys of a rule at a running server.

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "cli/check_answer.h"
#include "cli/commands.h"
#include "cli/http_client.h"
#include "config/yaml/yaml_text.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr int kExitError = 2;
constexpr Duration kPatience = std::chrono::seconds(5);

struct BusiestOptions {
  std::string rule;
  std::string by = "asked";
  std::string scope = "fleet";
  int limit = 10;
  std::string server = "http://127.0.0.1:8080";
  bool json = false;
};

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "weir busiest: " << message << '\n';
  throw CLI::RuntimeError(kExitError);
}

// All but letters and digits as %XX.
std::string escaped(const std::string& text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0;
    if (is_plain) escaped += c;
    if (!is_plain) escaped += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return escaped;
}

// The token comes from the environment, as command lines are seen by others.
HttpReply ask(const BusiestOptions& options) try {
  const char* const token = std::getenv("WEIR_ADMIN_TOKEN");
  return get_json(options.server,
                  {.path = "/admin/busiest?rule=" + escaped(options.rule) + "&by=" + options.by +
                           "&scope=" + options.scope + "&limit=" + std::to_string(options.limit),
                   .token = token == nullptr ? "" : token},
                  kPatience);
} catch (const HttpClientError& error) {
  fail(error.what());
}

// A key is what a client has sent, so nothing of it may control the terminal.
std::string table_of(const std::string& reply) {
  std::string table = "   requests  share  key\n";
  const json::value said = json::parse(reply);
  for (const json::value& each : said.at("keys").as_array()) {
    const json::object& key = each.as_object();
    const auto count = std::to_string(key.at("count").to_number<std::uint64_t>());
    const auto share = std::to_string(std::lround(100 * key.at("share").to_number<double>()));
    const json::string& name = key.at(key.contains("key") ? "key" : "hash").as_string();
    table += std::string(11 - std::min<std::size_t>(11, count.size()), ' ') + count;
    table += std::string(5 - std::min<std::size_t>(5, share.size()), ' ') + share + " %  ";
    table += printable({name.data(), name.size()}) + '\n';
  }
  if (const json::value* const trouble = said.as_object().if_contains("trouble")) {
    const json::string& why = trouble->as_string();
    table += "of this node only: " + printable({why.data(), why.size()}) + '\n';
  }
  return table;
}

void show_busiest(const BusiestOptions& options) {
  const auto reply = ask(options);
  if (reply.status != 200) {
    fail(read_problem(reply.body).value_or("status " + std::to_string(reply.status)));
  }
  if (options.json) {
    std::cout << reply.body << '\n';
    return;
  }
  try {
    std::cout << table_of(reply.body);
  } catch (const std::exception&) {  // not JSON, or a field missing or of another type
    fail(options.server + " does not answer like weir; is it another program?");
  }
}

}  // namespace

void add_busiest_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "busiest", "Show the busiest keys of a rule at a running server; exit code 2: no answer");
  const auto options = std::make_shared<BusiestOptions>();
  command->add_option("--rule", options->rule, "The id of the rule")->required();
  command->add_option("--by", options->by, "What makes a key busy")
      ->check(CLI::IsMember({"asked", "denied"}))
      ->capture_default_str();
  command
      ->add_option("--scope", options->scope, "The keys of all nodes that share a Redis, or of one")
      ->check(CLI::IsMember({"fleet", "node"}))
      ->capture_default_str();
  command->add_option("--limit", options->limit, "Most keys to show")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--server", options->server, "Where it listens")->capture_default_str();
  command->add_flag("--json", options->json, "Print what the server said");
  command->footer("The server's admin token is taken from the environment, WEIR_ADMIN_TOKEN.");
  command->callback([options] { show_busiest(*options); });
}

}  // namespace weir
