// Finds a name that an object in a JSON text has twice: readers of JSON would take any of them.
//
// Thread rule: pure. Tested by tests/scenarios/http_admin.yaml,
// src/rulebook/rulebook_test.cc and fuzz/admin_body_fuzz.cc.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace simdjson::dom {
class element;
}

namespace weir {

// The first such name. REQUIRES: JSON with bounded nesting
std::optional<std::string> repeated_name(std::string_view json);
std::optional<std::string> repeated_name(const simdjson::dom::element& json);

}  // namespace weir
