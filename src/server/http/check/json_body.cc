#include "server/http/check/json_body.h"

#include <algorithm>
#include <span>
#include <utility>

#include <boost/json/parse.hpp>

#include "base/nearest_name.h"
#include "proto/repeated_name.h"

namespace weir {
namespace {

namespace json = boost::json;

json::string_view boost_text(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

JsonBody::JsonBody(const RequestBody& source, Names known) {
  json::error_code error;
  const json::value body = json::parse(json::string_view(source.text, source.size), error);
  if (error || !body.is_object()) {
    problem_ = {.kind = ProblemKind::kMalformedJson,
                .status = 400,
                .detail = "The body must be one JSON object, in valid UTF-8."};
    return;
  }
  fields_ = body.get_object();
  if (const auto name = repeated_name({source.text, source.size})) {
    reject(shown_name(*name), "the field only once");
  }
  refuse_others(known);
}

JsonBody::JsonBody(json::object fields, Names known) : fields_(std::move(fields)) {
  refuse_others(known);
}

void JsonBody::refuse_others(Names known) {
  const std::span<const std::string_view> names(known.begin(), known.size());
  for (const auto& field : fields_) {
    const std::string_view name = field.key();
    if (problem_ || std::ranges::find(names, name) != names.end()) continue;
    problem_ = unknown_field(shown_name(name), name, names);
  }
}

const json::value* JsonBody::find(std::string_view field) const {
  return fields_.if_contains(boost_text(field));
}

bool JsonBody::has(std::string_view field) const { return find(field) != nullptr; }

std::string_view JsonBody::text(std::string_view field, std::string_view expected) {
  if (const json::value* const value = find(field)) {
    if (value->is_string() && !value->get_string().empty()) return value->get_string();
  }
  reject(field, expected);
  return {};
}

std::string_view JsonBody::text_or(std::string_view field, std::string_view otherwise) {
  const json::value* const value = find(field);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get_string();
  reject(field, "a text");
  return {};
}

std::vector<NameValue> JsonBody::texts(std::string_view field) {
  constexpr std::size_t kTextsMax = 256;
  std::vector<NameValue> texts;
  const json::value* const value = find(field);
  if (value == nullptr) return texts;
  const json::object* const object = value->if_object();
  bool fits = object != nullptr;
  const auto take = [&](std::string_view name, const json::value& text) {
    fits = fits && text.is_string() && texts.size() < kTextsMax;
    if (fits) texts.push_back({.name = name, .value = text.get_string()});
  };
  const auto take_item = [&](const json::key_value_pair& item) {
    const json::array* const list = item.value().if_array();
    if (list == nullptr) return take(item.key(), item.value());
    for (const json::value& text : *list) take(item.key(), text);
  };
  if (object != nullptr) std::ranges::for_each(*object, take_item);
  if (!fits) reject(field, "an object of up to 256 texts, or lists of texts");
  return texts;
}

std::uint64_t JsonBody::number(std::string_view field, std::int64_t least, std::int64_t most) {
  const json::value* const value = find(field);
  const std::int64_t* const number = value == nullptr ? nullptr : value->if_int64();
  if (number == nullptr || *number < least || *number > most) {
    reject(field, "a whole number from " + std::to_string(least) +
                      (most == INT64_MAX ? " up" : " to " + std::to_string(most)));
    return 0;
  }
  return static_cast<std::uint64_t>(*number);
}

bool JsonBody::flag(std::string_view field) {
  const json::value* const value = find(field);
  if (value == nullptr) return false;
  if (!value->is_bool()) reject(field, "true or false");
  return value->is_bool() && value->get_bool();
}

void JsonBody::reject(std::string_view field, std::string_view expected) {
  if (!problem_) problem_ = invalid_field(field, expected);
}

}  // namespace weir
