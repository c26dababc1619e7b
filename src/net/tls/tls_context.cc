#include "net/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <new>
#include <optional>
#include <system_error>

#include "base/ip_address.h"

namespace weir {
namespace {

// A context name of our own, so that we refuse tickets of other services.
constexpr unsigned char kSessionContext[] = "weir";

// Fails instead of asking on the terminal.
int no_pass_phrase(char*, int, int, void*) { return -1; }

SslContext make_context(const SSL_METHOD* method) {
  ERR_clear_error();
  auto made = SslContext(SSL_CTX_new(method));
  auto* context = made.get();
  if (context == nullptr) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // A peer that leaves without a farewell has ended, as on a plain socket: all our protocols mark
  // where a message ends.
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // A session's output may move, and grow, between two tries to write it.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
  return made;
}

// "the key FILE cannot be used: ...", with OpenSSL's last reason.
Fault tls_error(const std::string& what, const std::string& file) {
  const auto first = ERR_peek_error();  // the system's error, which the last one lacks
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

std::optional<Fault> use_certificate(SSL_CTX* context, const std::string& certificate,
                                     const std::string& key) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return tls_error("the certificate", certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_error("the key", key);
  }
  return std::nullopt;
}

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

void set_server_rules(SSL_CTX* context) {
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);          // of the many that are idle
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets need no cache
  SSL_CTX_set_session_id_context(context, kSessionContext, sizeof(kSessionContext) - 1);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

bool require_client_certificate(SSL_CTX* context, const std::string& file) {
  auto* names = SSL_load_client_CA_file(file.c_str());
  if (names == nullptr) return false;
  SSL_CTX_set_client_CA_list(context, names);  // takes ownership
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return SSL_CTX_load_verify_locations(context, file.c_str(), nullptr) == 1;
}

// Null if memory is short.
std::unique_ptr<TlsStream> make_stream(SSL* ssl, int socket) {
  if (ssl == nullptr) return nullptr;
  auto stream = std::make_unique<TlsStream>(ssl);
  return SSL_set_fd(ssl, socket) == 1 ? std::move(stream) : nullptr;
}

}  // namespace

void SslContextDeleter::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<std::shared_ptr<const TlsContext>, Fault> TlsContext::load(const TlsFiles& files) {
  auto made = make_context(TLS_server_method());
  auto* context = made.get();
  set_server_rules(context);
  if (auto error = use_certificate(context, files.certificate, files.key)) return *error;
  if (!files.client_ca.empty() && !require_client_certificate(context, files.client_ca)) {
    return tls_error("the authority of client certificates", files.client_ca);
  }
  return std::make_shared<const TlsContext>(std::move(made));
}

std::unique_ptr<TlsStream> TlsContext::accept(int socket, const std::string& alpn) const {
  auto* ssl = SSL_new(context_.get());
  auto stream = make_stream(ssl, socket);
  if (stream == nullptr) return nullptr;
  SSL_set_app_data(ssl, const_cast<std::string*>(&alpn));  // choose_protocol() reads it
  SSL_set_accept_state(ssl);
  return stream;
}

Result<std::shared_ptr<const TlsTrust>, Fault> TlsTrust::load(const TlsTrustFiles& files) {
  auto made = make_context(TLS_client_method());
  auto* context = made.get();
  const bool verifies = files.verification == TlsTrustFiles::Verification::kFull;
  SSL_CTX_set_verify(context, verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  const auto& authorities = files.authorities;
  if (authorities.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, authorities.c_str(), nullptr) != 1) {
    return tls_error("the authorities' file", authorities);
  }
  if (!files.certificate.empty()) {
    if (auto error = use_certificate(context, files.certificate, files.key)) return *error;
  }
  return std::make_shared<const TlsTrust>(std::move(made), files.verification);
}

std::unique_ptr<TlsStream> TlsTrust::connect(int socket, const std::string& host) const {
  auto* ssl = SSL_new(context_.get());
  auto stream = make_stream(ssl, socket);
  if (stream == nullptr) return nullptr;
  const bool is_address = IpAddress::parse(host).has_value();
  if (verification_ == TlsTrustFiles::Verification::kFull) {
    const int set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str())
                               : SSL_set1_host(ssl, host.c_str());
    if (set != 1) return nullptr;
  }
  if (!is_address) SSL_set_tlsext_host_name(ssl, host.c_str());  // SNI is for names alone
  SSL_set_connect_state(ssl);
  return stream;
}

using Status = IoResult::Status;

TlsStream::~TlsStream() { SSL_free(ssl_); }

// The result of a failed call.
IoResult TlsStream::result_of(int returned) {
  switch (SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_WANT_READ: return {.status = Status::kWantsInput};
    case SSL_ERROR_WANT_WRITE: return {.status = Status::kWantsOutput};
    case SSL_ERROR_ZERO_RETURN: return {.status = Status::kEnd};
    default: broken_ = true; return {.status = Status::kBroken};
  }
}

// The queue of errors is the thread's: an earlier connection's errors must not count as this one's.
IoResult TlsStream::handshake() {
  ERR_clear_error();
  const int returned = SSL_do_handshake(ssl_);
  if (returned == 1) return {.status = Status::kDone};
  const auto result = result_of(returned);
  error_ = ERR_peek_last_error();
  return result;
}

// OpenSSL's error is the same for every certificate that fails; its reason is elsewhere.
std::string TlsStream::refusal() const {
  const long verified = SSL_get_verify_result(ssl_);
  if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
  const char* const reason = ERR_reason_error_string(error_);
  return reason != nullptr ? reason : "the peer has ended the handshake";
}

IoResult TlsStream::read(std::span<char> space) {
  if (broken_) return {.status = Status::kBroken};
  ERR_clear_error();
  std::size_t size = 0;
  const int returned = SSL_read_ex(ssl_, space.data(), space.size(), &size);
  return returned == 1 ? IoResult{.status = Status::kDone, .size = size} : result_of(returned);
}

bool TlsStream::has_unread() const { return SSL_pending(ssl_) > 0; }

IoResult TlsStream::write(std::string_view output) {
  if (broken_) return {.status = Status::kBroken};
  ERR_clear_error();
  std::size_t total = 0;
  while (total < output.size()) {
    std::size_t size = 0;  // of one record
    const int returned = SSL_write_ex(ssl_, output.data() + total, output.size() - total, &size);
    if (returned != 1) {
      auto result = result_of(returned);
      result.size = total;
      return result;
    }
    total += size;
  }
  return {.status = Status::kDone, .size = total};
}

void TlsStream::say_goodbye() {
  if (broken_) return;
  ERR_clear_error();
  SSL_shutdown(ssl_);
}

}  // namespace weir
