#include "rls/limit_terms.h"

#include <algorithm>
#include <array>

#include "algo/epoch_window.h"
#include "base/length_prefix.h"

namespace weir::rls {
namespace {

using Response = envoy::service::ratelimit::v3::RateLimitResponse;

struct UnitLength {
  Unit unit;
  Duration length;
};

constexpr Duration kDay = std::chrono::hours(24);
constexpr std::array kUnits = {
    UnitLength{Response::RateLimit::SECOND, std::chrono::seconds(1)},
    UnitLength{Response::RateLimit::MINUTE, std::chrono::minutes(1)},
    UnitLength{Response::RateLimit::HOUR, std::chrono::hours(1)},
    UnitLength{Response::RateLimit::DAY, kDay},
    UnitLength{Response::RateLimit::WEEK, 7 * kDay},
    UnitLength{Response::RateLimit::MONTH, 30 * kDay},
    UnitLength{Response::RateLimit::YEAR, 365 * kDay},
};

}  // namespace

std::int64_t cost_of(const AskedDescriptor& descriptor, std::uint32_t request_hits) {
  const std::uint64_t hits =
      descriptor.has_hits_addend() ? descriptor.hits_addend().value() : std::max(request_hits, 1U);
  const auto cost = static_cast<std::int64_t>(std::min<std::uint64_t>(hits, kCostMax));
  return descriptor.is_negative_hits() ? -cost : cost;
}

std::optional<Quota> inline_quota(const AskedDescriptor::RateLimitOverride& limit) {
  // The numbers of both enumerations are the same, as far as this one goes.
  const auto unit = std::ranges::find(kUnits, static_cast<int>(limit.unit()), &UnitLength::unit);
  if (unit == kUnits.end()) return std::nullopt;
  const auto quota = Quota::make({.algorithm = Algorithm::kFixedWindow,
                                  .limit = limit.requests_per_unit(),
                                  .window = unit->length});
  return quota ? std::optional(*quota) : std::nullopt;
}

Unit unit_of(Duration window) {
  const auto unit = std::ranges::find(kUnits, window, &UnitLength::length);
  return unit == kUnits.end() ? Response::RateLimit::UNKNOWN : unit->unit;
}

Unit unit_of(const Quota& quota) {
  constexpr std::size_t kDays = 3;
  if (!quota.is_by_calendar()) return unit_of(quota.window());
  return kUnits[kDays + static_cast<std::size_t>(quota.calendar_unit())].unit;
}

std::string_view joined_entries(std::span<const NameValue> entries, std::string& scratch) {
  scratch.clear();
  for (const NameValue& entry : entries) {
    append_with_length(scratch, entry.name);
    append_with_length(scratch, entry.value);
  }
  return scratch;
}

std::int64_t seconds_until_reset(const Quota& quota, const Decision& decision, Instant now) {
  Duration wait = decision.allowed() ? decision.reset_after : decision.retry_after;
  if (decision.verdict == Verdict::kNever) wait = quota.window();
  if (quota.algorithm() == Algorithm::kFixedWindow) {
    const std::int64_t window_us = quota.window().count();
    const std::int64_t now_us = std::max<std::int64_t>(epoch_us(now), 0);
    const Duration end(algo::window_start(window_us, now_us) + window_us - now_us);
    const bool is_denied = decision.verdict == Verdict::kDenied;  // perhaps by a block, for longer
    wait = is_denied ? std::max(end, decision.retry_after) : end;
  }
  return std::max<std::int64_t>(whole_seconds(wait), 1);
}

}  // namespace weir::rls
