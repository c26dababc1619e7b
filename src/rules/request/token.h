// read_claims() reads JSON Web Tokens (RFC 7519) and decides whether to believe them.
//
// A key verifies HS256 with a shared secret or RS256 with a public key, as configured. The token
// must name exactly this algorithm; "none" is no algorithm. `exp` and `nbf` are checked to the
// second. A token with any fault has no claims, and the verdict names the fault.
//
// Thread rule: a TokenKey is immutable; a TokenScratch is one thread's. Reading allocates
// nothing once the scratch is warm, except what OpenSSL does for itself.
// Tested by token_test.cc.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/fault.h"
#include "base/name_value.h"
#include "base/text_hash.h"
#include "rules/request/request.h"
#include "weir/result.h"
#include "weir/time.h"

struct evp_pkey_st;

namespace simdjson::dom {
class parser;
}

namespace weir {

inline constexpr std::size_t kTokenMax = 8192;  // bytes; a longer token is bad

class TokenKey {
 public:
  static Result<TokenKey, Fault> hs256(std::string secret);
  static Result<TokenKey, Fault> rs256(const std::string& public_key_pem);

  std::string_view algorithm() const { return rsa_ == nullptr ? "HS256" : "RS256"; }
  bool verifies(std::string_view text, std::string_view signature) const;

 private:
  TokenKey() = default;

  std::string secret_;
  std::shared_ptr<evp_pkey_st> rsa_;
};

struct TokenScratch {
  TokenScratch();
  ~TokenScratch();

  std::string json;
  std::string signature;
  std::string text;  // of numbers
  std::unique_ptr<simdjson::dom::parser> parser;
};

using ClaimNames = std::unordered_set<std::string, TextHash, std::equal_to<>>;

// The claims with those names, as texts: each item of a list; whole numbers as decimal digits; true
// and false. Other types give nothing. The texts are in the scratch until its next use. A null key:
// reads without verifying, dates included.
TokenVerdict read_claims(std::string_view token, const TokenKey* key, const ClaimNames& names,
                         TokenScratch& scratch, std::vector<NameValue>& claims, Instant now);

}  // namespace weir
