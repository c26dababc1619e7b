// The authorities that a Redis must show under TLS, as its URL says.
//
// Thread rule: pure, but that it reads files. Tested by tests/e2e/compare_test.py.

#pragma once

#include <memory>
#include <variant>

#include "net/tls/tls_trust.h"
#include "store/redis/client/redis_url.h"

namespace weir {

inline std::variant<std::shared_ptr<const TlsTrust>, StartError> load_trust(
    const RedisTlsFiles& files) {
  const bool verifies = files.verification == RedisTlsFiles::Verification::kFull;
  return TlsTrust::load({.authorities = files.authorities,
                         .certificate = files.certificate,
                         .key = files.key,
                         .verification = verifies ? TlsTrustFiles::Verification::kFull
                                                  : TlsTrustFiles::Verification::kNone});
}

}  // namespace weir
