// NameValue: a name and its value, such as a header field or an entry of a descriptor.
//
// Thread rule: a value that refers to texts elsewhere. Tested with those who use it,
// src/proto/header_fields_test.cc first of all.

#pragma once

#include <string_view>

namespace weir {

struct NameValue {
  std::string_view name;
  std::string_view value;
};

}  // namespace weir
