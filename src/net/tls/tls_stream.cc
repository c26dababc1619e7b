#include "net/tls/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace weir {

using Status = IoResult::Status;

TlsStream::~TlsStream() { SSL_free(ssl_); }

// The result of a call that did not succeed.
IoResult TlsStream::result_of(int returned) {
  switch (SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_WANT_READ: return {.status = Status::kWantsInput};
    case SSL_ERROR_WANT_WRITE: return {.status = Status::kWantsOutput};
    case SSL_ERROR_ZERO_RETURN: return {.status = Status::kEnd};
    default: broken_ = true; return {.status = Status::kBroken};
  }
}

// The queue of errors is the thread's: what an earlier connection left there must not
// be taken for this one's.
IoResult TlsStream::handshake() {
  ERR_clear_error();
  const int returned = SSL_do_handshake(ssl_);
  if (returned == 1) return {.status = Status::kDone};
  const auto result = result_of(returned);
  error_ = ERR_peek_last_error();
  return result;
}

// OpenSSL says of every certificate that it failed to verify it; why, it says elsewhere.
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
