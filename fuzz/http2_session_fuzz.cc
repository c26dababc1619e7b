// HTTP/2 with our callbacks and services: any bytes a peer may send, in any pieces.
//
// The input is what follows the preface, unless its first byte says otherwise. The session must not
// crash, must stay within its bounds, and must come to its end when the clock goes on.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "proto/http2/http2_peer_testing.h"
#include "proto/http2/http2_session.h"
#include "server/grpc/grpc_test_door.h"

namespace weir {
namespace {

class Peer {
 public:
  explicit Peer(GrpcTestDoor& door)
      : door_(door), aging_(door.grpc, kOptions), session_(aging_.make_session({}, door.now)) {}

  // False when the session takes no more.
  bool say(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t size = feed_piece(*session_, bytes, door_.now);
      if (size == 0) return false;
      bytes.remove_prefix(size);
      take();
    }
    return !session_->finished();
  }

  // Time goes on until the session has closed, which it has to before long.
  void finish() {
    constexpr int kRounds = 20;
    for (int round = 0; round < kRounds && !session_->finished(); ++round) {
      const Instant due = session_->deadline();
      WEIR_ASSERT(due != Instant::max());
      door_.now = std::max(due, door_.now);
      session_->expired(door_.now);
      take();
    }
    WEIR_ASSERT(session_->finished());
  }

 private:
  void take() {
    while (!session_->output().empty()) {
      WEIR_ASSERT(session_->output().size() <= 2 * Http2Session::kOutputMax);
      session_->sent(session_->output().size(), door_.now);
    }
  }

  // So that calls which may stay open come to an end.
  static constexpr Http2Options kOptions{.age_max = std::chrono::hours(1)};

  GrpcTestDoor& door_;
  Http2Door aging_;
  std::unique_ptr<Session> session_;
};

void converse(std::string_view bytes, std::uint32_t seed) {
  GrpcTestDoor door({rule_for("user", 2)}, {.envoy = {.response_headers = true}});
  Peer peer(door);
  if (seed % 8 != 0) peer.say(http2_preface());
  std::mt19937 random(seed);
  const std::size_t longest = std::size_t{1} << (random() % 12);
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 1 + random() % longest);
    if (!peer.say(bytes.substr(0, size))) break;
    bytes.remove_prefix(size);
  }
  peer.finish();
}

}  // namespace
}  // namespace weir

// The first byte says how the rest is split, and whether the preface comes first.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  weir::converse({reinterpret_cast<const char*>(data + 1), size - 1}, data[0]);
  return 0;
}
