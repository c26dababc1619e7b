// ChunkDecoder: removes the chunked transfer coding of HTTP/1.1 (RFC 9112, 7.1), in place.
//
// Bytes come in pieces of any size. Framing is removed, and content moves to the front of the
// piece. So a body that is received behind its own decoded beginning ends up in one part.
//
// Lines must end in CR LF: a bare LF, which some servers let pass, is malformed. Chunk extensions
// and trailer fields are skipped, at most kExtrasMax bytes of them.
//
// Thread rule: a value. Tested by http1_chunked_test.cc, there also against Beast's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace weir::http1 {

class ChunkDecoder {
 public:
  static constexpr std::size_t kExtrasMax = 8 << 10;

  enum class Status : std::uint8_t { kNeedMore, kComplete, kMalformed, kTooLong };

  struct Step {
    Status status = Status::kNeedMore;
    std::size_t consumed = 0;  // of the given bytes; for kNeedMore all of them
    std::size_t produced = 0;  // bytes of content, now at the front
  };

  ChunkDecoder() = default;
  explicit ChunkDecoder(std::uint64_t content_max) : content_left_(content_max) {}

  // REQUIRES: all steps before returned kNeedMore
  Step decode(std::span<char> piece);

 private:
  enum class State : std::uint8_t {
    kSizeStart,  // at the first digit of a size
    kSize,
    kExtension,
    kSizeEnd,  // at the LF of a size line
    kContent,
    kContentCr,
    kContentLf,
    kTrailerStart,  // at the first character of a trailer line, or of the end
    kTrailerName,
    kTrailer,
    kTrailerEnd,
    kEnd,
    kComplete,
  };

  // Takes one byte of framing. False if it is malformed, or one too many (too_long_).
  bool take(char c);
  bool take_size_digit(std::optional<int> digit);
  bool take_after_size(char c);
  bool take_extra(char c, State at_cr);
  bool spend_extra();
  bool expect(char c, char expected, State next);

  State state_ = State::kSizeStart;
  bool too_long_ = false;
  std::uint64_t chunk_left_ = 0;
  std::uint64_t content_left_ = 0;
  std::size_t extras_left_ = kExtrasMax;
};

}  // namespace weir::http1
