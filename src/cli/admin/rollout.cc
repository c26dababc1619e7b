// weir rollout: shows the rules of a running server that are enforced step by step, starts such a
// rollout, and ends it. The server takes the steps.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/decimal.h"
#include "cli/admin/admin_client.h"
#include "cli/check_options.h"
#include "cli/commands.h"

namespace weir {
namespace {

namespace json = boost::json;

struct RolloutOptions {
  AdminClient client;
  std::string rule;  // empty: all rules with a rollout
  std::string to;    // empty: starts none
  std::vector<std::string> steps = {"1", "10", "50"};
  std::string every = "10m";
  std::string stop_if = "denied_keys>0.1%";
  std::string why;
  bool stop = false;
};

std::string percent(const std::string& text) { return text.ends_with('%') ? text : text + "%"; }

// Why an option refuses a text; empty: it is a share of the keys.
std::string mistake_in_share(const std::string& text) {
  const std::string share = percent(text);
  const auto number = read_decimal<int>(std::string_view(share).substr(0, share.size() - 1));
  return number >= 1 && number <= 100 ? "" : "'" + text + "' is no share from 1% to 100%";
}

// The part of its keys that the rule denies.
std::string share_in(const json::value& rule) {
  if (text_in(rule, "shadow") == "true") return "0%";
  const std::string share = text_in(rule, "enforce");
  return share.empty() ? "100%" : share;
}

std::string line_of(const json::value& rule) {
  const json::value& rollout = rule.at("rollout");
  std::string line = left(text_of(rule.at("id")), 18) + right(share_in(rule), 6) + "  of";
  for (const json::value& step : rollout.at("steps").as_array()) line += " " + text_of(step);
  if (const auto* const why = rollout.as_object().if_contains("stopped")) {
    return line + ", has stopped: " + sentence_of(*why) + "\n";
  }
  return line + ", each " + text_of(rollout.at("every")) + ", stops if " +
         text_of(rollout.at("stop_if")) + "\n";
}

// The whole answer, or the one rule.
std::string table_of_rollouts(const json::value& said) {
  std::string table = "rule              denies  steps\n";
  const json::array one = {said};
  const json::value* const all = said.as_object().if_contains("rules");
  for (const json::value& each : all == nullptr ? one : all->as_array()) {
    if (!text_in(each.at("rule"), "rollout").empty()) table += line_of(each.at("rule"));
  }
  return table;
}

// The fields of a rule that leaves its current share. An earlier rollout may have stopped.
json::object start(const std::string& share, const RolloutOptions& options) {
  json::array steps = {json::string(share)};
  for (const std::string& step : options.steps) steps.emplace_back(percent(step));
  steps.emplace_back(percent(options.to));
  const auto first = steps[1];
  return {{"shadow", nullptr},
          {"enforce", first},
          {"rollout",
           {{"steps", std::move(steps)},
            {"every", options.every},
            {"stop_if", options.stop_if},
            {"stopped", nullptr}}}};
}

// Changes the rule only if nobody else has changed it since this read it.
void change(const RolloutOptions& options, const std::string& path) {
  const json::value seen = json::parse(options.client.ask({.url = path}));
  const json::value& rule = seen.at("rule");
  const std::string share = share_in(rule);
  const bool has_one = !text_in(rule, "rollout").empty();
  if (options.stop && !has_one) options.client.fail(options.rule + " has no rollout");
  if (!options.stop && has_one && text_in(rule.at("rollout"), "stopped").empty()) {
    options.client.fail(options.rule + " has a rollout already, at " + share + "; --stop ends it");
  }
  const std::string& first = options.steps.empty() ? options.to : options.steps.front();
  const bool has_begun = std::atoi(share.c_str()) >= std::max(1, std::atoi(first.c_str()));
  if (!options.stop && (has_begun || share == "proportional")) {
    options.client.fail(options.rule + " is at enforce: " + share +
                        " already; put it in shadow first, or begin above with --steps");
  }
  const auto fields = options.stop ? json::object{{"rollout", nullptr}} : start(share, options);
  options.client.show({.url = path + "?by=" + escaped(user_name()) + "&why=" + escaped(options.why),
                       .method = "PATCH",
                       .body = json::serialize(fields),
                       .if_match = "\"" + text_of(seen.at("version")) + "\""},
                      [&](const json::value&) {
                        return options.rule + " denies " +
                               (options.stop ? share + " of the keys, and stays there\n"
                                             : text_in(fields, "enforce") + " of the keys\n") +
                               options.client.reach();
                      });
}

void roll_out(const RolloutOptions& options) {
  const std::string path =
      "/admin/rules" + (options.rule.empty() ? "" : "/" + escaped(options.rule));
  if (!options.stop && options.to.empty())
    return options.client.show({.url = path}, table_of_rollouts);
  if (options.rule.empty()) options.client.fail("of which rule?");
  change(options, path);
}

}  // namespace

void add_rollout_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "rollout", "Enforce a rule of a running server by degrees; without --to, show what is so");
  const auto options = std::make_shared<RolloutOptions>();
  options->client.add_options(*command);
  command->add_option("RULE", options->rule, "The id of the rule [all]");
  auto* const to = command->add_option("--to", options->to, "Start: the last share of the keys")
                       ->check(mistake_in_share);
  command->add_option("--steps", options->steps, "The shares before it, in percent")
      ->delimiter(',')
      ->check(mistake_in_share)
      ->capture_default_str();
  command->add_option("--every", options->every, "How long each step lasts")
      ->check(mistake_in_duration)
      ->capture_default_str();
  command->add_option("--stop-if", options->stop_if, "Denied keys, of those seen, that end it")
      ->capture_default_str();
  command->add_option("--why", options->why, "Why, for the history");
  command->add_flag("--stop", options->stop, "End it; the rule stays where it is")->excludes(to);
  command->callback([options] { roll_out(*options); });
}

}  // namespace weir
