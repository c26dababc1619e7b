// Inline commands: one line, split into words as Redis does.
//
//   echo "a key"         words are separated by spaces
//   "\n\r\t\b\a\x41\""   escapes within double quotes; \' within single quotes
//
// A quoted word ends at its closing quote, which a space or the end of the line follows.
//
// Thread rule: pure. Tested by command_reader_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir::resp {

enum class SplitStatus : std::uint8_t { kSplit, kUnbalanced, kTooMany };

struct SplitLine {
  SplitStatus status = SplitStatus::kSplit;
  std::size_t words = 0;
};

// Undoes quotes and escapes in place: words are views into `line`.
SplitLine split_line(std::span<char> line, std::span<std::string_view> words);

}  // namespace weir::resp
