#include "proto/http/http1_chunked.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/percent.h"

namespace weir::http1 {
namespace {

// Whether an extension or a trailer field may have it: no control characters but tabs.
bool is_text(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= 0x20 && byte != 0x7F);
}

// Whether the name of a field may have it.
bool is_token(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != std::string_view::npos;
}

}  // namespace

ChunkDecoder::Step ChunkDecoder::decode(std::span<char> piece) {
  Step step;
  while (step.consumed < piece.size() && state_ != State::kComplete) {
    if (state_ == State::kContent) {
      const auto size = static_cast<std::size_t>(
          std::min<std::uint64_t>(chunk_left_, piece.size() - step.consumed));
      std::memmove(piece.data() + step.produced, piece.data() + step.consumed, size);
      step.produced += size;
      step.consumed += size;
      chunk_left_ -= size;
      if (chunk_left_ == 0) state_ = State::kContentCr;
      continue;
    }
    if (!take(piece[step.consumed])) {
      step.status = too_long_ ? Status::kTooLong : Status::kMalformed;
      return step;
    }
    ++step.consumed;
  }
  if (state_ == State::kComplete) step.status = Status::kComplete;
  return step;
}

bool ChunkDecoder::take(char c) {
  switch (state_) {
    case State::kSizeStart: chunk_left_ = 0; return take_size_digit(hex_digit(c));
    case State::kSize: return hex_digit(c) ? take_size_digit(hex_digit(c)) : take_after_size(c);
    case State::kExtension: return take_extra(c, State::kSizeEnd);
    case State::kSizeEnd:
      return expect(c, '\n', chunk_left_ > 0 ? State::kContent : State::kTrailerStart);
    case State::kContentCr: return expect(c, '\r', State::kContentLf);
    case State::kContentLf: return expect(c, '\n', State::kSizeStart);
    case State::kTrailerStart:
      if (c == '\r') return expect(c, '\r', State::kEnd);
      state_ = State::kTrailerName;
      return is_token(c) && spend_extra();
    case State::kTrailerName:
      if (c == ':') state_ = State::kTrailer;
      return (c == ':' || is_token(c)) && spend_extra();
    case State::kTrailer: return take_extra(c, State::kTrailerEnd);
    case State::kTrailerEnd: return expect(c, '\n', State::kTrailerStart);
    case State::kEnd: return expect(c, '\n', State::kComplete);
    case State::kContent:
    case State::kComplete: break;
  }
  return false;
}

bool ChunkDecoder::take_size_digit(std::optional<int> digit) {
  if (!digit) return false;
  state_ = State::kSize;
  // Leading zeros could go on for ever, so they count as extras.
  if (chunk_left_ == 0 && *digit == 0 && !spend_extra()) return false;
  chunk_left_ = chunk_left_ * 16 + static_cast<std::uint64_t>(*digit);
  too_long_ = chunk_left_ > content_left_;
  return !too_long_;
}

bool ChunkDecoder::take_after_size(char c) {
  content_left_ -= chunk_left_;
  if (c == '\r') return expect(c, '\r', State::kSizeEnd);
  if (c != ';' && c != ' ' && c != '\t') return false;
  state_ = State::kExtension;
  return take_extra(c, State::kSizeEnd);
}

bool ChunkDecoder::take_extra(char c, State at_cr) {
  if (c == '\r') return expect(c, '\r', at_cr);
  return is_text(c) && spend_extra();
}

bool ChunkDecoder::spend_extra() {
  too_long_ = extras_left_ == 0;
  if (!too_long_) --extras_left_;
  return !too_long_;
}

bool ChunkDecoder::expect(char c, char expected, State next) {
  if (c != expected) return false;
  state_ = next;
  return true;
}

}  // namespace weir::http1
