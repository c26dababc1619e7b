#include "proto/http/rate_limit_headers.h"

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

// Writes "Name: value" and a line end.
class Lines {
 public:
  explicit Lines(TextWriter& writer) : writer_(writer) {}

  template <std::size_t N>
  TextWriter& begin(const char (&name)[N], std::string_view) {
    return writer_.put(name).put(": ");
  }
  void end() { writer_.put("\r\n"); }

 private:
  TextWriter& writer_;
};

// Writes values only, and notes where each is.
class Values {
 public:
  Values(TextWriter& writer, std::span<NameValue> fields, FieldNames names)
      : writer_(writer), fields_(fields), names_(names) {}

  TextWriter& begin(std::string_view usual_name, std::string_view lower_name) {
    fields_[size_].name = names_ == FieldNames::kLower ? lower_name : usual_name;
    value_ = writer_.end();
    return writer_;
  }
  void end() {
    fields_[size_++].value = {value_, static_cast<std::size_t>(writer_.end() - value_)};
  }
  std::size_t size() const { return size_; }

 private:
  TextWriter& writer_;
  std::span<NameValue> fields_;
  const FieldNames names_;
  std::size_t size_ = 0;
  const char* value_ = nullptr;
};

template <typename Out>
void put_fields(Out& out, const RateLimit& limit) {
  const auto& [policy, decision, is_alone] = limit;
  const std::int64_t reset_s = whole_seconds(decision.reset_after);
  const bool retry_helps = decision.verdict == Verdict::kDenied;
  const bool more_comes = decision.verdict != Verdict::kNever && decision.more_after.count() > 0;
  const std::int64_t more_s = more_comes ? whole_seconds(decision.more_after) : 0;
  // Of a key that owes more than its limit, `retry_after` may be when a look is OK again.
  const std::int64_t retry_s =
      std::max({std::int64_t{1}, more_s, whole_seconds(decision.retry_after)});

  out.begin("X-RateLimit-Limit", "x-ratelimit-limit").number(decision.limit);
  out.end();
  out.begin("X-RateLimit-Remaining", "x-ratelimit-remaining").number(decision.remaining);
  out.end();
  out.begin("X-RateLimit-Reset", "x-ratelimit-reset").number(reset_s);
  out.end();

  TextWriter& now = out.begin("RateLimit", "ratelimit");
  const char* const name = now.end();
  write_structured_string(now, policy.name);
  const std::string_view quoted_name(name, static_cast<std::size_t>(now.end() - name));
  now.put(";r=").number(decision.remaining);
  if (more_comes) now.put(";t=").number(more_s);
  out.end();

  TextWriter& always = out.begin("RateLimit-Policy", "ratelimit-policy");
  always.text(quoted_name).put(";q=").number(policy.limit);
  const auto window_s = std::chrono::floor<std::chrono::seconds>(policy.window);
  if (window_s == policy.window && window_s.count() >= 1)
    always.put(";w=").number(window_s.count());
  out.end();

  if (is_alone) {
    out.begin("X-Weir-Mode", "x-weir-mode").put("local");
    out.end();
  }
  if (!retry_helps) return;
  out.begin("Retry-After", "retry-after").number(retry_s);
  out.end();
}

}  // namespace

void write_rate_limit_headers(TextWriter& writer, const RateLimit& limit) {
  Lines lines(writer);
  put_fields(lines, limit);
}

RateLimitFields::RateLimitFields(const RateLimit& limit, char* room, FieldNames names) {
  TextWriter writer(room, rate_limit_headers_max(limit));
  Values values(writer, fields_, names);
  put_fields(values, limit);
  size_ = values.size();
}

}  // namespace weir
