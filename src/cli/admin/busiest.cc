// weir busiest: shows the busiest keys of a rule at a running server.

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cmath>
#include <memory>
#include <string>

#include "cli/admin/admin_client.h"
#include "cli/commands.h"

namespace weir {
namespace {

namespace json = boost::json;

struct BusiestOptions {
  std::string rule;
  std::string by = "asked";
  std::string scope = "fleet";
  int limit = 10;
  AdminClient client;
};

std::string table_of_keys(const json::value& said) {
  std::string table = "   requests  share  key\n";
  for (const json::value& each : said.at("keys").as_array()) {
    const json::object& key = each.as_object();
    const auto count = std::to_string(key.at("count").to_number<std::uint64_t>());
    const auto share = std::to_string(std::lround(100 * key.at("share").to_number<double>()));
    table += right(count, 11) + right(share, 5) + " %  ";
    table += key_in(key) + '\n';
  }
  if (said.at("nodes").as_array().size() > 1) {
    table += "what other nodes count comes up to 10 s late\n";
  }
  if (const json::value* const trouble = said.as_object().if_contains("trouble")) {
    table += "of this node only: " + text_of(*trouble) + '\n';
  }
  return table;
}

void show_busiest(const BusiestOptions& options) {
  options.client.show(
      {.url = "/admin/busiest?rule=" + escaped(options.rule) + "&by=" + options.by +
              "&scope=" + options.scope + "&limit=" + std::to_string(options.limit)},
      table_of_keys);
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
  options->client.add_options(*command);
  command->callback([options] { show_busiest(*options); });
}

}  // namespace weir
