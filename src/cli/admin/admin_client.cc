#include "cli/admin/admin_client.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/parse.hpp>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

#include "base/decimal.h"
#include "base/percent.h"
#include "cli/check_options.h"
#include "config/yaml/yaml_document.h"
#include "config/yaml/yaml_text.h"

namespace weir {
namespace {

constexpr int kExitRefused = 2;
constexpr std::size_t kWholeMax = 60;  // bytes of a key that was surely not cut
constexpr std::size_t kSentenceMax = 4096;

}  // namespace

void AdminClient::add_options(CLI::App& app) {
  command = app.get_name();
  app.add_option("--server", server, "Where it listens, with the path of nginx's weir_admin")
      ->capture_default_str();
  app.add_flag("--json", json, "Print what the server said");
  app.footer("The server's admin token is taken from the environment, WEIR_ADMIN_TOKEN.");
}

std::string AdminClient::ask(HttpQuestion question) const {
  const char* const token = std::getenv("WEIR_ADMIN_TOKEN");
  question.token = token == nullptr ? "" : token;
  question.url.insert(0, server.ends_with('/') ? server.substr(0, server.size() - 1) : server);
  auto reply = ask_http(question, patience);
  if (!reply) fail("no answer from " + server + ": " + reply.error().message);
  if (reply->status / 100 == 2) return std::move(reply->body);
  const std::string how = reply->status == 401 ? " Set WEIR_ADMIN_TOKEN to it." : "";
  fail(read_problem(reply->body).value_or("status " + std::to_string(reply->status)) + how);
}

void AdminClient::show(
    const HttpQuestion& question,
    const std::function<std::string(const boost::json::value&)>& in_words) const {
  const auto reply = ask(question);
  if (json) {
    std::cout << reply << '\n';
    return;
  }
  auto text = std::string();
  try {
    text = in_words(boost::json::parse(reply));
  } catch (const std::exception&) {  // not JSON, or a field is missing or of another type
    fail(server + " does not answer like weir; is it another program?");
  }
  std::cout << text;
}

std::string AdminClient::reach() const {
  const auto health = boost::json::parse(ask({.url = "/health"}));
  if (text_in(health, "redis") != "disconnected") return {};
  return "on this node alone: Redis is away, and the others hear of it when it is back\n";
}

void AdminClient::fail(const std::string& message) const {
  std::cerr << "weir " << command << ": " << message << '\n';
  throw CLI::RuntimeError(kExitRefused);
}

std::string text_of(const boost::json::value& value) {
  if (value.is_null()) return "-";
  if (!value.is_string()) return printable(to_json(value));
  return printable(std::string_view(value.get_string()));
}

std::string sentence_of(const boost::json::value& value) {
  return printable(std::string_view(value.as_string()), kSentenceMax);
}

std::string text_in(const boost::json::value& from, std::string_view field) {
  const auto* const value = from.is_object() ? from.as_object().if_contains(field) : nullptr;
  return value == nullptr ? "" : text_of(*value);
}

std::string user_name() {
  for (const char* const name : {"SUDO_USER", "USER"}) {
    const char* const user = std::getenv(name);
    if (user != nullptr && *user != 0) return std::string(user).substr(0, 64);
  }
  return {};
}

std::string key_in(const boost::json::object& entry) {
  if (!entry.contains("key")) return text_of(entry.at("hash"));
  const std::string_view key = entry.at("key").as_string();
  std::string shown;
  int parts = 0;
  for (std::string_view rest = key; !rest.empty();) {
    const auto colon = rest.find(':');
    const auto size = read_decimal<std::uint32_t>(rest.substr(0, colon));
    if (colon == std::string_view::npos || !size) return printable(key);
    rest.remove_prefix(colon + 1);
    if (*size > rest.size() && key.size() <= kWholeMax) return printable(key);
    shown.append(parts++ == 0 ? "" : ", ").append(rest.substr(0, *size));
    rest.remove_prefix(std::min<std::size_t>(*size, rest.size()));
  }
  return printable(parts > 1 ? shown : key);
}

std::string escaped(std::string_view text) {
  return percent_encoded(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
}

std::string right(std::string_view text, std::size_t columns) {
  return std::string(columns - std::min(columns, text.size()), ' ').append(text);
}

std::string left(std::string_view text, std::size_t columns) {
  return std::string(text).append(columns - std::min(columns, text.size()), ' ');
}

}  // namespace weir
