// The first look at a YAML file: whether it is text at all, and has a form that all readers of YAML
// understand alike.
//
// Some refused forms make yaml-cpp guess: other encodings, and control characters (it takes byte 4
// for the end of the file). With tabs it names something other than the cause.
//
// Thread rule: pure functions. Tested by yaml_document_test.cc.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Where in a file, counted from 1 as editors and compilers do; columns count bytes.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;

  friend auto operator<=>(const TextPlace&, const TextPlace&) = default;
};

struct YamlError {
  TextPlace place;
  std::string message;
};

// More than people write into a configuration; 17,000 rules fit.
inline constexpr std::size_t kYamlBytesMax = std::size_t{1} << 20;

// The first thing wrong with the bytes of `text`, or nothing.
std::optional<YamlError> check_yaml_text(std::string_view text);

// A text for a message: at most about so many bytes, one line, nothing that moves a cursor.
std::string printable(std::string_view text, std::size_t bytes_max = 60);

}  // namespace weir
