// LogFormat: makes a request from a line; also detects a log's format.
//
//   text      pieces between fixed texts, as in nginx's log_format. Common and combined logs,
//             HAProxy's and AWS ALB's are such formats, too
//   JSON      one object a line, of Caddy, Traefik, Envoy, nginx, AWS WAF, Cloudflare Logpush:
//             the name of a field gives its meaning (json_format.cc)
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

  // Reads line.text into line.request. Empty if it is a request; else why not.
  virtual std::string_view read(LogLine& line) = 0;
  // Grows with each line.
  virtual const LogKnows& knows() const = 0;
  virtual std::string_view name() const = 0;
};

// By nginx's log_format, which must have a time and a request. Fails with a sentence.
Result<std::unique_ptr<LogFormat>, std::string> make_text_format(std::string_view log_format);
// By a log_format of this program.
Result<std::unique_ptr<LogFormat>, std::string> make_text_format(std::string_view name,
                                                                 std::string_view log_format);
std::unique_ptr<LogFormat> make_json_format();

// The format that most of these lines have; null: in no format any line is a request. It has read
// the lines, and so knows their facts.
std::unique_ptr<LogFormat> detect_format(std::span<const std::string_view> lines);

}  // namespace weir::lab
