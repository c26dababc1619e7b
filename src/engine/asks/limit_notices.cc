#include "engine/asks/limit_notices.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "base/if_memory.h"
#include "observe/denials.h"

namespace weir {
namespace {

// Of those that nobody has taken.
constexpr std::size_t kWaitingMax = 10 * LimitNotices::kNoticesMax;

// Of the limit. A key that has to wait has used what there is, whatever its cost leaves of it.
std::int64_t percent_used(const Decision& decision) {
  if (decision.is_store_full || decision.limit <= 0) return 0;
  if (decision.verdict == Verdict::kDenied) return 100;
  return 100 * (decision.limit - decision.remaining) / decision.limit;
}

// All units of a fixed window come back at its end.
Instant window_end(const Quota& quota, const Decision& decision, Instant now) {
  return now + (quota.is_fixed() ? std::min(decision.reset_after, quota.window()) : quota.window());
}

}  // namespace

void LimitNotices::look(const Round& round, Instant now) noexcept {
  if (!spends(round.operation())) return;
  for (const auto& each : round.items()) {
    const Round::Item& item = *each;
    if (item.ask.rule == nullptr || item.ask.rule->notify_at.front() == 0) continue;
    if (item.answer.cause != Answer::Cause::kCounted || item.answer.is_alone) continue;
    const bool is_decided = item.limits.size() == 1 || item.decisions.size() == item.limits.size();
    if (!is_decided || item.own == Operation::kLook) continue;
    for (std::size_t limit = 0; limit < item.limits.size(); ++limit) look_at(item, limit, now);
  }
}

void LimitNotices::look_at(const Round::Item& item, std::size_t limit, Instant now) {
  const bool is_only = item.limits.size() == 1;
  const Decision& decision = is_only ? item.answer.decision : item.decisions[limit];
  const std::int64_t used = percent_used(decision);
  const Quota& quota = item.limits[limit];
  for (const std::uint8_t percent : item.ask.rule->notify_at) {
    if (percent == 0 || percent > used) return;
    const Instant until = window_end(quota, decision, now);
    const Claim claimed = claim(item.hashes[limit].low + percent, until, now);
    if (claimed == Claim::kIsKnown) continue;
    const bool is_kept = claimed == Claim::kIsNew && has_memory_for([&] {
                           const bool is_shown = texts_ == KeyTexts::kShown;
                           add({.rule = item.ask.rule->id,
                                .key_hash = item.hashes.front().low,
                                .key = std::string(is_shown ? CoreDenials::kept(item.ask.key) : ""),
                                .percent = percent,
                                .used = decision.limit - decision.remaining,
                                .limit = decision.limit,
                                .quota = quota,
                                .at = now,
                                .until = until,
                                .counter = item.hashes[limit]},
                               item.mode, now);
                         });
    if (!is_kept) left_out_.fetch_add(1, std::memory_order_relaxed);
  }
}

// A name has the first free place among a few, so cores that see the same at once want the same
// place, and one gets it.
LimitNotices::Claim LimitNotices::claim(std::uint64_t name, Instant until, Instant now) {
  constexpr std::uint64_t kUntilMask = (std::uint64_t{1} << kUntilBits) - 1;
  const auto since_start = [this](Instant then) {
    const auto elapsed = std::chrono::ceil<std::chrono::milliseconds>(then - started_).count();
    return static_cast<std::uint64_t>(std::clamp<std::int64_t>(elapsed, 0, kUntilMask));
  };
  const std::uint64_t mixed = name * 0x9E3779B97F4A7C15;
  const std::uint64_t word =
      (mixed & ~kUntilMask) | std::max(since_start(until), since_start(now) + 1);
  const std::span ways(&places_[mixed % (kPlaces / kWays) * kWays], kWays);
  for (std::size_t attempt = 0; attempt < kWays; ++attempt) {
    std::atomic<std::uint64_t>* free = nullptr;
    std::uint64_t was = 0;
    for (auto& way : ways) {
      const std::uint64_t there = way.load(std::memory_order_relaxed);
      if ((there & kUntilMask) <= since_start(now)) {
        if (free == nullptr) was = there;
        if (free == nullptr) free = &way;
      } else if ((there & ~kUntilMask) == (mixed & ~kUntilMask)) {
        return Claim::kIsKnown;
      }
    }
    if (free == nullptr) break;
    if (free->compare_exchange_strong(was, word, std::memory_order_relaxed)) return Claim::kIsNew;
  }
  return Claim::kNoRoom;
}

void LimitNotices::add(LimitNotice notice, Mode mode, Instant now) {
  const std::scoped_lock lock(mutex_);
  if (now >= span_end_) {
    span_end_ = now + kSpan;
    in_span_ = 0;
  }
  const bool has_room = in_span_ < kNoticesMax && own_.size() + shared_.size() < kWaitingMax;
  if (!has_room) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  (mode == Mode::kLocal ? own_ : shared_).push_back(std::move(notice));
  in_span_ += 1;
}

LimitNotices::Told LimitNotices::take(Instant now) {
  const std::scoped_lock lock(mutex_);
  Told told{.at = now, .notices = std::exchange(own_, {})};
  if (now < span_end_ || left_out_.load(std::memory_order_relaxed) == 0) return told;
  told.left_out = left_out_.exchange(0, std::memory_order_relaxed);
  span_end_ = now + kSpan;
  in_span_ = 0;
  return told;
}

bool LimitNotices::has_shared() const {
  const std::scoped_lock lock(mutex_);
  return !shared_.empty();
}

std::vector<LimitNotice> LimitNotices::take_shared(std::size_t most) {
  const std::scoped_lock lock(mutex_);
  const auto end = shared_.begin() + static_cast<std::ptrdiff_t>(std::min(most, shared_.size()));
  auto taken = std::vector(std::move_iterator(shared_.begin()), std::move_iterator(end));
  shared_.erase(shared_.begin(), end);
  return taken;
}

void LimitNotices::tell(LimitNotice notice) {
  const std::scoped_lock lock(mutex_);
  own_.push_back(std::move(notice));
}

}  // namespace weir
