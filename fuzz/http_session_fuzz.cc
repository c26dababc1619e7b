// Feeds bytes to an HTTP session, in one piece and in random ones. Both sessions say the same, in
// well-formed responses, and neither keeps more waiting than it may.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "server/http/http_session.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// One reply on top of what may wait: a list's, which repeats keys of up to 1 MiB.
constexpr std::size_t kOutputMax = HttpSession::kLimits.output_max + (2u << 20);

std::size_t content_length(std::string_view head) {
  for (const std::string_view bodiless : {"101", "204", "304"}) {
    if (head.substr(9).starts_with(bodiless)) return 0;
  }
  constexpr std::string_view kName = "\r\nContent-Length: ";
  const auto at = head.find(kName);
  WEIR_ASSERT(at != std::string_view::npos);
  const std::string_view digits = head.substr(at + kName.size());
  std::size_t length = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  WEIR_ASSERT(end.ec == std::errc() && *end.ptr == '\r');
  return length;
}

bool begins_a_reply(std::string_view text) { return text.empty() || text.starts_with("HTTP/1.1 "); }

void check_replies(std::string_view output) {
  while (!output.empty()) {
    WEIR_ASSERT(begins_a_reply(output));
    const auto head_end = output.find("\r\n\r\n");
    WEIR_ASSERT(head_end != std::string_view::npos);
    const std::string_view head = output.substr(0, head_end + 2);
    output.remove_prefix(head_end + 4);
    WEIR_ASSERT(head.find("\r\nX-Process-Time: 0.000001\r\n") != std::string_view::npos);
    const std::size_t length = content_length(head);
    const bool has_body = length <= output.size() && begins_a_reply(output.substr(length));
    WEIR_ASSERT(has_body || begins_a_reply(output));  // the reply to HEAD has none
    if (has_body) output.remove_prefix(length);
  }
}

// Whether the peer is invited to send a body depends on when it comes.
std::string without_continue(std::string text) {
  for (auto at = text.find(kContinue); at != std::string::npos; at = text.find(kContinue, at)) {
    text.erase(at, kContinue.size());
  }
  return text;
}

class Peer {
 public:
  explicit Peer(TestDoor& door) : door_(door), session_(door.door.make_session({}, door.now)) {}

  // False when the session takes no more.
  bool say(std::string_view bytes) {
    while (!bytes.empty() && !session_->finished()) {
      const std::size_t size = std::min(bytes.size(), session_->input_space().size());
      WEIR_ASSERT(size > 0);  // all output has been taken
      feed(*session_, bytes.substr(0, size), door_.now);
      bytes.remove_prefix(size);
      take();
    }
    WEIR_ASSERT(!session_->finished() || session_->input_space().empty());
    return !session_->finished();
  }

  std::string finish() {
    for (int i = 0; i < 2 && !session_->finished(); ++i) {  // the first may only cool it
      session_->expired(session_->deadline());
      take();
    }
    WEIR_ASSERT(session_->finished());
    return heard_;
  }

 private:
  void take() {
    while (!session_->output().empty()) {
      WEIR_ASSERT(session_->output().size() <= kOutputMax);
      session_->stamp(Duration{1});
      heard_ += session_->output();
      session_->sent(session_->output().size(), door_.now);
    }
  }

  TestDoor& door_;
  std::unique_ptr<Session> session_;
  std::string heard_;
};

TestDoor::Options options() {
  const auto quota = Quota::make({.limit = 5, .window = std::chrono::minutes(1)});
  return {.rules = {{.id = "r", .quota = *quota}, {.id = "off", .quota = *quota, .enabled = false}},
          .access = {.exposure = Exposure::kLoopback, .admin_token = "t"}};
}

std::string hear(std::string_view bytes, std::uint32_t seed) {
  TestDoor door(options());
  door.store.broken = seed % 16 == 15;
  Peer peer(door);
  std::mt19937 random(seed);
  const std::size_t longest = std::size_t{1} << (random() % 12);
  while (!bytes.empty()) {
    const std::size_t size =
        seed < 16 ? bytes.size() : std::min<std::size_t>(bytes.size(), 1 + random() % longest);
    if (!peer.say(bytes.substr(0, size))) break;
    bytes.remove_prefix(size);
  }
  return without_continue(peer.finish());
}

}  // namespace
}  // namespace weir

// The first two bytes say how the rest is split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint32_t seed = data[0] + 256u * data[1];
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::string whole = weir::hear(bytes, seed % 16);
  weir::check_replies(whole);
  WEIR_ASSERT(weir::hear(bytes, seed) == whole);
  return 0;
}
