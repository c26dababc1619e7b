#include "net/tls/tls_trust.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <new>

#include "base/ip_address.h"
#include "net/tls/tls_files.h"

namespace weir {
namespace {

using Verification = TlsTrustFiles::Verification;

void set_rules(SSL_CTX* context, Verification verification) {
  set_common_tls_rules(context);
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
  if (auto error = use_certificate(context, files.certificate, files.key)) return *error;
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
