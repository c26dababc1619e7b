#include "cli/node/setting_mistakes.h"

#include <optional>
#include <utility>
#include <variant>

#include "cli/node/state_file.h"
#include "net/tls/tls_context.h"

namespace weir {
namespace {

// The one of the files that the message names.
const char* tls_setting_in(const std::string& message, const TlsFiles& files) {
  const auto names = [&](const std::string& file) {
    return !file.empty() && message.find(" " + file + " ") != std::string::npos;
  };
  if (names(files.certificate)) return "tls.certificate";
  return names(files.key) ? "tls.key" : "tls.client_ca";
}

template <typename Value>
const std::string* error_in(const std::variant<Value, StartError>& result) {
  const auto* error = std::get_if<StartError>(&result);
  return error == nullptr ? nullptr : &error->message;
}

}  // namespace

std::vector<SettingMistake> setting_mistakes(const SettingValues& values) {
  auto settled = settle(values);
  if (auto* mistake = std::get_if<SettingMistake>(&settled)) return {std::move(*mistake)};
  const auto& settings = std::get<Settings>(settled);
  std::vector<SettingMistake> found;
  if (settings.needs_tls()) {
    const auto context = TlsContext::load(settings.tls);
    if (const auto* error = error_in(context)) {
      found.push_back({tls_setting_in(*error, settings.tls), *error});
    }
  }
  if (settings.fleet) {
    const auto trust = TlsTrust::load(settings.fleet->url.tls);
    if (const auto* error = error_in(trust)) found.push_back({"store.redis", *error});
  }
  const auto token = read_webhook_token(values);
  if (const auto* error = error_in(token)) {
    found.push_back({"unusual_traffic.webhook_token_file", *error});
  }
  if (const auto error = StateFile::check(values.get<std::string>("state_file"))) {
    found.push_back({"state_file", error->message});
  }
  return found;
}

}  // namespace weir
