// The JSON Schema of the configuration, made from the table in setting_fields.cc.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <utility>

#include "base/decimal.h"
#include "config/config.h"
#include "config/fields/fields.h"

namespace weir {
namespace {

namespace json = boost::json;

// The forms of base/duration_text.h. The loader refuses durations too long for a window.
constexpr std::string_view kDurationPattern =
    "^([0-9]+(\\.[0-9]{1,6})?"
    "|(?=[0-9])([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?([0-9]+us)?)$";

constexpr std::string_view kNamePattern = "^[A-Za-z0-9_.:-]{1,64}$";

// Nearly base/listen_address.h: the loader checks the inside of IP addresses.
constexpr std::string_view kListenAddressPattern =
    "^((\\[[0-9A-Fa-f:.]+\\]|[0-9.]+|localhost)"
    ":(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
    "|unix:/.*[^/])$";

// boost::json::string_view is not std::string_view in 1.81.
json::string_view view(std::string_view text) { return {text.data(), text.size()}; }

json::object section_schema(const Section& section);

// A match may hold matches, so it is defined once and referred to.
json::object section_or_reference(const Section& section) {
  if (&section == &kMatchSection) return {{"$ref", "#/$defs/match"}};
  return section_schema(section);
}

json::value choice_array(const Field& field) {
  json::array choices;
  for (const std::string_view choice : field.choices) choices.emplace_back(view(choice));
  return choices;
}

json::object text_schema(const Field& field) {
  if (field.form == nullptr) return {{"type", {"string", "number", "boolean"}}};
  return {{"type", "string"}, {"pattern", view(field.form->pattern)}};
}

// The form of the field's values, without its description.
json::object type_schema(const Field& field) {
  switch (field.type) {
    case FieldType::kSection: return section_or_reference(*field.section);
    case FieldType::kSectionList: {
      json::object items = section_or_reference(*field.section);
      items["type"] = "object";  // an empty item is a mistake here
      return {{"type", {"array", "null"}}, {"items", std::move(items)}};
    }
    case FieldType::kInteger:
      return {{"type", "integer"}, {"minimum", field.range.min}, {"maximum", field.range.max}};
    case FieldType::kNumber:
      return {{"type", "number"}, {"minimum", field.range.min}, {"maximum", field.range.max}};
    case FieldType::kBoolean: return {{"type", "boolean"}};
    case FieldType::kChoice: return {{"enum", choice_array(field)}};
    case FieldType::kName: return {{"type", "string"}, {"pattern", view(kNamePattern)}};
    case FieldType::kDuration: {
      constexpr double kSecondUs = 1e6;
      std::string pattern(kDurationPattern);
      for (const auto choice : field.choices) pattern += "|^" + std::string(choice) + "$";
      return {{"type", {"string", "number"}},
              {"pattern", pattern},
              {"minimum", static_cast<double>(field.range.min) / kSecondUs},
              {"maximum", static_cast<double>(field.range.max) / kSecondUs}};
    }
    case FieldType::kText: return text_schema(field);
    case FieldType::kTextList: {
      json::object list{
          {"type", "array"}, {"maxItems", kTextListMax}, {"items", text_schema(field)}};
      return {{"anyOf", {text_schema(field), std::move(list)}}};
    }
    case FieldType::kTree: return {{"type", {"object", "null"}}};
    case FieldType::kListenAddress:
      return {{"type", "string"}, {"pattern", view(kListenAddressPattern)}};
  }
  return {};
}

json::value default_value(const Field& field) {
  if (field.type == FieldType::kBoolean) return field.default_text == "true";
  if (field.type == FieldType::kInteger) {
    return read_decimal<std::int64_t>(field.default_text).value_or(0);
  }
  if (field.type == FieldType::kNumber) return json::parse(view(field.default_text));
  return json::value(view(field.default_text));
}

json::object field_schema(const Field& field) {
  json::object schema{{"description", view(field.description)}};
  for (const auto& member : type_schema(field)) {
    if (member.key() != "description") schema.insert(member);
  }
  if (!field.default_text.empty()) schema["default"] = default_value(field);
  return schema;
}

// "Only if the algorithm is token_bucket may there be a burst."
json::object condition_schema(const Field& field, const Section& section) {
  const Condition& condition = field.condition;
  json::object decider{{"const", view(condition.value)}};
  json::object when{{"properties", {{view(condition.field), std::move(decider)}}}};
  // If it is not set, the default decides.
  const Field* decided_by = section.find(condition.field);
  if (decided_by->default_text != condition.value) {
    when["required"] = json::array{view(condition.field)};
  }
  json::object schema{{"if", std::move(when)},
                      {"else", {{"properties", {{view(field.name), false}}}}}};
  if (field.presence == Field::Presence::kRequired) {
    schema["then"] = {{"required", json::array{view(field.name)}}};
  }
  return schema;
}

json::object section_schema(const Section& section) {
  json::object properties;
  json::array required;
  json::array conditions;
  for (const Field& field : section.fields) {
    properties[view(field.name)] = field_schema(field);
    const bool is_conditional = !field.condition.field.empty();
    const bool is_required = field.presence == Field::Presence::kRequired;
    if (is_required && !is_conditional) required.emplace_back(view(field.name));
    if (is_conditional) conditions.push_back(condition_schema(field, section));
  }
  json::object schema{{"description", view(section.description)},
                      {"type", {"object", "null"}},
                      {"additionalProperties", false},
                      {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  if (!conditions.empty()) schema["allOf"] = std::move(conditions);
  return schema;
}

void print(const json::value& value, std::size_t depth, std::string& out);

void print_indent(std::size_t depth, std::string& out) {
  out += '\n';
  out.append(2 * depth, ' ');
}

// The items between brackets, one a line. `print_one` prints an item.
template <typename Items, typename PrintOne>
void print_items(const Items& items, std::string_view brackets, std::size_t depth, std::string& out,
                 const PrintOne& print_one) {
  char separator = brackets[0];
  for (const auto& item : items) {
    out += separator;
    print_indent(depth + 1, out);
    print_one(item);
    separator = ',';
  }
  print_indent(depth, out);
  out += brackets[1];
}

// Boost 1.81 can only print without spaces.
void print(const json::value& value, std::size_t depth, std::string& out) {
  if (value.is_object() && !value.get_object().empty()) {
    print_items(value.get_object(), "{}", depth, out, [&](const auto& member) {
      out += json::serialize(member.key()) + ": ";
      print(member.value(), depth + 1, out);
    });
  } else if (value.is_array() && !value.get_array().empty()) {
    print_items(value.get_array(), "[]", depth, out,
                [&](const auto& item) { print(item, depth + 1, out); });
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string config_schema() {
  json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"$id", "urn:weir:weir.yaml"},
                      {"title", "weir.yaml"}};
  for (const auto& member : section_schema(kConfigSection)) schema.insert(member);
  schema["$defs"] = {{"match", section_schema(kMatchSection)}};
  std::string out;
  print(schema, 0, out);
  return out + '\n';
}

}  // namespace weir
