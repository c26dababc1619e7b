// A connection without memory ends, and nothing else does.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "base/allocation_testing.h"
#include "proto/http2/http2_door.h"
#include "proto/http2/http2_peer_testing.h"
#include "proto/http2/http2_service_testing.h"

namespace weir {
namespace {

constexpr Instant kNow = instant_from_epoch_us(1'000'000'000'000'000);
constexpr std::uint8_t kEndHeaders = NGHTTP2_FLAG_END_HEADERS;
constexpr std::uint8_t kEndStream = NGHTTP2_FLAG_END_STREAM;

// HPACK: ":method: POST", ":scheme: http", ":authority: a", and a ":path:" as a text.
std::string head_of(std::string_view path) {
  return "\x83\x86\x01\x01\x61\x04" + std::string(1, static_cast<char>(path.size())) +
         std::string(path);
}

std::string question(std::uint32_t stream, std::string_view path) {
  return http2_frame(NGHTTP2_HEADERS, kEndHeaders, stream, head_of(path)) +
         http2_frame(NGHTTP2_DATA, kEndStream, stream, std::string(500, 'x'));
}

void hear(Session& session, std::string_view bytes) {
  const auto space = session.input_space();
  ASSERT_LE(bytes.size(), space.size());
  std::memcpy(space.data(), bytes.data(), bytes.size());
  session.received(bytes.size(), kNow);
}

struct Outcome {
  std::string output;
  bool has_ended = false;  // finished, or thrown out of the session
  bool has_failed = false;
};

// Requests of all kinds, with a drain in the middle of one, while one allocation fails.
Outcome converse(Http2Door& door, std::optional<std::size_t> spared) {
  const std::string questions = http2_preface() + question(1, "/echo") + question(3, "/trailers") +
                                question(5, "/nothing") +
                                http2_frame(NGHTTP2_HEADERS, kEndHeaders, 7, head_of("/later")) +
                                http2_frame(NGHTTP2_DATA, 0, 7, "piece");
  const std::string last =
      http2_frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, std::string(8, '\0')) + question(9, "/vast");
  Outcome outcome;
  outcome.output.reserve(std::size_t{1} << 16);
  std::unique_ptr<Session> session;
  std::optional<NoMemory> failing;
  if (spared) failing.emplace(NoMemory::Shortage{.spared = *spared, .failing = 1});
  try {
    session = door.make_session({}, kNow);
    hear(*session, questions);
    if (!session->finished()) session->drain();
    if (!session->finished()) hear(*session, last);
    outcome.has_ended = session->finished();
  } catch (const std::bad_alloc&) {
    outcome.has_ended = true;
  }
  outcome.has_failed = failing && failing->has_failed();
  failing.reset();
  if (session != nullptr) outcome.output = session->output();
  return outcome;
}

TEST(Http2Memory, AConnectionWithoutMemoryEndsAndIsNotSilent) {
  EchoService service;
  Http2Door whole_door(service);
  const Outcome whole = converse(whole_door, std::nullopt);
  ASSERT_NE(whole.output.find("bye"), std::string::npos);
  std::size_t failures = 0;
  for (bool has_failed = true; has_failed; ++failures) {
    Http2Door door(service);
    const Outcome outcome = converse(door, failures);
    has_failed = outcome.has_failed;
    EXPECT_TRUE(outcome.has_ended || outcome.output == whole.output) << failures;
    EXPECT_EQ(converse(door, std::nullopt).output, whole.output) << "others have theirs";
  }
  EXPECT_GT(failures, 40u);
}

}  // namespace
}  // namespace weir
