#include "config/yaml/yaml_text.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace weir {
namespace {

TextPlace place_at(std::string_view text, std::size_t offset) {
  TextPlace place;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < offset; ++i) {
    if (text[i] != '\n') continue;
    ++place.line;
    line_start = i + 1;
  }
  place.column = offset - line_start + 1;
  return place;
}

std::uint8_t byte_at(std::string_view text, std::size_t offset) {
  return static_cast<std::uint8_t>(text[offset]);
}

// The number of bytes of the character at `offset`; 0 if it is malformed.
std::size_t utf8_length(std::string_view text, std::size_t offset) {
  const std::uint8_t first = byte_at(text, offset);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;  // the first byte says it
  const std::string_view character = text.substr(offset, length);
  return simdjson::validate_utf8(character) ? length : 0;
}

std::string hex(std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'0', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

// Why the text may not have the character at `offset`, `length` bytes long. Empty if it may.
std::string objection(std::string_view text, std::size_t offset, std::size_t length) {
  const std::uint8_t byte = byte_at(text, offset);
  if (length == 0) return "byte " + hex(byte) + " is not UTF-8; save the file as UTF-8";
  if (byte == '\r') {
    const bool before_newline = offset + 1 < text.size() && text[offset + 1] == '\n';
    return before_newline ? "" : "a carriage return without a newline; end lines with a newline";
  }
  const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
  return control ? "control character " + hex(byte) + " in the file; remove it" : "";
}

std::optional<YamlError> check_characters(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t length = utf8_length(text, offset);
    std::string message = objection(text, offset, length);
    if (!message.empty()) return YamlError{place_at(text, offset), std::move(message)};
    offset += length;
  }
  return std::nullopt;
}

// YAML forbids tabs in indentation, but its readers' messages about tabs are baffling.
std::optional<YamlError> check_indentation(std::string_view text) {
  std::size_t line_start = 0;
  while (line_start < text.size()) {
    const std::size_t content = text.find_first_not_of(" \t", line_start);
    if (content == std::string_view::npos) break;
    const std::string_view indent = text.substr(line_start, content - line_start);
    const std::size_t tab = indent.find('\t');
    const bool blank = std::string_view("\r\n#").find(text[content]) != std::string_view::npos;
    if (tab != std::string_view::npos && !blank) {
      return YamlError{place_at(text, line_start + tab),
                       "a tab in the indentation; YAML wants spaces"};
    }
    const std::size_t newline = text.find('\n', content);
    if (newline == std::string_view::npos) break;
    line_start = newline + 1;
  }
  return std::nullopt;
}

// Whether the character changes a line's direction, or begins another line.
bool turns_text(std::string_view character) {
  constexpr std::array<std::string_view, 14> kTurning = {
      "\u061C", "\u200E", "\u200F", "\u2028", "\u2029", "\u202A", "\u202B",
      "\u202C", "\u202D", "\u202E", "\u2066", "\u2067", "\u2068", "\u2069"};
  return std::ranges::find(kTurning, character) != kTurning.end();
}

}  // namespace

std::optional<YamlError> check_yaml_text(std::string_view text) {
  if (text.size() > kYamlBytesMax) {
    return YamlError{{}, "the file is larger than 1 MiB, more than a configuration can be"};
  }
  if (auto error = check_characters(text)) return error;
  return check_indentation(text);
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string shown;
  for (std::size_t offset = 0; offset < text.size();) {
    if (shown.size() >= bytes_max) return shown + "...";
    const std::size_t length = utf8_length(text, offset);
    const std::uint8_t byte = byte_at(text, offset);
    // U+0080 to U+009F are control characters, too, of two bytes.
    const bool control = byte < 0x20 || byte == 0x7F ||
                         (byte == 0xC2 && length == 2 && byte_at(text, offset + 1) < 0xA0);
    if (length == 0 || control || turns_text(text.substr(offset, length))) {
      shown += '?';
    } else {
      shown += text.substr(offset, length);
    }
    offset += length == 0 ? 1 : length;
  }
  return shown;
}

}  // namespace weir
