#include "server/http/admin/json_body.h"

#include <algorithm>
#include <span>

#include <boost/json/parse.hpp>

#include "base/nearest_name.h"

namespace weir {
namespace {

namespace json = boost::json;

json::string_view boost_text(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

JsonBody::JsonBody(const CheckReader::Source& source,
                   std::initializer_list<std::string_view> known) {
  json::error_code error;
  const json::value body = json::parse(json::string_view(source.text, source.size), error);
  if (error || !body.is_object()) {
    problem_ = {.kind = ProblemKind::kMalformedJson,
                .status = 400,
                .detail = "The body must be one JSON object, in valid UTF-8."};
    return;
  }
  fields_ = body.get_object();
  const std::span<const std::string_view> names(known.begin(), known.size());
  for (const auto& field : fields_) {
    const std::string_view name(field.key().data(), field.key().size());
    if (problem_ || std::ranges::find(names, name) != names.end()) continue;
    problem_ = invalid_field(name, expected_name(name, names));
    problem_->detail = problem_->field + ": there is no such field; " + name_hint(name, names);
  }
}

const json::value* JsonBody::find(std::string_view field) const {
  return fields_.if_contains(boost_text(field));
}

bool JsonBody::has(std::string_view field) const { return find(field) != nullptr; }

std::string JsonBody::text(std::string_view field) {
  std::string text = text_or(field, "");
  if (text.empty()) reject(field, "a text, not empty");
  return text;
}

std::string JsonBody::text_or(std::string_view field, std::string_view otherwise) {
  const json::value* const value = find(field);
  if (value == nullptr) return std::string(otherwise);
  if (!value->is_string()) {
    reject(field, "a text");
    return {};
  }
  const json::string& text = value->get_string();
  return {text.data(), text.size()};
}

std::uint64_t JsonBody::number(std::string_view field) {
  const json::value* const value = find(field);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 1) {
    reject(field, "a whole number from 1 up");
    return 0;
  }
  return static_cast<std::uint64_t>(value->get_int64());
}

bool JsonBody::boolean(std::string_view field) {
  const json::value* const value = find(field);
  if (value == nullptr || !value->is_bool()) {
    reject(field, "true or false");
    return false;
  }
  return value->get_bool();
}

void JsonBody::reject(std::string_view field, std::string_view expected) {
  if (!problem_) problem_ = invalid_field(field, expected);
}

}  // namespace weir
