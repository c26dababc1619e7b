// The first look at a YAML file: is it text at all, and of a form that every reader of
// YAML understands alike?
//
// Some refused forms make yaml-cpp guess: other encodings, and control characters (it takes byte 4
// for the end of the file). Tabs make it complain about something else than the cause.
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

// More than any configuration written by people; 17,000 rules fit.
inline constexpr std::size_t kYamlBytesMax = std::size_t{1} << 20;

// The first thing wrong with the bytes of `text`, or nothing.
std::optional<YamlError> check_yaml_text(std::string_view text);

// Text for a message: about so many bytes at most, one line, nothing that moves a cursor.
std::string printable(std::string_view text, std::size_t bytes_max = 60);

}  // namespace weir
