#include "proto/http/rate_limit_policy.h"

#include <chrono>

#include "proto/text_writer.h"

namespace weir {
namespace {

// A String of RFC 9651: printable ASCII, with escaped quotes and backslashes. The second limit of a
// name is followed by its number.
void write_structured_string(TextWriter& writer, std::string_view text, std::size_t number) {
  writer.character('"');
  for (const char c : text) {
    const bool printable = c >= 0x20 && c <= 0x7E;
    if (c == '"' || c == '\\') writer.character('\\');
    writer.character(printable ? c : '?');
  }
  if (number > 1) writer.character('/').number(number);
  writer.character('"');
}

void write_window(TextWriter& writer, Duration window) {
  const auto window_s = std::chrono::floor<std::chrono::seconds>(window);
  if (window_s == window && window_s.count() >= 1) writer.put(";w=").number(window_s.count());
}

}  // namespace

RateLimitPolicy policy_of(std::string_view name, const Quota& quota, std::size_t number) {
  RateLimitPolicy policy{
      .name = name, .limit = quota.limit(), .window = quota.window(), .number = number};
  if (quota.capacity() <= quota.limit() || quota.limit() == 0) return policy;
  policy.limit = quota.capacity();
  // A unit's time is a reduced fraction. Only a whole number of microseconds can be a whole number
  // of seconds.
  const std::int64_t divisor = quota.ticks_per_us();
  const bool is_whole = quota.capacity() % divisor == 0;
  policy.window = Duration{is_whole ? quota.capacity() / divisor * quota.ticks_per_unit() : 0};
  return policy;
}

void PolicyText::write(const RateLimitPolicy& policy) {
  name_ = policy.name;
  policy_ = policy;
  policy_.name = name_;
  constexpr std::size_t kFixed = 9;  // punctuation
  constexpr std::size_t kNumbers = 3;
  text_.resize(kFixed + kNumbers * kNumberTextMax + 2 * name_.size());
  TextWriter writer(text_.data(), text_.size());
  const auto size = [&] { return static_cast<std::size_t>(writer.end() - text_.data()); };
  write_structured_string(writer, name_, policy.number);
  name_end_ = size();
  writer.put(";q=");
  limit_begin_ = size();
  writer.number(policy.limit);
  limit_end_ = size();
  write_window(writer, policy.window);
  text_.resize(size());
}

}  // namespace weir
