// The fields of an HTTP/1 head, for the few requests that need all of them.
//
// Thread rule: pure. Tested by header_fields_test.cc.

#pragma once

#include <string_view>
#include <vector>

#include "base/name_value.h"

namespace weir::http1 {

// Appends the fields of a head that parse_head() has found complete, in the order sent,
// values without the blanks around them.
void read_header_fields(std::string_view head, std::vector<NameValue>& fields);

}  // namespace weir::http1
