// LogField: the meaning of a piece of a log line. Formats cut lines into pieces; a piece means the
// same in all formats.
//
// Thread rule: a RequestMaker is of one thread. Tested by log_format_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "logs/log_time.h"
#include "logs/logged_request.h"

namespace weir::lab {

enum class LogField : std::uint8_t {
  kNothing,
  kTime,          // of the line, which is written with the response
  kStart,         // of the request's arrival
  kTook,          // seconds in between
  kClient,        // an address, a name, or an address with a port
  kPeer,          // the client if no other is known
  kForwardedFor,  // the header; its last address is a peer
  kRequest,       // GET /path?query HTTP/1.1
  kMethod,
  kUri,   // path and query
  kPath,  // without a query
  kQuery,
  kHost,
  kPort,  // a number
  kStatus,
  kCountry,
  kHeader,
};

struct Meaning {
  LogField field = LogField::kNothing;
  std::string header{};  // its name
};

// The meaning of a name: a variable of nginx's log_format, or a JSON field with the names of the
// objects around it.
Meaning meaning_of(std::string_view name);

// Notes in `knows` the facts that a log with this field has.
void note_field(const Meaning& meaning, LogKnows& knows);

// Makes a request from the pieces of its line. A '-' says nothing.
class RequestMaker {
 public:
  void begin(LogLine& line);
  // False: the piece is malformed. `header`: the name of kHeader, which lives as long as the line.
  // The text is the line's.
  bool take(LogField field, std::string_view text, std::string_view header = {}) {
    const bool says_nothing = text.empty() || (text.size() == 1 && text.front() == '-');
    if (says_nothing || field == LogField::kNothing) return true;
    if (field != LogField::kHeader) return take_other(field, text);
    line_->request.headers.push_back({header, text});
    return true;
  }
  // Why the line is no request; empty: it is one.
  std::string_view finish();

 private:
  bool take_other(LogField field, std::string_view text);
  bool take_request(std::string_view text);
  bool take_time(LogField field, std::string_view text);
  void set_uri(std::string_view uri);
  std::string_view joined(std::string_view path, std::string_view query);

  LogLine* line_ = nullptr;
  TimeReader times_;
  LogTime time_{};
  bool has_time_ = false;
  bool is_start_ = false;
  Duration took_{0};
  std::string_view path_{};
  std::string_view query_{};
};

}  // namespace weir::lab
