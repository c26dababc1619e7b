#include "server/http/check/json_body.h"

#include <simdjson.h>

#include <algorithm>
#include <span>
#include <string>

#include "base/nearest_name.h"
#include "proto/repeated_name.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kDepthMax = 32;

std::string_view fault_of(simdjson::error_code error) {
  switch (error) {
    case simdjson::DEPTH_ERROR: return "The body is nested more than 32 deep.";
    case simdjson::NUMBER_ERROR: return "The body has a number that is none, or of over 64 bits.";
    default: return "The body must be one JSON object, in valid UTF-8.";
  }
}

}  // namespace

struct JsonBody::Parsed {
  dom::parser parser;  // has the texts
  std::optional<dom::object> fields;

  std::optional<dom::element> find(std::string_view name) const {
    dom::element value;
    if (!fields || fields->at_key(name).get(value)) return std::nullopt;
    return value;
  }
  // The field, if it is of the type.
  template <typename Value>
  std::optional<Value> get(std::string_view name) const {
    const auto field = find(name);
    Value value{};
    if (!field || field->get(value)) return std::nullopt;
    return value;
  }
};

JsonBody::JsonBody(std::string_view json, Names known) : parsed_(std::make_unique<Parsed>()) {
  dom::element body;
  dom::object fields;
  simdjson::error_code error = parsed_->parser.allocate(json.size(), kDepthMax + 1);
  if (!error) error = parsed_->parser.parse(json.data(), json.size()).get(body);
  if (!error) error = body.get(fields);
  if (error) {
    problem_ = {
        .kind = ProblemKind::kMalformedJson, .status = 400, .detail = std::string(fault_of(error))};
    return;
  }
  parsed_->fields = fields;
  if (const auto name = repeated_name(body)) reject(shown_name(*name), "the field only once");
  const std::span<const std::string_view> names(known.begin(), known.size());
  for (const auto& field : fields) {
    if (problem_ || std::ranges::find(names, field.key) != names.end()) continue;
    problem_ = unknown_field(shown_name(field.key), field.key, names);
  }
}

JsonBody::~JsonBody() = default;

bool JsonBody::has(std::string_view field) const { return parsed_->find(field).has_value(); }

std::string_view JsonBody::text(std::string_view field, std::string_view expected) {
  const auto text = parsed_->get<std::string_view>(field).value_or(std::string_view());
  if (text.empty()) reject(field, expected);
  return text;
}

std::string_view JsonBody::text_or(std::string_view field, std::string_view otherwise) {
  const auto text = parsed_->get<std::string_view>(field);
  if (!text && has(field)) reject(field, "a text");
  return text.value_or(otherwise);
}

std::vector<NameValue> JsonBody::texts(std::string_view field) {
  constexpr std::size_t kTextsMax = 256;
  std::vector<NameValue> texts;
  if (!has(field)) return texts;
  const auto object = parsed_->get<dom::object>(field);
  bool fits = object.has_value();
  const auto take = [&](std::string_view name, const dom::element& value) {
    std::string_view text;
    fits = fits && !value.get(text) && texts.size() < kTextsMax;
    if (fits) texts.push_back({.name = name, .value = text});
  };
  const auto take_item = [&](const dom::key_value_pair& item) {
    dom::array list;
    if (item.value.get(list)) return take(item.key, item.value);
    for (const dom::element text : list) take(item.key, text);
  };
  if (object) std::ranges::for_each(*object, take_item);
  if (!fits) reject(field, "an object of up to 256 texts, or lists of texts");
  return texts;
}

std::uint64_t JsonBody::number(std::string_view field, std::int64_t least, std::int64_t most) {
  const auto number = parsed_->get<std::int64_t>(field);
  if (!number || *number < least || *number > most) {
    reject(field, "a whole number from " + std::to_string(least) +
                      (most == INT64_MAX ? " up" : " to " + std::to_string(most)));
    return 0;
  }
  return static_cast<std::uint64_t>(*number);
}

bool JsonBody::flag(std::string_view field) {
  const auto flag = parsed_->get<bool>(field);
  if (!flag && has(field)) reject(field, "true or false");
  return flag.value_or(false);
}

void JsonBody::reject(std::string_view field, std::string_view expected) {
  if (!problem_) problem_ = invalid_field(field, expected);
}

}  // namespace weir
