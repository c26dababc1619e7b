#include "proto/rate_limit_headers.h"

#include <algorithm>

namespace weir {
namespace {

// A String of RFC 9651: printable ASCII, quotes and backslashes escaped.
void write_structured_string(TextWriter& writer, std::string_view text) {
  writer.character('"');
  for (const char c : text) {
    const bool printable = c >= 0x20 && c <= 0x7E;
    if (c == '"' || c == '\\') writer.character('\\');
    writer.character(printable ? c : '?');
  }
  writer.character('"');
}

}  // namespace

void write_rate_limit_headers(TextWriter& writer, const RateLimitPolicy& policy,
                              const Decision& decision) {
  const std::int64_t reset_s = whole_seconds(decision.reset_after);
  const bool retry_helps = decision.verdict == Verdict::kDenied;
  const std::int64_t retry_s = std::max<std::int64_t>(1, whole_seconds(decision.retry_after));

  writer.put("X-RateLimit-Limit: ").number(decision.limit);
  writer.put("\r\nX-RateLimit-Remaining: ").number(decision.remaining);
  writer.put("\r\nX-RateLimit-Reset: ").number(reset_s);

  writer.put("\r\nRateLimit: ");
  const char* const name = writer.end();
  write_structured_string(writer, policy.name);
  const std::string_view quoted_name(name, static_cast<std::size_t>(writer.end() - name));
  writer.put(";r=").number(decision.remaining);
  writer.put(";t=").number(retry_helps ? retry_s : reset_s);

  writer.put("\r\nRateLimit-Policy: ").text(quoted_name).put(";q=").number(policy.limit);
  const auto window_s = std::chrono::floor<std::chrono::seconds>(policy.window);
  if (window_s == policy.window && window_s.count() >= 1) {
    writer.put(";w=").number(window_s.count());
  }
  if (retry_helps) writer.put("\r\nRetry-After: ").number(retry_s);
  writer.put("\r\n");
}

}  // namespace weir
