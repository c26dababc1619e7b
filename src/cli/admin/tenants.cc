// weir tenants: single keys' values in place of their rules' limits, at a running server: shows or
// changes one key, or loads many from a file.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/admin/admin_client.h"
#include "cli/check_options.h"
#include "cli/commands.h"
#include "config/config.h"
#include "config/yaml/yaml_text.h"
#include "weir/key.h"
#include "weir/quota.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr std::size_t kFileMax = std::size_t{512} << 20;
// Half of the bytes that a request may have.
constexpr std::size_t kPartMax = std::size_t{512} << 10;
// The server answers the last part when all rows are in Redis.
constexpr Duration kLoadPatience = std::chrono::minutes(2);

struct TenantOptions {
  AdminClient client;
  std::string key;
  std::string plan;
  std::int64_t limit = -1;
  std::string window;
  std::int64_t anchor = 0;
  std::string file;
  bool keep = false;
};

// The key goes in the body, because logs on the way have addresses.
HttpQuestion question(const TenantOptions& options, std::string method, json::object row = {}) {
  if (options.key.empty()) options.client.fail("the key is empty");
  row["key"] = options.key;
  return {.url = "/admin/tenant", .method = std::move(method), .body = json::serialize(row)};
}

std::string rows_in(const json::value& said) {
  const bool is_alone = text_in(said, "told") == "false";
  const std::string rows = text_of(said.at("rows"));
  return rows + (rows == "1" ? " row, version " : " rows, version ") + text_of(said.at("version")) +
         "\n" + (is_alone ? "on this node alone: Redis has not heard of them yet\n" : "");
}

void get(const TenantOptions& options) {
  options.client.show(question(options, "POST"), [&](const json::value& said) {
    const std::string plan = text_in(said, "plan");
    const std::string window = text_in(said, "window");
    const std::string anchor = text_in(said, "anchor");
    return printable(options.key) +
           (plan.empty() ? " has the limit " + text_of(said.at("limit"))
                         : " has the plan " + plan) +
           (window.empty() ? "" : " per " + window + " s") +
           (anchor.empty() ? "" : ", months from day " + anchor) + "\n";
  });
}

void set(const TenantOptions& options) {
  if (options.plan.empty() && options.limit < 0) {
    options.client.fail("give the key a --plan or a --limit");
  }
  json::object row;
  if (!options.plan.empty()) row["plan"] = options.plan;
  if (options.limit >= 0) row["limit"] = options.limit;
  if (!options.window.empty()) row["window"] = options.window;
  if (options.anchor > 0) row["anchor"] = options.anchor;
  options.client.show(question(options, "PUT", std::move(row)), rows_in);
}

void remove(const TenantOptions& options) {
  options.client.show(question(options, "DELETE"), rows_in);
}

void clear(const TenantOptions& options) {
  options.client.show({.url = "/admin/tenants", .method = "DELETE"}, rows_in);
}

// Pieces of whole lines. A row is far shorter than a piece.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  do {
    std::size_t size = text.size();
    if (size > kPartMax) {
      const auto end = text.substr(0, kPartMax).rfind('\n');
      size = std::min(end == text.npos ? text.find('\n') : end, text.size() - 1) + 1;
    }
    parts.push_back(text.substr(0, size));
    text.remove_prefix(size);
  } while (!text.empty());
  return parts;
}

void show_progress(std::size_t done, std::size_t of) {
  constexpr std::size_t kWidth = 40;
  if (isatty(STDERR_FILENO) == 0) return;
  const std::size_t filled = kWidth * done / of;
  std::cerr << "\r[" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] "
            << 100 * done / of << " %" << (done == of ? "\n" : "") << std::flush;
}

// A random name, so that two loads are not taken for one.
std::string load_name() {
  std::uint64_t chance = 0;
  std::memcpy(&chance, HashSecret::random().bytes.data(), sizeof(chance));
  return "load-" + std::to_string(chance);
}

void import(const TenantOptions& options) {
  const auto text = read_file(options.file == "-" ? "/dev/stdin" : options.file, kFileMax);
  if (!text) options.client.fail(options.file + ": " + text.error().message());
  if (text->size() > kFileMax) options.client.fail(options.file + " is longer than 512 MiB");
  const auto parts = parts_of(*text);
  std::size_t line = 1;
  for (const std::string_view part : parts) {
    if (part.size() > kPartMax) {
      options.client.fail(options.file + ": line " + std::to_string(line) +
                          " is longer than 512 KiB, and no row; nothing is changed");
    }
    line += static_cast<std::size_t>(std::ranges::count(part, '\n'));
  }
  AdminClient client = options.client;
  client.patience = kLoadPatience;
  const std::string load =
      "/admin/tenants?load=" + load_name() + "&of=" + std::to_string(parts.size()) + "&part=";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const HttpQuestion question{.url = load + std::to_string(i + 1),
                                .method = options.keep ? "PATCH" : "PUT",
                                .body = std::string(parts[i])};
    show_progress(i, parts.size());
    if (i + 1 < parts.size()) {
      client.ask(question);
    } else {
      client.show(question, [&](const json::value& said) {
        show_progress(parts.size(), parts.size());
        return rows_in(said);
      });
    }
  }
}

}  // namespace

void add_tenants_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "tenants",
      "Give single keys plans or limits of their own, at a server and all that share "
      "its Redis");
  command->require_subcommand(0, 1);
  const auto options = std::make_shared<TenantOptions>();
  options->client.add_options(*command);
  command->callback([options, command] {
    if (!command->get_subcommands().empty()) return;
    options->client.show({.url = "/admin/tenants"}, rows_in);
  });
  const auto add = [&](const char* name, const char* what, void (*run)(const TenantOptions&)) {
    auto* const sub = command->add_subcommand(name, what)->fallthrough();
    sub->callback([options, run] { run(*options); });
    return sub;
  };
  constexpr auto kKeyHelp = "The key, as the rule makes it of a request";
  add("get", "Show what a key has", get)->add_option("KEY", options->key, kKeyHelp)->required();
  auto* const change = add("set", "Give a key a plan, or a limit", set);
  change->add_option("KEY", options->key, kKeyHelp)->required();
  auto* const plan = change->add_option("--plan", options->plan, "A tier of its rules");
  auto* const limit =
      change->add_option("--limit", options->limit, "Units a window, in place of its rules' own")
          ->excludes(plan)
          ->check(CLI::Range(std::int64_t{0}, kLimitMax));
  change->add_option("--window", options->window, "As in 1m [the rule's]")
      ->needs(limit)
      ->check(mistake_in_duration);
  change->add_option("--anchor", options->anchor, "The day on which months begin [the rule's]")
      ->check(CLI::Range(1, 31));
  add("remove", "Leave a key to its rules", remove)
      ->add_option("KEY", options->key, kKeyHelp)
      ->required();
  add("clear", "Remove the rows of all keys", clear);
  auto* const load = add("import", "Load rows of CSV or JSON lines, all or none", import);
  load->add_option("FILE", options->file, "The file; - is the standard input")->required();
  load->add_flag("--keep", options->keep, "Keep rows that the file does not have");
}

}  // namespace weir
