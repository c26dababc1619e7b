#include "proto/repeated_name.h"

#include <simdjson.h>

#include <set>

namespace weir {

// Recurses as deep as the JSON is nested.
std::optional<std::string> repeated_name(const simdjson::dom::element& value) {
  simdjson::dom::array list;
  simdjson::dom::object object;
  std::optional<std::string> found;
  if (!value.get(list)) {
    for (const auto item : list) {
      if (!found) found = repeated_name(item);
    }
  } else if (!value.get(object)) {
    std::set<std::string_view> names;
    for (const auto field : object) {
      if (found) break;
      found = names.insert(field.key).second ? repeated_name(field.value) : std::string(field.key);
    }
  }
  return found;
}

std::optional<std::string> repeated_name(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(json.data(), json.size()).get(root)) return std::nullopt;
  return repeated_name(root);
}

}  // namespace weir
