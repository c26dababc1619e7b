// TlsTrust: whom we trust when we connect to somebody, and who we are.
//
// TLS 1.2 and 1.3. A server's certificate has to be signed by one of the authorities, be
// valid today, and be for the host we wanted, by name or by address.
//
// Thread rule: immutable. Tested by src/net/socket_dialer_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "net/sockets/address.h"
#include "net/tls/tls_stream.h"

struct ssl_ctx_st;

namespace weir {

// PEM files; empty: none.
struct TlsTrustFiles {
  // kNone trusts whoever answers: the bytes are secret, from everybody but an impostor.
  enum class Verification : std::uint8_t { kFull, kNone };
  std::string authorities;  // empty: those the system trusts
  std::string certificate;  // to show when asked, with its key
  std::string key;
  Verification verification = Verification::kFull;
};

class TlsTrust {
 public:
  // The error names the file. What is in a key is never repeated.
  static std::variant<std::shared_ptr<const TlsTrust>, StartError> load(const TlsTrustFiles& files);

  TlsTrust(ssl_ctx_st* context, TlsTrustFiles::Verification verification)
      : context_(context), verification_(verification) {}  // owns it
  ~TlsTrust();
  TlsTrust(const TlsTrust&) = delete;
  TlsTrust& operator=(const TlsTrust&) = delete;

  // Our side of a handshake on `socket` with `host`, a name or an address; null if memory
  // is short or there can be no such host.
  std::unique_ptr<TlsStream> connect(int socket, const std::string& host) const;

 private:
  ssl_ctx_st* context_;
  TlsTrustFiles::Verification verification_;
};

}  // namespace weir
