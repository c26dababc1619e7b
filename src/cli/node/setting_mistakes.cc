#include "cli/node/setting_mistakes.h"

#include <optional>
#include <utility>

#include "cli/node/state_file.h"
#include "net/tls/tls_context.h"

namespace weir {
namespace {

// The one of the files that the message names.
std::string tls_setting_in(const std::string& message, const TlsFiles& files) {
  const auto names = [&](const std::string& file) {
    return !file.empty() && message.find(" " + file + " ") != std::string::npos;
  };
  if (names(files.certificate)) return setting_name<&TlsSettings::certificate>();
  return names(files.key) ? setting_name<&TlsSettings::key>()
                          : setting_name<&TlsSettings::client_ca>();
}

template <typename Value>
const std::string* error_in(const Result<Value, Fault>& result) {
  return result ? nullptr : &result.error().message;
}

}  // namespace

std::vector<SettingMistake> setting_mistakes(const SettingValues& values) {
  auto settled = settle(values);
  if (!settled) return {std::move(settled.error())};
  const auto& settings = *settled;
  std::vector<SettingMistake> found;
  if (settings.needs_tls()) {
    const auto context = TlsContext::load(settings.tls);
    if (const auto* error = error_in(context)) {
      found.push_back({tls_setting_in(*error, settings.tls), *error});
    }
  }
  if (settings.fleet) {
    const auto trust = TlsTrust::load(settings.fleet->url.tls);
    if (const auto* error = error_in(trust))
      found.push_back({setting_name<&StoreSettings::redis>(), *error});
  }
  const auto token = read_webhook_token(*values);
  if (const auto* error = error_in(token)) {
    found.push_back({setting_name<&UnusualTrafficSettings::webhook_token_file>(), *error});
  }
  if (const auto error = StateFile::check(values->state_file)) {
    found.push_back({setting_name<&ServerSettings::state_file>(), error->message});
  }
  return found;
}

}  // namespace weir
