// Channel: the bytes of one connection, in clear or through TLS.
//
// Thread rule: the core of the connection. Tested by server_test.cc and tls_test.cc.

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "net/tls/tls_context.h"

namespace weir {

class Channel {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.get(); }
  TlsStream* tls() { return tls_.get(); }  // null: in clear
  void use_tls(std::unique_ptr<TlsStream> tls) { tls_ = std::move(tls); }

  // REQUIRES: `space` and `output` are not empty
  IoResult read(std::span<char> space) { return tls_ ? tls_->read(space) : read_clear(space); }
  IoResult write(std::string_view output) {
    return tls_ ? tls_->write(output) : write_clear(output);
  }

  // The channel has taken bytes from the socket that read() has not returned: the next read()
  // returns them, and epoll does not report them.
  bool has_unread() const { return tls_ && tls_->has_unread(); }

  // Ends our side. False if the peer has gone.
  bool finish_writing();

  // Throws away some bytes that the peer still sends, encrypted or not. Returns how many; nullopt
  // if the peer has ended.
  std::optional<std::size_t> discard_input();

 private:
  IoResult read_clear(std::span<char> space);
  IoResult write_clear(std::string_view output);

  UniqueFd socket_;
  std::unique_ptr<TlsStream> tls_;
};

}  // namespace weir
