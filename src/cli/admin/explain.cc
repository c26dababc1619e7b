// weir explain: in words, what a running server's rules count against a key. Spends nothing.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration_text.h"
#include "cli/admin/admin_client.h"
#include "cli/check_options.h"
#include "cli/commands.h"
#include "config/yaml/yaml_text.h"
#include "server/http/admin/shared_json.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr std::size_t kRulesMax = 1'000;  // each takes a request of its own

struct ExplainOptions {
  std::string key;
  std::string rule;
  std::string since = "10m";
  std::int64_t cost = 1;
  AdminClient client;
};

struct Explanation {
  json::object counter;  // of /v1/explain
  json::object denials;  // of /admin/denials, by cause

  bool says_something() const {
    const std::string_view would = counter.at("would").as_string();
    return !denials.at("groups").as_array().empty() || would != "allow" ||
           counter.contains("override") || counter.contains("tenant") ||
           counter.at("remaining").to_number<std::int64_t>() <
               counter.at("limit").to_number<std::int64_t>();
  }
};

json::value ask(const AdminClient& client, HttpQuestion question) try {
  return json::parse(client.ask(std::move(question)));
} catch (const boost::system::system_error&) {
  client.fail(client.server + " does not answer like weir; is it another program?");
}

std::vector<std::string> rules_to_ask(const ExplainOptions& options) {
  if (!options.rule.empty()) return {options.rule};
  std::vector<std::string> ids;
  const auto listed = ask(options.client, {.url = "/admin/rules"});
  for (const auto& rule : listed.at("rules").as_array()) {
    ids.emplace_back(rule.at("id").as_string());
  }
  if (ids.size() > kRulesMax) {
    options.client.fail("there are " + std::to_string(ids.size()) + " rules; name one by --rule");
  }
  return ids;
}

// The key goes in bodies, because logs on the way have queries.
Explanation explanation(const ExplainOptions& options, const std::string& rule) {
  json::object asked = {{"rule", rule}, {"key", options.key}};
  const auto denials = ask(options.client, {.url = "/admin/denials?by=cause&since=" + options.since,
                                            .method = "POST",
                                            .body = json::serialize(asked)});
  asked["cost"] = options.cost;
  const auto counter =
      ask(options.client, {.url = "/v1/explain", .method = "POST", .body = json::serialize(asked)});
  return {.counter = counter.at("applies").at(0).as_object(), .denials = denials.as_object()};
}

std::string reset_text(const json::object& limit) {
  const double reset = limit.at("reset_after").to_number<double>();
  return reset > 0 ? "full again in " + in_words(reset) : "";
}

// Names each limit and how much of it is left; of several limits also until when.
std::string left_text(const json::object& counter) {
  if (const auto* const limits = counter.if_contains("limits")) {
    std::string text;
    for (const auto& each : limits->as_array()) {
      const json::object& limit = each.as_object();
      const std::string reset = reset_text(limit);
      text += (text.empty() ? "" : " and ") + left_text(limit) +
              (reset.empty() ? "" : " (" + reset + ")");
    }
    return text;
  }
  const auto left = text_of(counter.at("remaining")) + " of " + text_of(counter.at("limit"));
  if (counter.contains("of")) return left + " slots left";
  if (const auto* const calendar = counter.if_contains("calendar")) {
    return left + " left of the " + text_of(*calendar);
  }
  const auto seconds =
      std::chrono::duration<double>(counter.at("window_seconds").to_number<double>());
  return left + " left by " + text_of(counter.at("algorithm")) + " of " +
         format_duration(std::chrono::round<Duration>(seconds));
}

// The key's values in place of the rule's own limit.
std::string own_text(const json::object& counter) {
  if (counter.contains("override")) return ", by an override";
  const auto* const tenant = counter.if_contains("tenant");
  if (tenant == nullptr) return {};
  const json::object& terms = tenant->as_object();
  const auto* const plan = terms.if_contains("plan");
  const auto* const anchor = terms.if_contains("anchor");
  return (terms.contains("limit") ? ", a limit of its own" : "") +
         (plan == nullptr ? "" : ", plan " + printable(text_of(*plan))) +
         (anchor == nullptr ? "" : ", months from day " + text_of(*anchor));
}

std::string_view remedy_of(std::string_view decided_by, bool is_of_slots, bool waits) {
  if (decided_by == "blocked") {
    return "lift the block (weir unblock); what it has spent counts until POST /v1/reset";
  }
  if (decided_by == "deny_list") return "take the key off the rule's deny list";
  if (is_of_slots) return "release a slot, or raise the limit";
  return waits ? "forget what it has spent (POST /v1/reset), or raise the limit"
               : "raise the limit";
}

// How far over its limit the key may be now, because nodes share it; empty: they do not.
std::string over_text(const json::object& counter) {
  const auto* const over = counter.if_contains("over_now_max");
  if (over == nullptr) return {};
  const auto* const why = counter.if_contains("over_now_because");
  return (over->is_null() ? "  nobody knows how far over at this moment"
                          : "  at this moment at most " + text_of(*over) + " over") +
         ", as " + (why == nullptr ? "nodes share it" : sentence_of(*why)) + "\n";
}

// The counter's state, until when it lasts, and what would let the key pass.
std::string counter_text(const json::object& counter) {
  if (counter.at("would").as_string() == "unknown") {
    return text_of(counter.at("rule")) + ": at most " + text_of(counter.at("limit")) +
           " at once; " + sentence_of(counter.at("because")) + "\n";
  }
  const std::string_view decided_by = counter.at("decided_by").as_string();
  const bool denies = counter.at("would").as_string() == "deny";
  auto text = text_of(counter.at("rule")) + (denies ? ": denied now" : ": allowed now");
  const auto* const because = counter.if_contains("because");
  if (decided_by != "counter") {
    text += " (" + std::string(decided_by) + (because ? ": " + text_of(*because) : "") + ")";
  }
  const bool is_shadow = counter.at("shadow").as_bool();
  const bool is_over = counter.at("over").as_bool();
  if (is_shadow && counter.contains("enforce_percent")) {
    text += is_over ? ", since the rule spares this key" : " and always: the rule spares this key";
  } else if (is_shadow && is_over) {
    text += ", since the rule is in shadow";
  }
  if (const auto* const choice = counter.if_contains("on_store_failure")) {
    text += ", Redis has not answered and on_store_failure is " + text_of(*choice);
  }
  if (decided_by == "store_failure") return text + "\n" + over_text(counter);
  const auto* const drops = counter.if_contains("drops_percent");
  if (drops && drops->to_number<int>() > 0) {
    text += denies ? ", as are " + text_of(*drops) + " % of its requests"
                   : ", but for " + text_of(*drops) + " %";
  }
  const bool is_blocked = decided_by == "blocked";  // nobody has looked at the counter
  text += (is_blocked ? "" : ", " + left_text(counter)) + own_text(counter);
  text += ", mode " + text_of(counter.at("mode"));
  const auto* const scope = counter.if_contains("scope");
  text += scope && scope->as_string() == "node" ? ", on this node alone\n" : "\n";
  const auto& retry = counter.at("retry_after");
  const auto wait = retry.is_null() ? 0 : retry.to_number<double>();
  if (denies) {
    const std::string when = is_blocked ? "  the block ends in " : "  passes again in ";
    text += wait > 0 ? when + in_words(wait) + "; to let it pass before: "
                     : "  waiting does not help; to let it pass: ";
    text += std::string(remedy_of(decided_by, counter.contains("of"), wait > 0)) + "\n";
  }
  if (const auto* const held = counter.if_contains("held"); held && held->at("holds") != 0) {
    text += "  " + text_of(held->at("units")) + " held for work under way, by " +
            text_of(held->at("holds")) + ", the first for " +
            in_words(held->at("lapses_after").to_number<double>()) + " more\n";
  }
  const std::string reset = counter.contains("limits") || is_blocked ? "" : reset_text(counter);
  if (!reset.empty()) text += "  " + reset + "\n";
  const auto* const promise = counter.if_contains("promise");
  if (promise != nullptr && decided_by == "counter" && !is_shadow) {
    text += "  at worst " + text_of(promise->at("over_max")) + " above the limit, or denied " +
            text_of(promise->at("under_max")) + " below it\n";
    if (const auto* const precise = promise->as_object().if_contains("precise")) {
      text += "  if it is precise " + text_of(precise->at("over_max")) +
              " above or below, give or take " +
              in_words(precise->at("within_seconds").to_number<double>()) + "\n";
    }
  }
  return text + over_text(counter);
}

// Counts the requests that were denied, or those that passed in shadow. The node may have forgotten
// more of them.
std::string denials_text(const json::object& denials, bool shadow, std::string_view since) {
  std::int64_t times = 0;
  std::int64_t last = 0;
  std::string cause;
  for (const auto& group : denials.at("groups").as_array()) {
    if (group.at("shadow").as_bool() != shadow) continue;
    times += group.at("times").to_number<std::int64_t>();
    const auto ended = group.at("last").to_number<std::int64_t>();
    if (ended > last) cause = text_of(group.at("cause"));
    last = std::max(last, ended);
  }
  if (times == 0) return {};
  const bool is_all =
      denials.at("forgotten").to_number<std::int64_t>() == 0 && !denials.contains("known_since");
  return (shadow ? "  let pass in shadow " : "  denied ") + std::string(is_all ? "" : "at least ") +
         std::to_string(times) + (times == 1 ? " time" : " times") + " in the last " +
         std::string(since) + " on this node, the last at " + utc_text(last) + ": " + cause + "\n";
}

void print_json(const std::vector<Explanation>& explanations) {
  json::array all;
  for (const auto& [counter, denials] : explanations) {
    all.push_back({{"explain", counter}, {"denials", denials}});
  }
  std::cout << json::serialize(all) << '\n';
}

void explain(const ExplainOptions& options) {
  const auto rules = rules_to_ask(options);
  std::vector<Explanation> explanations;
  bool is_alone = false;  // Redis did not answer, and may have counted the key
  for (const auto& rule : rules) {
    auto found = explanation(options, rule);
    is_alone = is_alone || found.counter.contains("on_store_failure");
    if (!options.rule.empty() || found.says_something()) explanations.push_back(std::move(found));
  }
  if (options.client.json) return print_json(explanations);
  for (const auto& [counter, denials] : explanations) {
    std::cout << counter_text(counter) << denials_text(denials, false, options.since)
              << denials_text(denials, true, options.since);
  }
  if (explanations.empty()) {
    std::cout << "none of " << rules.size() << " rules has counted " << printable(options.key)
              << (is_alone ? " here, but Redis has not answered and may know more" : "")
              << ", and none denied it in the last " << options.since
              << " on this node; --rule shows its limits by one\n";
  }
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "explain", "Say which rules count or deny a key, until when, and what would let it pass");
  const auto options = std::make_shared<ExplainOptions>();
  command->add_option("KEY", options->key, "The key, such as the address of a client")->required();
  command->add_option("--rule", options->rule, "This rule alone");
  command->add_option("--cost", options->cost, "Units that a request would spend; 0 looks")
      ->check(CLI::Range(std::int64_t{0}, kCostMax))
      ->capture_default_str();
  command->add_option("--since", options->since, "How far back to look for denials")
      ->check(mistake_in_duration)
      ->capture_default_str();
  options->client.add_options(*command);
  command->callback([options] { explain(*options); });
}

}  // namespace weir
