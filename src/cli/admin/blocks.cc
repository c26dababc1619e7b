// weir block, weir unblock, weir blocks: the blocks of a running server.

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/duration_text.h"
#include "cli/admin/admin_client.h"
#include "cli/check_options.h"
#include "cli/commands.h"
#include "config/yaml/yaml_text.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr auto kPath = "/admin/blocks";
constexpr auto kKeyHelp = "An address, a network such as 203.0.113.0/24, or a key";

struct BlockOptions {
  AdminClient client;
  std::string key;
  std::string length;
  std::string rule;  // empty: all
  std::string why;
  int limit = 100;
};

// A body without empty fields.
std::string body_of(std::initializer_list<std::pair<const char*, std::string>> fields) {
  json::object body;
  for (const auto& [name, text] : fields) {
    if (!text.empty()) body[name] = json::string_view(text.data(), text.size());
  }
  return json::serialize(body);
}

std::string rule_in(const json::value& block) {
  return block.at("rule").is_null() ? "all rules" : text_of(block.at("rule"));
}

std::string span_text(double seconds) {
  return format_duration(std::chrono::seconds(std::llround(std::ceil(seconds))));
}

void block(const BlockOptions& options) {
  const auto question = HttpQuestion{.url = kPath,
                                     .method = "POST",
                                     .body = body_of({{"key", options.key},
                                                      {"for", options.length},
                                                      {"rule", options.rule},
                                                      {"why", options.why},
                                                      {"by", user_name()}})};
  options.client.show(question, [&](const json::value& made) {
    const auto why = text_in(made, "passes_because");
    return sentence_of(made.at("key")) + " is blocked for " +
           span_text(made.at("ends_in_seconds").to_number<double>()) + ", by " + rule_in(made) +
           (why.empty() ? "\n" : ", and passes all the same: " + why + "\n") +
           options.client.reach();
  });
}

void unblock(const BlockOptions& options) {
  const auto question = HttpQuestion{
      .url = kPath,
      .method = "DELETE",
      .body = body_of({{"key", options.key}, {"rule", options.rule}, {"by", user_name()}})};
  options.client.show(question, [&](const json::value&) {
    return printable(options.key) + " is no longer blocked by " +
           (options.rule.empty() ? "any rule" : options.rule) + "\n" + options.client.reach();
  });
}

std::string table_of_blocks(const json::value& said) {
  std::string table = "   ends in  rule              key\n";
  for (const json::value& one : said.at("blocks").as_array()) {
    table += right(span_text(one.at("ends_in_seconds").to_number<double>()), 10) + "  ";
    table += left(rule_in(one), 16) + "  " + sentence_of(one.at("key"));
    const auto by = text_in(one, "by");
    const auto why = text_in(one, "why");
    if (text_in(one, "reason") == "denied") table += "  (by the rule)";
    if (!by.empty()) table += "  (by " + by + (why.empty() ? ")" : ": " + why + ")");
    if (by.empty() && !why.empty()) table += "  (" + why + ")";
    table += "\n";
  }
  return table;
}

void show_blocks(const BlockOptions& options) {
  auto path = kPath + ("?limit=" + std::to_string(options.limit));
  if (!options.rule.empty()) path += "&rule=" + escaped(options.rule);
  options.client.show({.url = path}, table_of_blocks);
}

}  // namespace

void add_block_commands(CLI::App& app) {
  const auto made = std::make_shared<BlockOptions>();
  auto* command = app.add_subcommand(
      "block", "Deny an address, a network or a key, at a server and all that share its Redis");
  made->client.add_options(*command);
  command->add_option("KEY", made->key, kKeyHelp)->required();
  command->add_option("--for", made->length, "How long, as in 1h")
      ->required()
      ->check(mistake_in_duration);
  command->add_option("--rule", made->rule, "The id of the rule that denies it [all rules]");
  command->add_option("--why", made->why, "Why, for the log and for weir blocks");
  command->callback([made] { block(*made); });

  const auto lifted = std::make_shared<BlockOptions>();
  command = app.add_subcommand("unblock", "Let go what is blocked");
  lifted->client.add_options(*command);
  command->add_option("KEY", lifted->key, kKeyHelp)->required();
  command->add_option("--rule", lifted->rule, "The block of this rule alone [all of the key]");
  command->callback([lifted] { unblock(*lifted); });

  const auto shown = std::make_shared<BlockOptions>();
  command = app.add_subcommand("blocks", "Show who is blocked at a running server");
  shown->client.add_options(*command);
  command->add_option("--rule", shown->rule, "The blocks of this rule alone");
  command->add_option("--limit", shown->limit, "Most blocks to show")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->callback([shown] { show_blocks(*shown); });
}

}  // namespace weir
