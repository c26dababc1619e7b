#include "rules/request.h"

#include "base/ascii.h"

namespace weir {

std::optional<std::string_view> Request::header(std::string_view name) const {
  for (const NameValue& header : headers) {
    if (equal_ignoring_case(header.name, name)) return header.value;
  }
  return std::nullopt;
}

}  // namespace weir
