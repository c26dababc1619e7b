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
  TextWriter& begin(const char (&name)[N], const char (&)[N]) {
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

  template <std::size_t N>
  TextWriter& begin(const char (&usual_name)[N], const char (&lower_name)[N]) {
    fields_[size_].name = {names_ == FieldNames::kLower ? lower_name : usual_name, N - 1};
    value_ = writer_.at();
    return writer_;
  }
  void end() { fields_[size_++].value = {value_, static_cast<std::size_t>(writer_.at() - value_)}; }
  std::size_t size() const { return size_; }

 private:
  TextWriter& writer_;
  std::span<NameValue> fields_;
  const FieldNames names_;
  std::size_t size_ = 0;
  const char* value_ = nullptr;
};

// Writes the number, and returns its digits.
std::string_view put_number(TextWriter& writer, std::int64_t number) {
  const char* const digits = writer.at();
  writer.number(number);
  return {digits, static_cast<std::size_t>(writer.at() - digits)};
}

template <typename Out>
void put_fields(Out& out, const RateLimit& limit) {
  const auto& [policy, decision, is_alone] = limit;
  const std::int64_t reset_s = whole_seconds(decision.reset_after);
  const bool retry_helps = decision.verdict == Verdict::kDenied;
  const std::int64_t retry_s =
      retry_helps ? std::max<std::int64_t>(1, whole_seconds(decision.retry_after)) : 0;

  // Each number is put as text once: that is most of what this costs.
  const auto limit_text =
      put_number(out.begin("X-RateLimit-Limit", "x-ratelimit-limit"), decision.limit);
  out.end();
  const auto remaining =
      put_number(out.begin("X-RateLimit-Remaining", "x-ratelimit-remaining"), decision.remaining);
  out.end();
  const auto reset = put_number(out.begin("X-RateLimit-Reset", "x-ratelimit-reset"), reset_s);
  out.end();

  TextWriter& now = out.begin("RateLimit", "ratelimit");
  const char* const name = now.at();
  write_structured_string(now, policy.name);
  const std::string_view quoted_name(name, static_cast<std::size_t>(now.at() - name));
  now.put(";r=").digits(remaining).put(";t=");
  if (!retry_helps || retry_s == reset_s) {
    now.digits(reset);
  } else {
    now.number(retry_s);
  }
  out.end();

  TextWriter& always = out.begin("RateLimit-Policy", "ratelimit-policy");
  always.text(quoted_name).put(";q=");
  if (policy.limit == decision.limit) {
    always.digits(limit_text);
  } else {
    always.number(policy.limit);
  }
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
  writer.end();  // looks at the bound, once for all
}

}  // namespace weir
