// base64url (RFC 4648 5) without padding: text in 64 characters that URLs, tokens and names of
// keys may hold.
//
// Thread rule: pure. Tested by base64url_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// Writes `bits` as 11 characters, six bits each, the highest first. Returns what follows them.
char* put_base64url(char* at, std::uint64_t bits) noexcept;

// Replaces `text` by what is encoded. False if nothing encodes to `encoded`: each text has one
// spelling, so bits that say nothing must be zero.
bool decode_base64url(std::string_view encoded, std::string& text);

}  // namespace weir
