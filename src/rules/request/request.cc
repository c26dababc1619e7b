#include "rules/request/request.h"

#include <algorithm>

namespace weir {

std::optional<std::string_view> Request::header(std::string_view name) const {
  return find_header(headers, name);
}

std::optional<std::string_view> first_value(std::span<const NameValue> values,
                                            std::string_view name) {
  const auto found = std::ranges::find(values, name, &NameValue::name);
  return found == values.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace weir
