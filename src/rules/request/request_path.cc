#include "rules/request/request_path.h"

#include <algorithm>
#include <cstring>

#include "base/byte_search.h"
#include "base/percent.h"

namespace weir {
namespace {

// The steps of servers with a path:
//
//   D  decodes                           d  the same, but %2F and %5C stay
//   C  cuts ';' and what follows         Q  ends at '?', '#' and NUL
//   R  merges slashes, and resolves      r  resolves, where an empty segment is one
//   B  takes a backslash for a slash     H  takes what follows "//" for a host
//   M  merges slashes
constexpr std::array<std::string_view, 12> kOrders = {
    "DCR",     // the reading that rules are written for
    "CDR",     // Tomcat, Jetty
    "DR",      // nginx, Go
    "dR",      // Apache httpd, with AllowEncodedSlashes NoDecode
    "dRDR",    // Apache httpd, with AllowEncodedSlashes On
    "DRCR",    // Tomcat behind nginx, which passes the path on as it reads it
    "DRQCDR",  // Tomcat behind nginx, which passes it on decoded
    "DM",      // WSGI, Rack
    "DBR",     // IIS
    "HBdrM",   // the URL of WHATWG: Node, Deno, Workers
    "HBdrDR",  // nginx behind a proxy that resolves, and decodes no slashes
    "CdrM",    // Undertow
};

constexpr std::string_view kSlashes = "/\\";

// Whether the next segment is empty or consists of dots, so that servers differ.
bool is_odd(std::string_view rest) {
  if (!rest.starts_with('.')) return rest.starts_with('/');
  const auto segment = rest.substr(0, rest.find('/'));
  return segment == "." || segment == "..";
}

// Whether no server can read a byte of the path, or what follows a slash, differently.
bool is_normal(std::string_view path) {
  const bool has_tell = has_byte(path, [](ByteGroup bytes) {
    return (bytes == '%') | (bytes == ';') | (bytes == '\\') | (bytes == '?') | (bytes == '#');
  });
  if (has_tell || !path.starts_with('/')) return false;
  for (const char& c : path) {
    if (c == '/' && is_odd({&c + 1, path.data() + path.size()})) return false;
  }
  return true;
}

// NUL stays encoded, or it would end texts of C. A slash that stays has one spelling.
void decode(std::string& text, bool keeps_slashes) {
  std::size_t kept = 0;
  for (std::size_t read = 0; read < text.size();) {
    const auto byte = percent_byte(std::string_view(text).substr(read));
    if (!byte || *byte == '\0') {
      text[kept++] = text[read++];
      continue;
    }
    read += 3;
    if (keeps_slashes && kSlashes.find(*byte) != std::string_view::npos) {
      kept += std::string_view(*byte == '/' ? "%2F" : "%5C").copy(text.data() + kept, 3);
    } else {
      text[kept++] = *byte;
    }
  }
  text.resize(kept);
}

void cut_parameters(std::string& text) {
  bool is_parameter = false;
  std::erase_if(text, [&](char c) {
    is_parameter = c == ';' || (is_parameter && c != '/');
    return is_parameter;
  });
}

void end_at_query(std::string& text) {
  text.resize(std::min({text.size(), text.find_first_of("?#"), text.find("%00")}));
}

void cut_host(std::string& text) {
  const std::size_t host = text.find_first_not_of(kSlashes);
  if (host < 2) return;
  text.erase(0, text.find_first_of(kSlashes, host));
  if (text.empty()) text = "/";
}

void merge_slashes(std::string& text) {
  const auto again =
      std::ranges::unique(text, [](char one, char other) { return one == '/' && other == '/'; });
  text.erase(again.begin(), again.end());
}

// Resolves segments in place. The kept part is never longer than the read part, because each
// segment is read with its slash and written with one.
void resolve(std::string& text) {
  std::size_t kept = 0;  // without a slash at its end: empty for the root
  bool is_folder = false;
  for (std::size_t read = 0; read < text.size();) {
    const std::size_t begin = read + 1;
    read = std::min(text.find('/', begin), text.size());
    const auto segment = std::string_view(text).substr(begin, read - begin);
    is_folder = segment.empty() || segment == "." || segment == "..";
    const bool is_inner = segment.empty() && read < text.size();
    if (segment == "..") {
      kept = kept == 0 ? 0 : text.rfind('/', kept - 1);
    } else if (!is_folder || is_inner) {
      std::memmove(text.data() + kept + 1, segment.data(), segment.size());
      text[kept] = '/';
      kept += 1 + segment.size();
    }
  }
  text.resize(kept);
  if (is_folder) text += '/';
}

void take(char step, std::string& text) {
  switch (step) {
    case 'D': return decode(text, false);
    case 'd': return decode(text, true);
    case 'C': return cut_parameters(text);
    case 'Q': return end_at_query(text);
    case 'R': merge_slashes(text); return resolve(text);
    case 'r': return resolve(text);
    case 'M': return merge_slashes(text);
    case 'B': return std::ranges::replace(text, '\\', '/'), void();
    default: return cut_host(text);
  }
}

void begin(std::string_view path, std::string& text) {
  text.assign(path.starts_with('/') ? "" : "/").append(path);
}

}  // namespace

bool PathReadings::has(std::string_view text) const {
  return std::ranges::find(all(), text) != all().end();
}

bool PathReadings::read(std::string_view path) {
  size_ = 1;
  views_[0] = path;
  if (is_normal(path)) return true;
  begin(path, texts_[0]);
  decode(texts_[0], false);
  views_[0] = texts_[0];
  const bool is_encoded_alone =
      is_normal(texts_[0]) && std::ranges::count(texts_[0], '/') == std::ranges::count(path, '/');
  if (is_encoded_alone) return true;
  size_ = 0;
  for (const std::string_view order : kOrders) {
    std::string& text = texts_[size_];
    begin(path, text);
    for (const char step : order) take(step, text);
    if (has(text)) continue;
    if (size_ == kMax) return false;
    views_[size_++] = text;
  }
  return true;
}

}  // namespace weir
