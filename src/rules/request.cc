#include "rules/request.h"

#include <algorithm>

#include "base/ascii.h"

namespace weir {

std::optional<std::string_view> Request::header(std::string_view name) const {
  for (const NameValue& header : headers) {
    if (equal_ignoring_case(header.name, name)) return header.value;
  }
  return std::nullopt;
}

std::optional<std::string_view> first_value(std::span<const NameValue> values,
                                            std::string_view name) {
  const auto found = std::ranges::find(values, name, &NameValue::name);
  return found == values.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace weir
