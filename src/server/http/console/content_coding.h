// Which content coding a client would take (RFC 9110, 12.5.3).
//
// Thread rule: pure. Tested by content_coding_test.cc.

#pragma once

#include <string_view>

namespace weir {

// Whether the field Accept-Encoding lets us send this coding, such as "br". Without the field
// only "identity" would be sure to be understood, so nothing else is sent.
bool accepts_coding(std::string_view accept_encoding, std::string_view coding);

}  // namespace weir
