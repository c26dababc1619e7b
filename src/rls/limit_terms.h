// The protocol's terms in ours, and back: hits, units, inline limits, resets.
//
// Thread rule: pure functions. Tested by limit_terms_test.cc.

#pragma once

#include <envoy/service/ratelimit/v3/rls.pb.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rules/request/request.h"
#include "weir/decision.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir::rls {

using Unit = envoy::service::ratelimit::v3::RateLimitResponse::RateLimit::Unit;
using AskedDescriptor = envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;

// The descriptor's own hits if it says some (0 looks), else the request's, of which 0 is
// 1. Negative hits give back. Beyond what a quota can hold all numbers are alike.
std::int64_t cost_of(const AskedDescriptor& descriptor, std::uint32_t request_hits);

// A fixed window. None if the unit is unknown.
std::optional<Quota> inline_quota(const AskedDescriptor::RateLimitOverride& limit);

// The unit that is as long as the window; UNKNOWN if there is none. A month has 30 days,
// a year 365.
Unit unit_of(Duration window);
// The same. A window of a calendar has the unit that it is named by.
Unit unit_of(const Quota& quota);

// Each key and value is preceded by its length, so that no two lists are alike. A view
// of `scratch`, which is reused.
std::string_view joined_entries(std::span<const NameValue> entries, std::string& scratch);

// Whole seconds, at least one: when a denied request fits, or the quota is whole again.
// For a fixed window: until it ends.
std::int64_t seconds_until_reset(const Quota& quota, const Decision& decision, Instant now);

}  // namespace weir::rls
