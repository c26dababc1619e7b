// TLS of both ends, from files in PEM. TlsContext: a server's certificate, and which clients may
// connect. TlsTrust: which servers we trust. Each makes the TLS side of connections.
//
// TLS 1.2 and 1.3, without renegotiation and compression.
//
// Thread rule: immutable, but for a TlsStream, which is its connection's core's; OpenSSL counts the
// references to contexts. Tested by src/net/tls_test.cc
// and src/net/socket_dialer_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/fault.h"
#include "net/sockets/address.h"
#include "proto/dialer.h"
#include "weir/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace weir {

// The result of reading from or writing to a connection, in clear or through TLS.
struct IoResult {
  enum class Status : std::uint8_t {
    kDone,         // `size` bytes were moved
    kWantsInput,   // try again when the socket is readable
    kWantsOutput,  // try again when it is writable
    kEnd,          // the peer will send nothing more
    kBroken,       // the connection is of no use any more
  };
  Status status;
  std::size_t size = 0;  // also if a write could not take everything
};

// One connection's TLS, straight on its socket. OpenSSL writes to the socket without MSG_NOSIGNAL,
// so the process ignores SIGPIPE.
class TlsStream {
 public:
  explicit TlsStream(ssl_st* ssl) : ssl_(ssl) {}  // owns it
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // kDone when both sides are ready. If kBroken, TLS has sent the peer the reason, as far as TLS
  // has words for it.
  IoResult handshake();

  // Why a handshake is kBroken, in a few words.
  std::string refusal() const;

  // The functions below are for after the handshake. A read takes at most one record's bytes. More
  // of the record may wait although the socket is empty: see has_unread().
  IoResult read(std::span<char> space);
  bool has_unread() const;

  // Takes as much as the socket does. Offer the other bytes again; there may be more then, not
  // fewer.
  IoResult write(std::string_view output);

  // Tells the peer that nothing more will be written, if the socket has room for that.
  void say_goodbye();

 private:
  IoResult result_of(int returned);

  ssl_st* ssl_;
  unsigned long error_ = 0;  // OpenSSL's, of a handshake
  bool broken_ = false;      // OpenSSL may only be called to free
};

struct SslContextDeleter {
  void operator()(ssl_ctx_st* context) const;
};
using SslContext = std::unique_ptr<ssl_ctx_st, SslContextDeleter>;

struct TlsFiles {
  std::string certificate;  // and its chain up to the authority, its own first
  std::string key;
  std::string client_ca;  // if not empty, clients need a certificate signed by one of these

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// Clients resume sessions with tickets, which are valid as long as the context lives: any core
// resumes sessions of another.
class TlsContext {
 public:
  // The error names the file. It never repeats parts of a key.
  static Result<std::shared_ptr<const TlsContext>, Fault> load(const TlsFiles& files);

  explicit TlsContext(SslContext context) : context_(std::move(context)) {}

  // The server's side of a handshake on `socket`; null if memory is short. `alpn` is the list of
  // protocols as TLS sends it, best first, and outlives the stream; empty: no protocol is agreed
  // on.
  std::unique_ptr<TlsStream> accept(int socket, const std::string& alpn) const;

 private:
  SslContext context_;
};

// A server's certificate must be signed by one of the authorities, be valid today, and be for the
// wanted host, by name or by address.
class TlsTrust {
 public:
  // As TlsContext::load().
  static Result<std::shared_ptr<const TlsTrust>, Fault> load(const TlsTrustFiles& files);

  TlsTrust(SslContext context, TlsTrustFiles::Verification verification)
      : context_(std::move(context)), verification_(verification) {}

  // Our side of a handshake on `socket` with `host`, a name or an address; null if memory is short
  // or `host` is no possible host.
  std::unique_ptr<TlsStream> connect(int socket, const std::string& host) const;

 private:
  SslContext context_;
  TlsTrustFiles::Verification verification_;
};

}  // namespace weir
