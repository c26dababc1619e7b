#include "net/tls/tls_files.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <system_error>
#include <utility>

namespace weir {
namespace {

// Instead of asking on the terminal.
int no_pass_phrase(char*, int, int, void*) { return -1; }

}  // namespace

void set_common_tls_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // A peer that leaves without a farewell has ended, as one does on a plain socket: every
  // protocol we speak says by itself where a message ends.
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // A session's output may move, and grow, between two tries to write it.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
}

StartError tls_error(const std::string& what, const std::string& file) {
  const auto first = ERR_peek_error();  // the system's, of which the last says nothing
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  auto message = what + " " + file + " cannot be used";
  if (ERR_SYSTEM_ERROR(first)) {
    message += ": " + std::generic_category().message(ERR_GET_REASON(first));
  } else if (reason != nullptr) {
    message += std::string(": ") + reason;
  }
  ERR_clear_error();
  return {std::move(message)};
}

std::optional<StartError> use_certificate(SSL_CTX* context, const std::string& certificate,
                                          const std::string& key) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return tls_error("the certificate", certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_error("the key", key);
  }
  return std::nullopt;
}

}  // namespace weir
