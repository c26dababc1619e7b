// TlsContext: a certificate, its key and who may connect with which certificate; makes
// the TLS side of connections.
//
// TLS 1.2 and 1.3, without renegotiation and compression. Clients resume with tickets,
// which are good for as long as the context is: sessions of one core are resumed on any.
//
// Thread rule: immutable; OpenSSL counts the references to it. Tested by src/net/tls_test.cc.

#pragma once

#include <memory>
#include <string>
#include <variant>

#include "net/sockets/address.h"
#include "net/tls/tls_stream.h"

struct ssl_ctx_st;

namespace weir {

// PEM files.
struct TlsFiles {
  std::string certificate;  // and those between it and the authority, its own first
  std::string key;
  std::string client_ca;  // if not empty, clients need a certificate by one of these

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

class TlsContext {
 public:
  // The error names the file. What is in a key is never repeated.
  static std::variant<std::shared_ptr<const TlsContext>, StartError> load(const TlsFiles& files);

  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}  // owns it
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The server's side of a handshake on `socket`; null if memory is short. `alpn` is the
  // list of protocols as TLS sends it, best first, and outlives the stream; empty: the
  // client's wishes are not answered.
  std::unique_ptr<TlsStream> accept(int socket, const std::string& alpn) const;

 private:
  ssl_ctx_st* context_;
};

}  // namespace weir
