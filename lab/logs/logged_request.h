// LoggedRequest: one request of an access log, whatever the log's format; and the facts that a log
// has of each request.
//
// Thread rule: values. A request refers to the texts of its line. Tested by log_format_test.cc.

#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/name_value.h"
#include "weir/time.h"

namespace weir::lab {

struct LoggedRequest {
  Instant time{};  // of its arrival
  std::string_view client{};
  std::string_view method{};
  std::string_view uri{};  // path and query
  std::string_view host{};
  std::string_view country{};  // two letters
  int status = 0;              // 0: unknown
  std::vector<NameValue> headers{};
};

// A line and its request. Reused: reading allocates nothing once it has grown.
struct LogLine {
  std::string text;
  std::string decoded;  // unescaped texts; reserved before they are added
  LoggedRequest request;
};

// The facts that a log has of requests. A header that one request lacks may still be known.
struct LogKnows {
  bool host = false;
  bool query = false;
  bool status = false;
  bool country = false;
  bool all_headers = false;  // except those with credentials
  std::vector<std::string> headers{};

  bool header(std::string_view name) const {
    if (all_headers) {
      return !equal_ignoring_case(name, "Cookie") && !equal_ignoring_case(name, "Authorization");
    }
    return std::ranges::any_of(
        headers, [name](const std::string& known) { return equal_ignoring_case(known, name); });
  }
  void add_header(std::string_view name) {
    if (!all_headers && !header(name)) headers.emplace_back(name);
  }
  // Keeps only facts that both have.
  void meet(const LogKnows& other) {
    host = host && other.host;
    query = query && other.query;
    status = status && other.status;
    country = country && other.country;
    if (all_headers) headers = other.headers;
    if (!all_headers) {
      std::erase_if(headers, [&](const std::string& name) { return !other.header(name); });
    }
    all_headers = all_headers && other.all_headers;
  }
};

}  // namespace weir::lab
