#include "proto/http/rate_limit_headers.h"

#include <algorithm>

namespace weir {
namespace {

// A String of RFC 9651: printable ASCII, quotes and backslashes escaped.
// The second limit of a name has its number behind it.
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
  void end() { fields_[size_++].value = {value_, writer_.at()}; }
  std::size_t size() const { return size_; }

 private:
  TextWriter& writer_;
  std::span<NameValue> fields_;
  const FieldNames names_;
  std::size_t size_ = 0;
  const char* value_ = nullptr;
};

// A number that fields repeat. It becomes text once: that is most of what the fields cost.
class Repeated {
 public:
  void put(TextWriter& writer, std::int64_t number) {
    if (number == number_ && !digits_.empty()) {
      writer.digits(digits_);
      return;
    }
    const char* const begin = writer.at();
    digits_ = {begin, writer.number(number).at()};
    number_ = number;
  }

 private:
  std::int64_t number_ = 0;
  std::string_view digits_{};
};

// What the fields say, worked out once.
struct Said {
  const RateLimit& limit;
  std::span<const RateLimitItem> items;
  std::int64_t reset_s;
  Repeated limit_text{};
  Repeated remaining_text{};
  Repeated seconds_text{};
};

// 0 if no wait brings more.
std::int64_t more_s(const Decision& decision) {
  const bool comes = decision.verdict != Verdict::kNever && decision.more_after.count() > 0;
  return comes ? whole_seconds(decision.more_after) : 0;
}

void write_name(TextWriter& writer, const RateLimitPolicy& policy) {
  write_structured_string(writer, policy.name, policy.number);
}

void write_window(TextWriter& writer, const RateLimitPolicy& policy) {
  const auto window_s = std::chrono::floor<std::chrono::seconds>(policy.window);
  if (window_s == policy.window && window_s.count() >= 1)
    writer.put(";w=").number(window_s.count());
}

// Each item by `write`, separated by commas.
template <typename Write>
void write_list(TextWriter& writer, std::span<const RateLimitItem> items, Write write) {
  for (const RateLimitItem& item : items) {
    if (&item != items.data()) writer.put(", ");
    write(item);
  }
}

template <typename Out>
void put_x_fields(Out& out, Said& said) {
  const auto& style = said.limit.style;
  const Decision& decision = said.limit.decision;
  if (style.x_limit) {
    said.limit_text.put(out.begin("X-RateLimit-Limit", "x-ratelimit-limit"), decision.limit);
    out.end();
  }
  if (style.x_remaining) {
    said.remaining_text.put(out.begin("X-RateLimit-Remaining", "x-ratelimit-remaining"),
                            decision.remaining);
    out.end();
  }
  if (!style.x_reset) return;
  TextWriter& reset = out.begin("X-RateLimit-Reset", "x-ratelimit-reset");
  if (style.reset == RateLimitStyle::Reset::kSeconds) {
    said.seconds_text.put(reset, said.reset_s);
  } else {
    reset.number(whole_seconds(said.limit.wall_time.time_since_epoch() + decision.reset_after));
  }
  out.end();
}

template <typename Out>
void put_draft_10(Out& out, Said& said) {
  TextWriter& now = out.begin("RateLimit", "ratelimit");
  write_list(now, said.items, [&](const RateLimitItem& item) {
    write_name(now, item.policy);
    said.remaining_text.put(now.put(";r="), item.decision.remaining);
    const auto wait_s = more_s(item.decision);
    if (wait_s > 0) said.seconds_text.put(now.put(";t="), wait_s);
  });
  out.end();
  TextWriter& always = out.begin("RateLimit-Policy", "ratelimit-policy");
  write_list(always, said.items, [&](const RateLimitItem& item) {
    write_name(always, item.policy);
    said.limit_text.put(always.put(";q="), item.policy.limit);
    write_window(always, item.policy);
  });
  out.end();
}

// Drafts 6 and 7 have it both.
template <typename Out>
void put_old_policies(Out& out, Said& said) {
  TextWriter& writer = out.begin("RateLimit-Policy", "ratelimit-policy");
  write_list(writer, said.items, [&](const RateLimitItem& item) {
    said.limit_text.put(writer, item.policy.limit);
    write_window(writer, item.policy);
  });
  out.end();
}

template <typename Out>
void put_draft_7(Out& out, Said& said) {
  const Decision& decision = said.limit.decision;
  TextWriter& writer = out.begin("RateLimit", "ratelimit");
  said.limit_text.put(writer.put("limit="), decision.limit);
  said.remaining_text.put(writer.put(", remaining="), decision.remaining);
  said.seconds_text.put(writer.put(", reset="), said.reset_s);
  out.end();
  put_old_policies(out, said);
}

template <typename Out>
void put_draft_6(Out& out, Said& said) {
  const Decision& decision = said.limit.decision;
  said.limit_text.put(out.begin("RateLimit-Limit", "ratelimit-limit"), decision.limit);
  out.end();
  said.remaining_text.put(out.begin("RateLimit-Remaining", "ratelimit-remaining"),
                          decision.remaining);
  out.end();
  said.seconds_text.put(out.begin("RateLimit-Reset", "ratelimit-reset"), said.reset_s);
  out.end();
  put_old_policies(out, said);
}

template <typename Out>
void put_fields(Out& out, const RateLimit& limit) {
  const Decision& decision = limit.decision;
  const RateLimitItem only{limit.policy, decision};
  Said said{.limit = limit,
            .items = limit.items.empty() ? std::span(&only, 1) : limit.items,
            .reset_s = whole_seconds(decision.reset_after)};
  put_x_fields(out, said);
  switch (limit.style.fields) {
    case RateLimitStyle::Fields::kNone: break;
    case RateLimitStyle::Fields::kDraft6: put_draft_6(out, said); break;
    case RateLimitStyle::Fields::kDraft7: put_draft_7(out, said); break;
    case RateLimitStyle::Fields::kDraft10: put_draft_10(out, said); break;
  }
  if (limit.is_alone) {
    out.begin("X-Weir-Mode", "x-weir-mode").put("local");
    out.end();
  }
  if (decision.verdict != Verdict::kDenied) return;
  // If the key owes more than its limit, `retry_after` may be when a look is OK again.
  const std::int64_t retry_s =
      std::max({std::int64_t{1}, more_s(decision), whole_seconds(decision.retry_after)});
  said.seconds_text.put(out.begin("Retry-After", "retry-after"), retry_s);
  out.end();
}

}  // namespace

RateLimitPolicy policy_of(std::string_view name, const Quota& quota, std::size_t number) {
  RateLimitPolicy policy{
      .name = name, .limit = quota.limit(), .window = quota.window(), .number = number};
  if (quota.capacity() <= quota.limit() || quota.limit() == 0) return policy;
  policy.limit = quota.capacity();
  // A unit's time is a reduced fraction. No time is a whole number of seconds that is none of
  // microseconds.
  const std::int64_t divisor = quota.ticks_per_us();
  const bool is_whole = quota.capacity() % divisor == 0;
  policy.window = Duration{is_whole ? quota.capacity() / divisor * quota.ticks_per_unit() : 0};
  return policy;
}

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
