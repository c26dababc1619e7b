// LogFormat: makes a request of a line; and which format a log has.
//
//   text      pieces between fixed texts, as nginx's log_format says it. Common and combined logs,
//             HAProxy's and AWS ALB's are such formats, too
//   JSON      one object a line, of Caddy, Traefik, Envoy, nginx, AWS WAF, Cloudflare Logpush:
//             what a field means follows from its name (json_format.cc)
//
// Thread rule: a format is of one thread. Tested by log_format_test.cc and fuzz/log_line_fuzz.cc.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "logs/logged_request.h"
#include "weir/result.h"

namespace weir::lab {

class LogFormat {
 public:
  virtual ~LogFormat() = default;

  // Reads line.text into line.request. Empty: it is one; else why not.
  virtual std::string_view read(LogLine& line) = 0;
  // Grows with what has been read.
  virtual const LogKnows& knows() const = 0;
  virtual std::string_view name() const = 0;
};

// By nginx's log_format, which has to have a time and a request. Fails with a sentence.
Result<std::unique_ptr<LogFormat>, std::string> make_text_format(std::string_view log_format);
// One that we have written.
Result<std::unique_ptr<LogFormat>, std::string> make_text_format(std::string_view name,
                                                                 std::string_view log_format);
std::unique_ptr<LogFormat> make_json_format();

// The format that most of these lines have; null: none of them is a request in any. It has read
// them, and so knows what they know.
std::unique_ptr<LogFormat> detect_format(std::span<const std::string_view> lines);

}  // namespace weir::lab
