// Feeds bytes to the WebSocket of a console, in one piece and one by one, with messages between
// them. Both sessions send the same answers, whole frames in their order that are not masked.
// Nothing comes behind a close frame, and a bounded number of bytes waits. A close frame overtakes
// the pongs of the read that brings it, so of a conversation that one has ended only that frame is
// compared.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "server/http/console/live_session.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

constexpr std::size_t kWaitingMax = LiveSession::kAnswersMax + 1024;

struct Console {
  explicit Console(TestDoor& door)
      : feed(door.view, door.events, door.desk, door.blocks),
        session(feed.take_seat(), consoles, {}, now) {}

  void tell() { consoles.publish(std::make_shared<const LiveMessage>("{}"), now); }
  void hear(std::string_view bytes) {
    while (const std::size_t size = feed_piece(session, bytes, now)) {
      bytes.remove_prefix(size);
      WEIR_ASSERT(session.held() <= sizeof(LiveSession) + websocket::Frames::kBytes + kWaitingMax);
      said += drink(session, now);
    }
  }

  Instant now = TestDoor::kStart;
  LiveFeed feed;
  LiveConsoles consoles;
  LiveSession session;
  std::string said;
};

// Returns the answers without the messages: all, or that there is a close frame. Its code may be
// another: a frame that is wrong in two ways is closed for the one that is seen first.
std::string check_frames(std::string_view output) {
  std::string answers;
  bool is_closed = false;
  while (!output.empty()) {
    WEIR_ASSERT(!is_closed && output.size() >= 2);
    const auto first = static_cast<unsigned char>(output[0]);
    const auto size = static_cast<unsigned char>(output[1]);
    WEIR_ASSERT((first & 0xf0) == 0x80 && size < 126 && output.size() >= size + 2u);
    is_closed = first == 0x88;
    WEIR_ASSERT(first == 0x81 || first == 0x8a || is_closed);
    if (is_closed) answers.clear();
    if (first != 0x81) answers += output.substr(0, is_closed ? 1u : size + 2u);
    output.remove_prefix(size + 2u);
  }
  return answers;
}

void check(std::string_view bytes) {
  static TestDoor door;
  Console whole(door);
  whole.hear(bytes);
  whole.tell();
  whole.said += drink(whole.session, whole.now);
  Console pieces(door);
  for (const char byte : bytes) {
    pieces.tell();
    pieces.hear({&byte, 1});
  }
  // A mistake in a frame that has not ended: in pieces it may be seen when the frame ends.
  WEIR_ASSERT(whole.session.finished() || !pieces.session.finished());
  if (whole.session.finished() != pieces.session.finished()) return;
  const std::string answers = check_frames(whole.said);
  // A flood is noticed with the read that brings it.
  if (whole.session.was_flooded() || pieces.session.was_flooded()) return;
  WEIR_ASSERT(answers == check_frames(pieces.said));
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
