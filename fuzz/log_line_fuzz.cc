// Lines of access logs, of which their authors' clients write most.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "logs/log_format.h"

namespace {

// All texts of a request are of its line.
void touch(const weir::lab::LoggedRequest& request) {
  std::size_t bytes = 0;
  const auto read = [&bytes](std::string_view text) {
    for (const char c : text) bytes += static_cast<unsigned char>(c);
  };
  for (const auto text :
       {request.client, request.method, request.uri, request.host, request.country}) {
    read(text);
  }
  for (const auto& [name, value] : request.headers) {
    read(name);
    read(value);
  }
  volatile std::size_t used = bytes;
  (void)used;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto given = weir::lab::make_text_format(
      R"($http_x_forwarded_for [$msec|$request_time] "$request" $status "$http_cookie")");
  std::vector<std::string_view> lines;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    lines.push_back(line);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  const auto format = weir::lab::detect_format(lines);
  weir::lab::LogLine line;
  for (const auto text : lines) {
    for (auto* const each : {format.get(), given->get()}) {
      if (each == nullptr) continue;
      line.text.assign(text);
      if (each->read(line).empty()) touch(line.request);
    }
  }
  return 0;
}
