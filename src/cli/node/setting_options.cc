// The options of `weir serve` that stand for settings: each from its row of the table.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/node/settings.h"
#include "config/fields/field_value.h"

namespace weir {
namespace {

// An empty text is no value, unless there is a default that it would hide.
bool is_left_out(const Field& field, const std::string& text) {
  return text.empty() && field.default_text.empty();
}

std::string mistake_in(const Field& field, const std::string& text) {
  if (is_left_out(field, text)) return {};
  const auto read = read_setting(field, text);
  return read ? std::string() : read.error().message;
}

std::string type_name(const Field& field) {
  if (field.type == FieldType::kInteger) {
    return "INT in [" + std::to_string(field.range.min) + " - " + std::to_string(field.range.max) +
           "]";
  }
  std::string choices;
  for (const auto choice : field.choices) {
    choices.append(choices.empty() ? "TEXT:{" : ",").append(choice);
  }
  return choices.empty() ? "TEXT" : choices + "}";
}

// Their items are names of options or of fields: http-tls is http_tls.
void take_list(const std::string& name, std::vector<std::string> texts, SettingValues& said) {
  for (auto& text : texts) std::ranges::replace(text, '-', '_');
  said.set(name, std::move(texts));
}

void take(const Setting& setting, const std::string& text, SettingValues& said) {
  if (is_left_out(setting.field, text)) return;
  said.set(setting.name, *read_setting(setting.field, text));
}

// settle() reads addresses, and its errors say more. An operator who gives two wants both.
CLI::Option* add_listen_option(CLI::App& command, const Setting& setting, const std::string& help,
                               SettingValues& said) {
  constexpr int kSome = 16;  // more are an error in the words of CLI11
  const auto flag = std::string(setting.field.option.name);
  const auto take_one = [flag, name = setting.name, &said](const std::vector<std::string>& texts) {
    if (texts.size() == 1) return said.set(name, texts.front());
    throw CLI::ValidationError(
        flag + " is there already, with " + texts.front() +
        ": it takes one address. [::]:PORT stands for all addresses of this machine; --http, "
        "--grpc, --resp and the same with -tls each listen at an address of their own");
  };
  return command.add_option_function<std::vector<std::string>>(flag, take_one, help)
      ->expected(1, kSome)
      ->type_name("TEXT");
}

CLI::Option* add_option(CLI::App& command, const Setting& setting, SettingValues& said) {
  const auto& field = setting.field;
  const auto flag = std::string(field.option.name);
  auto help = std::string(field.option.help);
  if (field.type == FieldType::kBoolean) {
    const auto& name = setting.name;
    return command.add_flag_callback(
        flag, [name, &said] { said.set(name, true); }, help);
  }
  if (!field.default_text.empty()) help.append(" [").append(field.default_text).append("]");
  if (field.type == FieldType::kListenAddress) {
    return add_listen_option(command, setting, help, said);
  }
  if (field.type == FieldType::kTextList) {
    const auto take_texts = [name = setting.name, &said](const std::vector<std::string>& texts) {
      take_list(name, texts, said);
    };
    return command.add_option_function<std::vector<std::string>>(flag, take_texts, help)
        ->delimiter(',');
  }
  const auto take_text = [setting, &said](const std::string& text) { take(setting, text, said); };
  return command.add_option_function<std::string>(flag, take_text, help)
      ->type_name(type_name(field))
      ->check([&field](const std::string& text) { return mistake_in(field, text); });
}

}  // namespace

void add_setting_options(CLI::App& command, SettingValues& said) {
  for (const auto& setting : all_settings()) {
    const auto& option = setting.field.option;
    if (option.name.empty()) continue;
    add_option(command, setting, said)->envname(std::string(option.variable));
  }
}

}  // namespace weir
