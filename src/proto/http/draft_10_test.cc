// The header fields of every algorithm follow draft 10, whatever happens to a key: a client that
// waits `t` then has more than `r`, and not a second earlier.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "algo/testing/any_key.h"
#include "algo/testing/random_life.h"
#include "proto/http/rate_limit_headers.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using algo::testing::AnyKey;

// Read by RapidCheck on first use.
[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=500", 0);

// The fields that a client reads.
struct Told {
  std::int64_t r = 0;
  std::int64_t q = 0;
  std::optional<std::int64_t> t;
  std::optional<std::int64_t> retry_after;
};

std::optional<std::int64_t> number_after(const std::string& text, const std::string& name) {
  const auto at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  return std::stoll(text.substr(at + name.size()));
}

Told told(const Quota& quota, const Decision& decision) {
  PolicyTexts texts;
  const RateLimit limit{.policy = policy_of("a", quota), .decision = decision, .texts = &texts};
  std::vector<char> memory(rate_limit_headers_max(limit));
  TextWriter writer(memory.data(), memory.size());
  write_rate_limit_headers(writer, limit);
  const std::string text(memory.data(), writer.end());
  return {.r = number_after(text, ";r=").value(),
          .q = number_after(text, ";q=").value(),
          .t = number_after(text, ";t="),
          .retry_after = number_after(text, "Retry-After: ")};
}

void obeys_draft_10(const AnyKey& key, const Quota& quota, const Decision& decision, Instant now) {
  const auto left_after = [&](Duration wait) {
    return key.look(quota, 0, now + std::max(Duration{0}, wait)).remaining;
  };
  const Told fields = told(quota, decision);
  RC_ASSERT(fields.r == left_after(Duration{0}));
  RC_ASSERT(fields.q >= fields.r);
  RC_ASSERT(fields.retry_after.has_value() == (decision.verdict == Verdict::kDenied));
  if (!fields.t) {
    const bool no_more_comes = fields.r == quota.capacity() || quota.limit() == 0;
    RC_ASSERT(no_more_comes || decision.verdict == Verdict::kNever);
    return;
  }
  const std::chrono::seconds t{*fields.t};
  RC_ASSERT(left_after(t) > fields.r);
  // A bucket whose units take no whole number of microseconds may say a wait one too long.
  const Duration grain{quota.active() == Algorithm::kTokenBucket ? 1 : 0};
  RC_ASSERT(t == 1s || left_after(t - 1s - grain) == fields.r);
  RC_ASSERT(fields.retry_after.value_or(*fields.t) >= *fields.t);
}

TEST(Draft10, ClientsThatWaitHaveMoreAndNotASecondEarlier) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const bool holds = rc::check("in any life", [algorithm] {
      const Quota quota = algo::testing::any_quota(algorithm);
      AnyKey key(algorithm);
      Instant now = algo::testing::kStart;
      for (const auto& move : algo::testing::any_life()) {
        now += step_of(quota, move);
        const std::int64_t cost = cost_of(quota, move);
        const bool always = move.step_permille % 5 == 0;
        obeys_draft_10(key, quota,
                       always ? key.charge(quota, cost, now) : key.decide(quota, cost, now), now);
      }
    });
    EXPECT_TRUE(holds) << algorithm_name(algorithm);
  }
}

}  // namespace
}  // namespace weir
