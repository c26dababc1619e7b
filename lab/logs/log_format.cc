#include "logs/log_format.h"

#include <array>
#include <utility>
#include <vector>

namespace weir::lab {
namespace {

struct KnownFormat {
  std::string_view name;
  std::string_view log_format;
};

// Formats with more fields come first. Text behind the last piece is ignored.
constexpr std::array kKnownFormats = {
    KnownFormat{"combined with a host",
                R"($host:$server_port $remote_addr $who [$time_local] "$request" $status $bytes )"
                R"("$http_referer" "$http_user_agent")"},
    KnownFormat{"combined", R"($remote_addr $who [$time_local] "$request" $status $bytes )"
                            R"("$http_referer" "$http_user_agent")"},
    KnownFormat{"common", R"($remote_addr $who [$time_local] "$request" $status $bytes)"},
    KnownFormat{
        "weir gateway",
        R"($remote_addr [$time_iso8601] "$request" $status $bytes $request_time weir $rest )"
        R"(time $weir_time)"},
    KnownFormat{"AWS ALB",
                R"($type $time_iso8601 $elb $remote_addr $target $a $b $c $status $d $e $f )"
                R"("$request" "$http_user_agent")"},
    KnownFormat{
        "HAProxy",
        R"($remote_addr [$accept_time] $frontend $backend $timers $status $a $b"$request")"},
    KnownFormat{"HAProxy by syslog",
                R"($syslog]: $remote_addr [$accept_time] $frontend $backend $timers $status $a )"
                R"($b"$request")"},
};

std::size_t count_read(LogFormat& format, std::span<const std::string_view> lines) {
  std::size_t count = 0;
  LogLine line;
  for (const std::string_view text : lines) {
    line.text.assign(text);
    if (format.read(line).empty()) ++count;
  }
  return count;
}

}  // namespace

std::unique_ptr<LogFormat> detect_format(std::span<const std::string_view> lines) {
  std::unique_ptr<LogFormat> best;
  std::size_t most = 0;
  const auto try_one = [&](std::unique_ptr<LogFormat> format) {
    const std::size_t count = count_read(*format, lines);
    if (count <= most) return;
    most = count;
    best = std::move(format);
  };
  try_one(make_json_format());
  for (const KnownFormat& known : kKnownFormats) {
    try_one(*make_text_format(known.name, known.log_format));
  }
  return best;
}

}  // namespace weir::lab
