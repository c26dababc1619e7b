#include "net/listener.h"

#include <linux/filter.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/if_memory.h"
#include "net/sockets/address.h"
#include "net/sockets/socket_options.h"

namespace weir {
namespace {

// More than the kernel completes before we accept (see listening_sockets.cc).
constexpr int kWaitingMax = 4'096;

// Accepted at once, before open connections get their turn.
constexpr int kAcceptsMax = 16;

// Makes the kernel drop requests for new connections, whose clients then have time to go elsewhere.
// It still completes and keeps those already begun. Best effort.
void refuse_new_handshakes(int socket) {
  constexpr std::uint32_t kFlagsOffset = 13;  // of the TCP header, where the packet starts
  constexpr std::uint32_t kSyn = 0x02;
  auto drop_syn = std::array{
      sock_filter{BPF_LD | BPF_B | BPF_ABS, 0, 0, kFlagsOffset},
      sock_filter{BPF_JMP | BPF_JSET | BPF_K, 0, 1, kSyn},
      sock_filter{BPF_RET | BPF_K, 0, 0, 0},
      sock_filter{BPF_RET | BPF_K, 0, 0, 0xffff'ffff},
  };
  const auto program = sock_fprog{.len = drop_syn.size(), .filter = drop_syn.data()};
  ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

}  // namespace

Listener::Listener(UniqueFd socket, const Doorway& doorway, ConnectionSet& connections)
    : socket_(std::move(socket)), doorway_(doorway), connections_(connections) {}

bool Listener::start() { return connections_.loop().watch(socket_.get(), 0, *this); }

void Listener::ready(std::uint32_t) {
  for (int i = 0; i < kAcceptsMax; ++i) {
    if (!accept_one()) return;
  }
}

// False if there is no more to accept now.
bool Listener::accept_one() {
  sockaddr_storage from{};
  socklen_t from_size = sizeof(from);
  auto* const peer_address = reinterpret_cast<sockaddr*>(&from);  // as the socket calls want it
  auto socket =
      UniqueFd(::accept4(socket_.get(), peer_address, &from_size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.is_open()) {
    switch (errno) {
      case EAGAIN: return false;
      case EINTR:
      case ECONNABORTED:
      case EPROTO:
        return true;  // this connection broke before we took it
      // Out of descriptors or memory. The listener stays readable, so going on would spin.
      default: pause(); return false;
    }
  }
  if (connections_.budget().take()) {
    let_in(std::move(socket), {.address = ip_address_of(peer_address)});
  } else {
    reset_on_close(socket.get());
  }
  return true;
}

void Listener::let_in(UniqueFd socket, const Peer& peer) {
  if (has_memory_for([&] { add_connection(std::move(socket), peer); })) return;
  connections_.budget().give_back();  // and the socket closes
}

void Listener::add_connection(UniqueFd socket, const Peer& peer) {
  const auto now = connections_.loop().now();
  if (doorway_.is_open()) {
    connections_.add(Channel(std::move(socket)), doorway_.factory->make_session(peer, now));
  } else {
    connections_.add(std::move(socket), std::make_unique<Entrance>(doorway_, peer, now));
  }
}

void Listener::pause() {
  paused_ = true;
  connections_.loop().change(socket_.get(), 0, *this);
}

void Listener::resume() {
  if (!paused_) return;
  paused_ = false;
  connections_.loop().change(socket_.get(), EPOLLIN, *this);
}

void Listener::close() {
  refuse_new_handshakes(socket_.get());
  for (int i = 0; i < kWaitingMax && accept_one(); ++i) {
  }
  socket_ = UniqueFd();
}

}  // namespace weir
