#include "net/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <new>

#include "net/tls/tls_files.h"

namespace weir {
namespace {

// A context of our own kind, so that a ticket of another service is not taken for ours.
constexpr unsigned char kSessionContext[] = "weir";

int choose_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  const auto& ours = *static_cast<const std::string*>(SSL_get_app_data(ssl));
  if (ours.empty()) return SSL_TLSEXT_ERR_NOACK;
  const auto* list = reinterpret_cast<const unsigned char*>(ours.data());
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(
      &found, chosen_size, list, static_cast<unsigned>(ours.size()), offered, offered_size);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_rules(SSL_CTX* context) {
  set_common_tls_rules(context);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);          // of the many that are idle
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets need none
  SSL_CTX_set_session_id_context(context, kSessionContext, sizeof(kSessionContext) - 1);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

bool require_client_certificate(SSL_CTX* context, const std::string& file) {
  auto* names = SSL_load_client_CA_file(file.c_str());
  if (names == nullptr) return false;
  SSL_CTX_set_client_CA_list(context, names);  // takes them
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return SSL_CTX_load_verify_locations(context, file.c_str(), nullptr) == 1;
}

}  // namespace

std::variant<std::shared_ptr<const TlsContext>, StartError> TlsContext::load(
    const TlsFiles& files) {
  ERR_clear_error();
  auto* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) throw std::bad_alloc();
  auto loaded = std::make_shared<const TlsContext>(context);
  set_rules(context);
  if (auto error = use_certificate(context, files.certificate, files.key)) return *error;
  if (!files.client_ca.empty() && !require_client_certificate(context, files.client_ca)) {
    return tls_error("the authority of client certificates", files.client_ca);
  }
  return loaded;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

std::unique_ptr<TlsStream> TlsContext::accept(int socket, const std::string& alpn) const {
  auto* ssl = SSL_new(context_);
  if (ssl == nullptr) return nullptr;
  auto stream = std::make_unique<TlsStream>(ssl);
  SSL_set_app_data(ssl, const_cast<std::string*>(&alpn));  // choose_protocol() reads it
  SSL_set_accept_state(ssl);
  return SSL_set_fd(ssl, socket) == 1 ? std::move(stream) : nullptr;
}

}  // namespace weir
