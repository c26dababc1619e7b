// Writes the fields of rate_limit_headers.h. All of it is in this header, so that it is inlined: a
// call for each field would cost more than the field.
//
// Thread rule: pure. Tested by rate_limit_headers_test.cc.

#pragma once

#include "proto/http/rate_limit_headers.h"
#include "proto/text_writer.h"

namespace weir {

// How field names are written: in HTTP/2 in lower case.
enum class FieldNames : std::uint8_t { kLower, kUsual };

namespace rate_limit_fields {

// Writes only values.
template <FieldNames kNames, typename Add>
class Values {
 public:
  Values(TextWriter& writer, Add& add) : writer_(writer), add_(add) {}

  template <std::size_t N>
  TextWriter& begin(const char (&usual_name)[N], const char (&lower_name)[N]) {
    name_ = {kNames == FieldNames::kLower ? lower_name : usual_name, N - 1};
    value_ = writer_.at();
    return writer_;
  }
  [[gnu::always_inline]] void end() { add_(name_, std::string_view(value_, writer_.at())); }

 private:
  TextWriter& writer_;
  Add& add_;
  std::string_view name_;
  const char* value_ = nullptr;
};

// A number that several fields have. It becomes text once: that is most of the fields' cost.
class Repeated {
 public:
  [[gnu::always_inline]] void put(TextWriter& writer, std::int64_t number) {
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

// The values that several fields share, computed once.
struct Said {
  const RateLimit& limit;
  const PolicyText& policy;  // valid until items are written
  std::int64_t reset_s;
  Repeated remaining{};
  Repeated seconds{};
};

// 0 if no wait brings more units.
inline std::int64_t more_s(const Decision& decision) {
  const bool comes = decision.verdict != Verdict::kNever && decision.more_after.count() > 0;
  return comes ? whole_seconds(decision.more_after) : 0;
}

[[gnu::always_inline]] inline void put_limit(TextWriter& writer, const Said& said) {
  const RateLimit& limit = said.limit;
  const bool is_policys = limit.decision.limit == limit.policy.limit;
  is_policys ? writer.text(said.policy.limit()) : writer.number(limit.decision.limit);
}

// Writes each limit with `write`, separated by commas.
template <typename Write>
void write_list(TextWriter& writer, const Said& said, Write write) {
  const auto items = said.limit.items;
  if (items.empty()) return write(said.policy, said.limit.decision);
  for (const RateLimitItem& item : items) {
    if (&item != items.data()) writer.put(", ");
    write(said.limit.texts->of(item.policy), item.decision);
  }
}

template <typename Out>
void put_x_fields(Out& out, Said& said) {
  const auto& style = said.limit.style;
  const Decision& decision = said.limit.decision;
  if (style.x_limit) {
    put_limit(out.begin("X-RateLimit-Limit", "x-ratelimit-limit"), said);
    out.end();
  }
  if (style.x_remaining) {
    said.remaining.put(out.begin("X-RateLimit-Remaining", "x-ratelimit-remaining"),
                       decision.remaining);
    out.end();
  }
  if (!style.x_reset) return;
  TextWriter& reset = out.begin("X-RateLimit-Reset", "x-ratelimit-reset");
  if (style.reset == RateLimitStyle::Reset::kSeconds) {
    said.seconds.put(reset, said.reset_s);
  } else {
    reset.number(whole_seconds(said.limit.wall_time.time_since_epoch() + decision.reset_after));
  }
  out.end();
}

template <typename Out>
void put_draft_10(Out& out, Said& said) {
  TextWriter& now = out.begin("RateLimit", "ratelimit");
  write_list(now, said, [&](const PolicyText& policy, const Decision& decision) {
    said.remaining.put(now.text(policy.quoted_name()).put(";r="), decision.remaining);
    const auto wait_s = more_s(decision);
    if (wait_s > 0) said.seconds.put(now.put(";t="), wait_s);
  });
  out.end();
  TextWriter& always = out.begin("RateLimit-Policy", "ratelimit-policy");
  write_list(always, said,
             [&](const PolicyText& policy, const Decision&) { always.text(policy.all()); });
  out.end();
}

// Drafts 6 and 7 both have these.
template <typename Out>
void put_old_policies(Out& out, const Said& said) {
  TextWriter& writer = out.begin("RateLimit-Policy", "ratelimit-policy");
  write_list(writer, said, [&](const PolicyText& policy, const Decision&) {
    writer.text(policy.limit_and_window());
  });
  out.end();
}

template <typename Out>
void put_draft_7(Out& out, Said& said) {
  TextWriter& writer = out.begin("RateLimit", "ratelimit");
  put_limit(writer.put("limit="), said);
  said.remaining.put(writer.put(", remaining="), said.limit.decision.remaining);
  said.seconds.put(writer.put(", reset="), said.reset_s);
  out.end();
  put_old_policies(out, said);
}

template <typename Out>
void put_draft_6(Out& out, Said& said) {
  put_limit(out.begin("RateLimit-Limit", "ratelimit-limit"), said);
  out.end();
  said.remaining.put(out.begin("RateLimit-Remaining", "ratelimit-remaining"),
                     said.limit.decision.remaining);
  out.end();
  said.seconds.put(out.begin("RateLimit-Reset", "ratelimit-reset"), said.reset_s);
  out.end();
  put_old_policies(out, said);
}

template <typename Out>
void put_fields(Out& out, const RateLimit& limit) {
  const Decision& decision = limit.decision;
  Said said{.limit = limit,
            .policy = limit.texts->of(limit.policy),
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
  const std::int64_t retry_s = std::max(std::int64_t{1}, whole_seconds(wait_of(decision)));
  said.seconds.put(out.begin("Retry-After", "retry-after"), retry_s);
  out.end();
}

}  // namespace rate_limit_fields

// Calls add(name, value) with each field. The values are in `room`, which has
// rate_limit_headers_max(limit) bytes.
template <FieldNames kNames, typename Add>
void put_rate_limit_fields(const RateLimit& limit, char* room, Add add) {
  TextWriter writer(room, rate_limit_headers_max(limit));
  rate_limit_fields::Values<kNames, Add> values(writer, add);
  rate_limit_fields::put_fields(values, limit);
  writer.end();  // checks the bound, once for all
}

}  // namespace weir
