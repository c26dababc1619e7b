// Commands as Redis clients send them: arrays of bulk strings.
//
// Thread rule: the buffer's. Tested by reply_reader_test.cc.

#pragma once

#include <span>
#include <string_view>

#include "proto/output_buffer.h"
#include "proto/text_writer.h"

namespace weir::resp {

// Bytes around a word: $, its length, two line ends.
inline constexpr std::size_t kWordFrameMax = 1 + kNumberTextMax + 4;

inline void write_command(OutputBuffer& out, std::span<const std::string_view> words) {
  std::size_t size_max = kWordFrameMax;
  for (const auto word : words) size_max += word.size() + kWordFrameMax;
  TextWriter writer(out.reserve(size_max), size_max);
  writer.character('*').number(words.size()).put("\r\n");
  for (const auto word : words) {
    writer.character('$').number(word.size()).put("\r\n").text(word).put("\r\n");
  }
  out.commit(writer.end());
}

}  // namespace weir::resp
