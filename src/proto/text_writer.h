// TextWriter: writes texts and numbers one after the other into memory.
//
//   TextWriter writer(out.reserve(kSizeMax), kSizeMax);
//   writer.put("X-RateLimit-Limit: ").number(limit).put("\r\n");
//   out.commit(writer.end());
//
// The caller reserves room for all that will be written. end() checks that it was enough: a wrong
// bound stops the program there. The bounds of the variable parts are the k...Max constants here
// and next to each format.
//
// Thread rule: a value. Tested by text_writer_test.cc.

#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/assert.h"
#include "base/decimal.h"
#include "weir/time.h"

namespace weir {

inline constexpr std::size_t kNumberTextMax = kDecimalMax;

class TextWriter {
 public:
  TextWriter(char* at, std::size_t room) : at_(at), limit_(at + room) {}

  // A literal: its length is known, so this takes a few moves.
  template <std::size_t N>
  TextWriter& put(const char (&literal)[N]) {
    std::memcpy(at_, literal, N - 1);
    at_ += N - 1;
    return *this;
  }

  // Any other text; it may be empty.
  [[gnu::always_inline]] TextWriter& text(std::string_view text) {
    if (text.size() - 8 <= 8) {
      copy_ends<8>(text);
    } else if (text.size() - 16 <= 16) {
      copy_ends<16>(text);
    } else if (!text.empty()) {
      std::memcpy(at_, text.data(), text.size());
    }
    at_ += text.size();
    return *this;
  }

  TextWriter& character(char c) {
    *at_++ = c;
    return *this;
  }

  TextWriter& number(std::integral auto number) {
    at_ = write_decimal(at_, number);
    return *this;
  }

  // Digits that number() has written into the same room.
  TextWriter& digits(std::string_view digits) {
    // Twenty bytes are two moves; a variable size would be a call.
    std::array<char, kNumberTextMax> copy;
    std::memcpy(copy.data(), digits.data(), copy.size());
    std::memcpy(at_, copy.data(), copy.size());
    at_ += digits.size();
    return *this;
  }

  // Seconds with as few decimals as are exact: 60, 0.25, 0.000001.
  // REQUIRES: duration >= 0
  TextWriter& seconds(Duration duration) {
    constexpr std::int64_t kSecondUs = 1'000'000;
    constexpr int kDecimals = 6;
    number(duration.count() / kSecondUs);
    const auto fraction_us = static_cast<std::uint64_t>(duration.count() % kSecondUs);
    if (fraction_us == 0) return *this;
    *at_ = '.';
    write_eight_digits(at_ + 1, 100 * fraction_us);
    at_ += 1 + kDecimals;
    while (at_[-1] == '0') --at_;
    return *this;
  }

  // Where the next text goes: end() without its check.
  char* at() const { return at_; }
  char* end() const {
    WEIR_ASSERT(at_ <= limit_);
    return at_;
  }

 private:
  // Two moves, which may overlap, instead of a call. REQUIRES: kSize <= text.size() <= 2 * kSize
  template <std::size_t kSize>
  void copy_ends(std::string_view text) {
    std::array<char, kSize> first;
    std::array<char, kSize> last;
    std::memcpy(first.data(), text.data(), kSize);
    std::memcpy(last.data(), text.data() + text.size() - kSize, kSize);
    std::memcpy(at_, first.data(), kSize);
    std::memcpy(at_ + text.size() - kSize, last.data(), kSize);
  }

  char* at_;
  char* const limit_;
};

}  // namespace weir
