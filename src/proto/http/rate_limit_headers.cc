#include "proto/http/rate_limit_headers.h"

#include <algorithm>

namespace weir {
namespace {

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

// Writes values only.
template <FieldNames kNames>
class Values {
 public:
  Values(TextWriter& writer, FieldSink& sink) : writer_(writer), sink_(sink) {}

  template <std::size_t N>
  TextWriter& begin(const char (&usual_name)[N], const char (&lower_name)[N]) {
    name_ = {kNames == FieldNames::kLower ? lower_name : usual_name, N - 1};
    value_ = writer_.at();
    return writer_;
  }
  void end() { sink_.add(name_, {value_, writer_.at()}); }

 private:
  TextWriter& writer_;
  FieldSink& sink_;
  std::string_view name_;
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
  const PolicyText& policy;  // until items are said
  std::int64_t reset_s;
  Repeated remaining{};
  Repeated seconds{};
};

// 0 if no wait brings more.
std::int64_t more_s(const Decision& decision) {
  const bool comes = decision.verdict != Verdict::kNever && decision.more_after.count() > 0;
  return comes ? whole_seconds(decision.more_after) : 0;
}

void put_limit(TextWriter& writer, const Said& said) {
  const RateLimit& limit = said.limit;
  if (limit.decision.limit == limit.policy.limit) {
    writer.text(said.policy.limit());
  } else {
    writer.number(limit.decision.limit);
  }
}

// Each limit by `write`, separated by commas.
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

// Drafts 6 and 7 have it both.
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

}  // namespace

void write_rate_limit_headers(TextWriter& writer, const RateLimit& limit) {
  Lines lines(writer);
  put_fields(lines, limit);
}

void put_rate_limit_fields(const RateLimit& limit, char* room, FieldNames names, FieldSink& sink) {
  TextWriter writer(room, rate_limit_headers_max(limit));
  if (names == FieldNames::kLower) {
    Values<FieldNames::kLower> values(writer, sink);
    put_fields(values, limit);
  } else {
    Values<FieldNames::kUsual> values(writer, sink);
    put_fields(values, limit);
  }
  writer.end();  // looks at the bound, once for all
}

}  // namespace weir
