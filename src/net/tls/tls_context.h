// What TLS needs of both ends, from files in PEM: the certificate that a server shows and who
// may connect to it (TlsContext), and whom we trust when we connect (TlsTrust). Each makes
// the TLS side of connections.
//
// TLS 1.2 and 1.3, without renegotiation and compression.
//
// Thread rule: immutable; OpenSSL counts the references to it. Tested by src/net/tls_test.cc
// and src/net/socket_dialer_test.cc.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/fault.h"
#include "net/sockets/address.h"
#include "net/tls/tls_stream.h"
#include "proto/dialer.h"
#include "weir/result.h"

struct ssl_ctx_st;

namespace weir {

struct SslContextDeleter {
  void operator()(ssl_ctx_st* context) const;
};
using SslContext = std::unique_ptr<ssl_ctx_st, SslContextDeleter>;

struct TlsFiles {
  std::string certificate;  // and those between it and the authority, its own first
  std::string key;
  std::string client_ca;  // if not empty, clients need a certificate by one of these

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// Clients resume with tickets, which are good for as long as the context is: sessions of one
// core are resumed on any.
class TlsContext {
 public:
  // The error names the file. It never repeats what is in a key.
  static Result<std::shared_ptr<const TlsContext>, Fault> load(const TlsFiles& files);

  explicit TlsContext(SslContext context) : context_(std::move(context)) {}

  // The server's side of a handshake on `socket`; null if memory is short. `alpn` is the
  // list of protocols as TLS sends it, best first, and outlives the stream; empty: the
  // client's wishes are not answered.
  std::unique_ptr<TlsStream> accept(int socket, const std::string& alpn) const;

 private:
  SslContext context_;
};

// A server's certificate has to be signed by one of the authorities, be valid today, and be
// for the host we wanted, by name or by address.
class TlsTrust {
 public:
  // As TlsContext::load().
  static Result<std::shared_ptr<const TlsTrust>, Fault> load(const TlsTrustFiles& files);

  TlsTrust(SslContext context, TlsTrustFiles::Verification verification)
      : context_(std::move(context)), verification_(verification) {}

  // Our side of a handshake on `socket` with `host`, a name or an address; null if memory
  // is short or there can be no such host.
  std::unique_ptr<TlsStream> connect(int socket, const std::string& host) const;

 private:
  SslContext context_;
  TlsTrustFiles::Verification verification_;
};

}  // namespace weir
