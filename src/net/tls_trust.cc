#include "net/tls_trust.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <new>

#include "base/ip_address.h"

namespace weir {
namespace {

using Verification = TlsTrustFiles::Verification;

StartError tls_error(const std::string& what, const std::string& file) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  auto message = what + " " + file + " cannot be used";
  if (reason != nullptr) message += std::string(": ") + reason;
  ERR_clear_error();
  return {std::move(message)};
}

// Instead of asking on the terminal.
int no_pass_phrase(char*, int, int, void*) { return -1; }

void set_rules(SSL_CTX* context, Verification verification) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // A session's output may move, and grow, between two tries to write it.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
  const bool verifies = verification == Verification::kFull;
  SSL_CTX_set_verify(context, verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
}

}  // namespace

std::variant<std::shared_ptr<const TlsTrust>, StartError> TlsTrust::load(
    const TlsTrustFiles& files) {
  ERR_clear_error();
  auto* context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr) throw std::bad_alloc();
  auto loaded = std::make_shared<const TlsTrust>(context, files.verification);
  set_rules(context, files.verification);
  const auto& authorities = files.authorities;
  if (authorities.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, authorities.c_str(), nullptr) != 1) {
    return tls_error("the authorities' file", authorities);
  }
  if (files.certificate.empty()) return loaded;
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return tls_error("the certificate", files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_error("the key", files.key);
  }
  return loaded;
}

TlsTrust::~TlsTrust() { SSL_CTX_free(context_); }

std::unique_ptr<TlsStream> TlsTrust::connect(int socket, const std::string& host) const {
  auto* ssl = SSL_new(context_);
  if (ssl == nullptr) return nullptr;
  auto stream = std::make_unique<TlsStream>(ssl);
  const bool is_address = IpAddress::parse(host).has_value();
  if (verification_ == Verification::kFull) {
    const int set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str())
                               : SSL_set1_host(ssl, host.c_str());
    if (set != 1) return nullptr;
  }
  if (!is_address) SSL_set_tlsext_host_name(ssl, host.c_str());  // SNI is for names alone
  SSL_set_connect_state(ssl);
  return SSL_set_fd(ssl, socket) == 1 ? std::move(stream) : nullptr;
}

}  // namespace weir
