#include "config/fields/field_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <re2/re2.h>

#include "base/decimal.h"
#include "base/duration_text.h"
#include "base/joined.h"
#include "base/listen_address.h"
#include "base/nearest_name.h"

namespace weir {
namespace {

constexpr std::size_t kNameMax = 64;
constexpr std::string_view kDigits = "0123456789";

bool is_plain(const YamlNode& node) { return node.style == YamlNode::Style::kPlain; }

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> candidates) {
  return std::find(candidates.begin(), candidates.end(), text) != candidates.end();
}

bool only_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

std::optional<bool> parse_boolean(std::string_view text) {
  if (is_one_of(text, {"true", "True", "TRUE"})) return true;
  if (is_one_of(text, {"false", "False", "FALSE"})) return false;
  return std::nullopt;
}

// Whether YAML 1.2 reads the text as a number, whole or not.
bool is_number(std::string_view text) {
  if (text.starts_with("0x")) return only_of(text.substr(2), "0123456789abcdefABCDEF");
  if (text.starts_with("0o")) return only_of(text.substr(2), "01234567");
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (is_one_of(text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"})) return true;
  // from_chars would also take words, such as "infinity".
  if (text.empty() || (text.front() != '.' && !only_of(text.substr(0, 1), kDigits))) return false;
  double ignored = 0;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data(), end, ignored).ptr == end;
}

// Whether the text is a plain whole number: no '+', no leading zeros (octal to some readers).
bool is_plain_integer(std::string_view text) {
  if (text.starts_with('-') && text != "-0") text.remove_prefix(1);
  return only_of(text, kDigits) && (text.size() == 1 || text.front() != '0');
}

// Whether YAML 1.2 reads the text as a number, and a double has no fraction of it: 20.0 or 2e1.
bool is_whole(std::string_view text) {
  if (!is_number(text) || text.find_first_of("nN") != std::string_view::npos) return false;
  if (text.starts_with("0x") || text.starts_with("0o")) return true;
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::trunc(number) == number;
}

// Reads digits, perhaps with decimals behind a point.
std::optional<double> read_decimal_number(std::string_view text) {
  if (!only_of(text, "0123456789.") || !only_of(text.substr(0, 1), kDigits)) return std::nullopt;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

CheckedValue wrong(const Field& field, const YamlNode& node, std::string_view hint = {}) {
  std::string message = mismatch(field, node);
  if (!hint.empty()) message.append("; ").append(hint);
  return {{}, std::move(message)};
}

CheckedValue out_of_range(const Field& field, const YamlNode& node, const std::string& min,
                          const std::string& max) {
  return {{},
          "'" + std::string(field.name) + "' must be from " + min + " to " + max + ", but is " +
              printable(node.text)};
}

std::string_view integer_hint(const YamlNode& node) {
  if (!is_plain(node) && is_plain_integer(node.text)) return "remove the quotes";
  if (node.text.find_first_of("_,'") != std::string::npos && only_of(node.text, "0123456789_,'")) {
    return "write the digits without anything between them";
  }
  return is_whole(node.text) ? "write plain decimal digits" : "";
}

// Rules and settings travel as JSON, where numbers and booleans need quotes for what JSON lacks.
bool is_in_needless_quotes(const YamlNode& node) {
  return !is_plain(node) && is_json_scalar(node.text);
}

CheckedValue check_integer(const Field& field, const YamlNode& node) {
  if (!is_plain_integer(node.text) || is_in_needless_quotes(node)) {
    return wrong(field, node, integer_hint(node));
  }
  const auto number = read_decimal<std::int64_t>(node.text);
  if (!number || *number < field.range.min || *number > field.range.max) {
    return out_of_range(field, node, std::to_string(field.range.min),
                        std::to_string(field.range.max));
  }
  return {*number, {}};
}

CheckedValue check_number(const Field& field, const YamlNode& node) {
  if (is_in_needless_quotes(node)) {
    return wrong(field, node, is_number(node.text) ? "remove the quotes" : "");
  }
  const auto number = read_decimal_number(node.text);
  if (!number) return wrong(field, node, is_number(node.text) ? "write plain decimal digits" : "");
  if (*number < static_cast<double>(field.range.min) ||
      *number > static_cast<double>(field.range.max)) {
    return out_of_range(field, node, std::to_string(field.range.min),
                        std::to_string(field.range.max));
  }
  return {*number, {}};
}

CheckedValue check_boolean(const Field& field, const YamlNode& node) {
  const auto boolean = parse_boolean(node.text);
  if (boolean && !is_in_needless_quotes(node)) return {*boolean, {}};
  if (boolean) return wrong(field, node, "remove the quotes");
  if (is_one_of(node.text, {"yes", "Yes", "on", "On", "1"})) {
    return wrong(field, node, "write true");
  }
  if (is_one_of(node.text, {"no", "No", "off", "Off", "0"})) {
    return wrong(field, node, "write false");
  }
  return wrong(field, node);
}

CheckedValue check_choice(const Field& field, const YamlNode& node) {
  const auto found = std::find(field.choices.begin(), field.choices.end(), node.text);
  if (found != field.choices.end()) return {node.text, {}};
  const std::string_view nearest = nearest_name(node.text, field.choices);
  if (nearest.empty()) return wrong(field, node);
  return wrong(field, node, "did you mean '" + std::string(nearest) + "'?");
}

CheckedValue check_name(const Field& field, const YamlNode& node) {
  if (is_plain(node) && (is_number(node.text) || parse_boolean(node.text))) {
    return wrong(field, node, "put it in quotes to make it a text");
  }
  constexpr std::string_view kNameCharacters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
  if (!only_of(node.text, kNameCharacters)) return wrong(field, node);
  if (node.text.size() > kNameMax) {
    return wrong(field, node, "these are " + std::to_string(node.text.size()));
  }
  return {node.text, {}};
}

std::string_view duration_hint(const YamlNode& node) {
  const bool starts_like_one = only_of(std::string_view(node.text).substr(0, 1), kDigits);
  if (!starts_like_one) return "";
  if (only_of(node.text, "0123456789.")) return "six decimals at most";
  return "the units are w, d, h, m, s, ms and us; whole numbers, largest unit first";
}

CheckedValue check_duration(const Field& field, const YamlNode& node) {
  if (std::ranges::find(field.choices, node.text) != field.choices.end()) return {node.text, {}};
  const auto duration = parse_duration(node.text);
  if (!duration) return wrong(field, node, duration_hint(node));
  const Duration min{field.range.min};
  const Duration max{field.range.max};
  if (*duration < min || *duration > max) {
    return out_of_range(field, node, format_duration(min), format_duration(max));
  }
  return {*duration, {}};
}

bool is_listen_address(std::string_view text) {
  const auto address = ListenAddress::parse(text);
  return address && address->path.size() <= kUnixPathMax;
}

// Numbers and booleans are texts only if any text will do.
bool fits_form(const Field& field, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kText || node.text.size() > kTextMax) return false;
  if (field.form == kAnyText) return true;
  const bool other_type = is_plain(node) && (is_number(node.text) || parse_boolean(node.text));
  return !other_type &&
         re2::RE2::FullMatch(
             node.text, re2::StringPiece(field.form->pattern.data(), field.form->pattern.size()));
}

CheckedValue text_if(bool is_right, const Field& field, const YamlNode& node) {
  return is_right ? CheckedValue{node.text} : wrong(field, node);
}

CheckedValue check_text_list(const Field& field, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kText) {
    if (!fits_form(field, node)) return wrong(field, node);
    return {&node, {}};
  }
  if (node.kind != YamlNode::Kind::kList) return wrong(field, node);
  if (node.items.size() > kTextListMax) {
    return wrong(field, node, "these are more than " + std::to_string(kTextListMax));
  }
  for (const YamlNode* item : node.items) {
    if (!fits_form(field, *item)) {
      return {.value = {}, .mistake = mismatch(field, *item), .culprit = item};
    }
  }
  return {&node, {}};
}

CheckedValue check_text(const Field& field, const YamlNode& node) {
  switch (field.type) {
    case FieldType::kInteger: return check_integer(field, node);
    case FieldType::kNumber: return check_number(field, node);
    case FieldType::kBoolean: return check_boolean(field, node);
    case FieldType::kChoice: return check_choice(field, node);
    case FieldType::kName: return check_name(field, node);
    case FieldType::kDuration: return check_duration(field, node);
    case FieldType::kListenAddress: return text_if(is_listen_address(node.text), field, node);
    case FieldType::kText: return text_if(fits_form(field, node), field, node);
    case FieldType::kSection:
    case FieldType::kSectionList:
    case FieldType::kTextList:
    case FieldType::kTree: break;
  }
  return wrong(field, node);
}

CheckedValue check_collection(const Field& field, const YamlNode& node, YamlNode::Kind wanted) {
  if (node.kind == YamlNode::Kind::kEmpty) return {};
  if (node.kind != wanted) return wrong(field, node);
  return {&node, {}};
}

std::string one_of(std::span<const std::string_view> choices) {
  return "one of " + joined(choices);
}

std::string_view form_text(const Field& field) {
  return field.form == kAnyText ? "a text" : field.form->expected;
}

struct ToSetting {
  std::optional<SettingValue> operator()(std::monostate) const { return std::nullopt; }
  std::optional<SettingValue> operator()(const YamlNode* list) const {
    std::vector<std::string> texts;
    for (const YamlNode* text : texts_of(*list)) texts.push_back(text->text);
    return texts;
  }
  std::optional<SettingValue> operator()(const auto& plain) const { return plain; }
};

}  // namespace

CheckedValue check_value(const Field& field, const YamlNode& node) {
  if (field.type == FieldType::kTextList) return check_text_list(field, node);
  if (field.type == FieldType::kSection || field.type == FieldType::kTree) {
    return check_collection(field, node, YamlNode::Kind::kMap);
  }
  if (field.type == FieldType::kSectionList) {
    return check_collection(field, node, YamlNode::Kind::kList);
  }
  return node.kind == YamlNode::Kind::kText ? check_text(field, node) : wrong(field, node);
}

std::optional<SettingValue> setting_value(const FieldValue& value) {
  return std::visit(ToSetting(), value);
}

Result<SettingValue, Fault> read_setting(const Field& field, const std::string& text) {
  using Style = YamlNode::Style;
  const bool is_text = field.type != FieldType::kInteger && field.type != FieldType::kNumber &&
                       field.type != FieldType::kBoolean;
  const YamlNode node{.kind = YamlNode::Kind::kText,
                      .style = is_text ? Style::kQuoted : Style::kPlain,
                      .text = text};
  auto checked = check_value(field, node);
  if (!checked.mistake.empty()) return Fault{std::move(checked.mistake)};
  return *setting_value(checked.value);
}

std::optional<SettingValue> default_of(const Field& field) {
  if (field.default_text.empty()) return std::nullopt;
  return *read_setting(field, std::string(field.default_text));
}

std::vector<const YamlNode*> texts_of(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kText ? std::vector{&node} : node.items;
}

std::string expected_text(const Field& field) {
  switch (field.type) {
    case FieldType::kSection:
    case FieldType::kTree: return "a map of keys and values";
    case FieldType::kSectionList: return "a list, each item beginning with '- '";
    case FieldType::kInteger:
      return "a whole number from " + std::to_string(field.range.min) + " to " +
             std::to_string(field.range.max);
    case FieldType::kNumber:
      return "a number from " + std::to_string(field.range.min) + " to " +
             std::to_string(field.range.max);
    case FieldType::kBoolean: return "true or false";
    case FieldType::kChoice: return one_of(field.choices);
    case FieldType::kName: return "a text of 1 to 64 letters, digits, '_', '.', ':' or '-'";
    case FieldType::kDuration: {
      const std::string form = "a duration such as 500ms, 90s or 1h30m, or a number of seconds";
      return field.choices.empty() ? form : form + ", or " + one_of(field.choices);
    }
    case FieldType::kListenAddress:
      return "HOST:PORT with an IP address or localhost, such as 127.0.0.1:8080, or "
             "unix:/absolute/path";
    case FieldType::kText: return std::string(form_text(field));
    case FieldType::kTextList: return std::string(form_text(field)) + ", or a list of such";
  }
  return {};
}

std::string found_text(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kEmpty: return "empty";
    case YamlNode::Kind::kList: return "a list";
    case YamlNode::Kind::kMap: return "a map";
    case YamlNode::Kind::kText: break;
  }
  if (is_plain(node) && (is_number(node.text) || parse_boolean(node.text))) {
    return printable(node.text);
  }
  return "the text '" + printable(node.text) + "'";
}

std::string mismatch(const Field& field, const YamlNode& node) {
  return "'" + std::string(field.name) + "' must be " + expected_text(field) + ", but is " +
         found_text(node);
}

}  // namespace weir
