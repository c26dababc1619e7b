// The media type or coding that a client prefers, by its field Accept or Accept-Encoding (RFC 9110,
// 12.5).
//
// Thread rule: pure. Tested by media_range_test.cc.

#pragma once

#include <string_view>

namespace weir {

// From 0 (not acceptable) to 1000. The most specific range that fits the type counts;
// without the field all types are worth the same. It skips ranges that are malformed.
// REQUIRES: `type` is like "text/plain", or a coding such as "br", in lower case.
int quality_of(std::string_view accept, std::string_view type);

}  // namespace weir
