#include "rules/request/request.h"

namespace weir {

std::optional<std::string_view> Request::header(std::string_view name) const {
  return find_header(headers, name);
}

}  // namespace weir
