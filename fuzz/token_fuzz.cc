// Reads hostile tokens, as they are and with the input as the payload of one that is not
// verified. A key that nobody has signed with never gives claims.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/base64url_testing.h"
#include "rules/request/token.h"

namespace weir {
namespace {

void read(std::string_view input) {
  static const ClaimNames names = {"sub", "plan", "roles"};
  static const TokenKey key = *TokenKey::hs256(
      "nobody has signed with this one"
      " secret");
  static TokenScratch scratch;
  static std::vector<NameValue> claims;
  const auto check = [&] {
    std::size_t size = 0;
    for (const NameValue& claim : claims) size += claim.value.size();
    WEIR_ASSERT(claims.size() <= kTokenMax && size <= 4 * kTokenMax);
  };
  read_claims(input, nullptr, names, scratch, claims, Instant());
  check();
  read_claims("e30." + base64url(input) + ".", nullptr, names, scratch, claims, Instant());
  check();
  read_claims(input, &key, names, scratch, claims, Instant());
  WEIR_ASSERT(claims.empty());
  // {"alg":"HS256"} and some signature.
  read_claims("eyJhbGciOiJIUzI1NiJ9." + base64url(input) + ".QUJD", &key, names, scratch, claims,
              Instant());
  WEIR_ASSERT(claims.empty());
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
