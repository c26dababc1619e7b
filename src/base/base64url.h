// base64url (RFC 4648 5) without padding: text in 64 characters that URLs, tokens and names of
// keys may hold.
//
// Thread rule: pure. Tested by base64url_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// Writes `bits` as 11 characters, six bits each, the highest first. Returns the end.
char* put_base64url(char* at, std::uint64_t bits) noexcept;

// Decodes into `text`. Returns false if no text encodes to `encoded`: each text has only one
// spelling, so unused bits must be zero.
bool decode_base64url(std::string_view encoded, std::string& text);

}  // namespace weir
