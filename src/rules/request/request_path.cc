#include "rules/request/request_path.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/percent.h"

namespace weir {
namespace {

// The byte that "%41" at the front of `text` stands for, if it may stand for itself.
std::optional<char> decoded(std::string_view text) {
  const auto byte = percent_byte(text);
  const bool may = byte && *byte != '\0';
  return may ? byte : std::nullopt;
}

bool is_normal(std::string_view path) {
  if (!path.starts_with('/')) return false;
  char before = '\0';
  for (const char c : path) {
    if (c == '%' || c == ';' || (before == '/' && (c == '/' || c == '.'))) return false;
    before = c;
  }
  return true;
}

// Replaces `text` by what it decodes to, with a '/' in front.
void decode(std::string_view path, std::string& text) {
  text.assign(path.starts_with('/') ? "" : "/");
  while (!path.empty()) {
    const auto byte = decoded(path);
    text += byte.value_or(path.front());
    path.remove_prefix(byte ? 3 : 1);
  }
}

// Resolves segments in place. The part kept grows slower than the part read, because
// each segment is read with at least the one slash that it is written with.
void resolve_segments(std::string& text) {
  std::size_t kept = 0;  // without a slash at its end: the root is empty
  bool is_folder = true;
  for (std::size_t read = 0; read < text.size();) {
    const std::size_t begin = text.find_first_not_of('/', read);
    is_folder = begin == std::string::npos;
    if (is_folder) break;
    read = std::min(text.find('/', begin), text.size());
    std::string_view segment = std::string_view(text).substr(begin, read - begin);
    segment = segment.substr(0, segment.find(';'));
    is_folder = segment.empty() || segment == "." || segment == "..";
    if (segment == "..") {
      kept = kept == 0 ? 0 : text.rfind('/', kept - 1);
    } else if (!is_folder) {
      std::memmove(text.data() + kept + 1, segment.data(), segment.size());
      text[kept] = '/';
      kept += 1 + segment.size();
    }
  }
  text.resize(kept);
  if (is_folder) text += '/';
}

}  // namespace

std::string_view normal_path(std::string_view path, std::string& scratch) {
  if (is_normal(path)) return path;
  decode(path, scratch);
  resolve_segments(scratch);
  return scratch;
}

}  // namespace weir
