#include "net/entrance.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "proto/proxy_header.h"

namespace weir {
namespace {

// Room for most headers: those without long extensions.
constexpr std::size_t kPeekBytes = 256;

}  // namespace

Entrance::Entrance(const Doorway& doorway, const Peer& peer, Instant now)
    : doorway_(doorway),
      peer_(peer),
      deadline_(now + kPatience),
      step_(doorway.proxy_protocol == ProxyProtocol::kRequired ? Step::kProxyHeader
                                                               : Step::kHandshake) {}

Entrance::Progress Entrance::advance(Channel& channel) {
  if (step_ == Step::kProxyHeader) {
    const auto progress = read_proxy_header(channel);
    if (progress != Progress::kPassed) return progress;
    step_ = Step::kHandshake;
  }
  return doorway_.security == Security::kTls ? shake_hands(channel) : Progress::kPassed;
}

Entrance::Progress Entrance::read_proxy_header(Channel& channel) {
  if (!doorway_.admission->get()->trusted_proxies.trusts(peer_.address)) return Progress::kRefused;
  for (;;) {
    const auto had = header_.size();
    header_.resize(had + kPeekBytes);
    const auto got = ::recv(channel.socket(), header_.data() + had, kPeekBytes, MSG_PEEK);
    header_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return Progress::kPeerLeft;
    if (got < 0) {
      return errno == EAGAIN || errno == EINTR ? Progress::kWaitsForInput : Progress::kPeerLeft;
    }
    const auto header = parse_proxy_header(header_);
    if (header.status == ProxyHeader::Status::kMalformed) return Progress::kRefused;
    const bool complete = header.status == ProxyHeader::Status::kComplete;
    // Takes the peeked bytes of the header; they are there, so this does not wait.
    const auto taken = (complete ? header.size : header_.size()) - had;
    if (::recv(channel.socket(), header_.data() + had, taken, 0) < 0) return Progress::kPeerLeft;
    if (!complete) continue;
    if (header.source) peer_.address = header.source;
    header_ = {};
    return Progress::kPassed;
  }
}

Entrance::Progress Entrance::shake_hands(Channel& channel) {
  if (channel.tls() == nullptr) {
    auto tls = doorway_.admission->get()->tls->accept(channel.socket(), doorway_.alpn);
    if (tls == nullptr) return Progress::kRefused;
    channel.use_tls(std::move(tls));
  }
  switch (channel.tls()->handshake().status) {
    case IoResult::Status::kDone: return Progress::kPassed;
    case IoResult::Status::kWantsInput: return Progress::kWaitsForInput;
    case IoResult::Status::kWantsOutput: return Progress::kWaitsForOutput;
    case IoResult::Status::kEnd: return Progress::kPeerLeft;
    case IoResult::Status::kBroken: break;
  }
  return Progress::kRefused;
}

std::unique_ptr<Session> Entrance::make_session(Instant now) {
  return doorway_.factory->make_session(peer_, now);
}

}  // namespace weir
