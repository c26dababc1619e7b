// is_plain_value: whether all origins read a header's value alike.
//
// A host trims the blanks and tabs around a value (trim_blanks: RFC 9110, 5.5) before anybody reads
// it, and refuses a request with a value that is not plain. Origins trim other characters, too,
// each its own. A client must not get a fresh counter for each spelling of one key.
//
// Thread rule: pure. Tested by plain_value_test.cc, and at every host by
// tests/attack/header_values_test.py.

#pragma once

#include <string_view>

namespace weir {

// False if the value has a control character other than a tab, or non-ASCII white space at an end
// of it or of one of its items. Bytes that are not UTF-8 count as ISO 8859-1.
bool is_plain_value(std::string_view value);

}  // namespace weir
