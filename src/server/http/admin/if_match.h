// The condition of a change: the field If-Match (RFC 9110, 13.1.1), a list of ETags or *.
//
// Thread rule: pure. Tested by http_tenants_test.cc and fuzz/admin_body_fuzz.cc.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/name_value.h"

namespace weir {

struct IfMatch {
  bool is_malformed = false;  // or no tag in it can ever match: all are weak
  bool is_any = false;        // *: what is to be changed must be there when the request comes
  // The current tag if the list has it. Else the last one: this node may not have heard of it yet.
  std::optional<std::string> tag{};
};

IfMatch read_if_match(std::span<const NameValue> headers, std::string_view current);

}  // namespace weir
