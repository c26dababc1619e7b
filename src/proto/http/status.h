// The statuses of HTTP that Weir sends, as HTTP/1.1 writes them.
//
// Thread rule: values. Tested by src/server/http/http_session_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace weir {

struct StatusLine {
  int status;
  std::string_view line;  // without the line end
};

// The statuses of checks come first.
inline constexpr std::array kStatusLines = {
    StatusLine{200, "HTTP/1.1 200 OK"},
    StatusLine{429, "HTTP/1.1 429 Too Many Requests"},
    StatusLine{101, "HTTP/1.1 101 Switching Protocols"},
    StatusLine{201, "HTTP/1.1 201 Created"},
    StatusLine{204, "HTTP/1.1 204 No Content"},
    StatusLine{304, "HTTP/1.1 304 Not Modified"},
    StatusLine{400, "HTTP/1.1 400 Bad Request"},
    StatusLine{401, "HTTP/1.1 401 Unauthorized"},
    StatusLine{403, "HTTP/1.1 403 Forbidden"},
    StatusLine{404, "HTTP/1.1 404 Not Found"},
    StatusLine{405, "HTTP/1.1 405 Method Not Allowed"},
    StatusLine{408, "HTTP/1.1 408 Request Timeout"},
    StatusLine{409, "HTTP/1.1 409 Conflict"},
    StatusLine{412, "HTTP/1.1 412 Precondition Failed"},
    StatusLine{413, "HTTP/1.1 413 Content Too Large"},
    StatusLine{414, "HTTP/1.1 414 URI Too Long"},
    StatusLine{417, "HTTP/1.1 417 Expectation Failed"},
    StatusLine{426, "HTTP/1.1 426 Upgrade Required"},
    StatusLine{431, "HTTP/1.1 431 Request Header Fields Too Large"},
    StatusLine{500, "HTTP/1.1 500 Internal Server Error"},
    StatusLine{501, "HTTP/1.1 501 Not Implemented"},
    StatusLine{503, "HTTP/1.1 503 Service Unavailable"},
    StatusLine{505, "HTTP/1.1 505 HTTP Version Not Supported"},
};

// Null for a status that Weir never sends of its own accord.
constexpr const StatusLine* find_status(int status) {
  const auto* const found =
      std::find_if(kStatusLines.begin(), kStatusLines.end(),
                   [&](const StatusLine& each) { return each.status == status; });
  return found == kStatusLines.end() ? nullptr : found;
}

// "Not Found". Empty for a status that Weir never sends of its own accord.
constexpr std::string_view reason_phrase(int status) {
  const StatusLine* const found = find_status(status);
  constexpr std::string_view kBefore = "HTTP/1.1 404 ";
  return found == nullptr ? std::string_view() : found->line.substr(kBefore.size());
}

}  // namespace weir
