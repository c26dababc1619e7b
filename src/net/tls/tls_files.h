// What both ends of TLS have in common: rules of a context, and files of certificates.
//
// Thread rule: one thread a context. Tested by src/net/tls_test.cc and
// src/net/socket_dialer_test.cc.

#pragma once

#include <openssl/types.h>

#include <optional>
#include <string>

#include "net/sockets/address.h"

namespace weir {

// TLS 1.2 or 1.3, nothing renegotiated or compressed, output that may move, and nobody
// asked for a pass phrase.
void set_common_tls_rules(SSL_CTX* context);

// "the key FILE cannot be used: ...", with what OpenSSL says last.
StartError tls_error(const std::string& what, const std::string& file);

// Shows this certificate. The error names the file; what is in a key is never repeated.
std::optional<StartError> use_certificate(SSL_CTX* context, const std::string& certificate,
                                          const std::string& key);

}  // namespace weir
