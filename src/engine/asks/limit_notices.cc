#include "engine/asks/limit_notices.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "base/if_memory.h"
#include "engine/asks/settle.h"
#include "observe/denials.h"

namespace weir {
namespace {

// The most notices that wait for somebody to take them.
constexpr std::size_t kWaitingMax = 10 * LimitNotices::kNoticesMax;
// The part of a word that holds milliseconds: 34 years of them.
constexpr std::uint64_t kUntilMask = (std::uint64_t{1} << 40) - 1;

std::uint64_t mixed(std::uint64_t name) { return name * 0x9E3779B97F4A7C15; }

// How much of the limit the key has used. A denied key has used all, even if its cost leaves
// something, and a limit of 0 is always used up.
std::int64_t percent_used(const Decision& decision) {
  if (decision.is_store_full) return 0;
  if (decision.limit <= 0) return 100;
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
    const std::uint64_t name = item.hashes[limit].low + percent;
    const auto [claimed, word] = claim(name, until, now);
    if (claimed == Claim::kIsKnown) continue;
    bool is_kept = false;
    if (claimed == Claim::kIsNew) {
      const bool is_shown = texts_ == KeyTexts::kShown;
      has_memory_for([&] {
        is_kept =
            add({.rule = item.ask.rule->id,
                 .key_hash = item.hashes.front().low,
                 .key = std::string(
                     is_shown ? CoreDenials::kept(stored_key(*item.ask.rule, item.ask.key)) : ""),
                 .percent = percent,
                 .used = decision.limit - decision.remaining,
                 .limit = decision.limit,
                 .quota = quota,
                 .at = now,
                 .until = until,
                 .counter = item.hashes[limit]},
                item.mode, now);
      });
      // The notice may come again in the next span.
      if (!is_kept) word->store(word_of(name, std::min(until, now + kSpan), now));
    }
    if (!is_kept) left_out_.fetch_add(1, std::memory_order_relaxed);
  }
}

// 24 bits of the name, and the millisecond since the start when the word is free again: not before
// `until`.
std::uint64_t LimitNotices::word_of(std::uint64_t name, Instant until, Instant now) const {
  const std::int64_t free_ms =
      std::chrono::ceil<std::chrono::milliseconds>(until - started_).count();
  const auto kept_ms = std::clamp<std::int64_t>(free_ms, milliseconds(now) + 1, kUntilMask);
  return (mixed(name) & ~kUntilMask) | static_cast<std::uint64_t>(kept_ms);
}

// The milliseconds since the start.
std::int64_t LimitNotices::milliseconds(Instant now) const {
  const auto passed = std::chrono::floor<std::chrono::milliseconds>(now - started_).count();
  return std::clamp<std::int64_t>(passed, 0, kUntilMask - 1);
}

// A name takes the first free word of a few. So cores that see the same at once want the same
// word, and one of them gets it.
LimitNotices::Claimed LimitNotices::claim(std::uint64_t name, Instant until, Instant now) {
  const std::uint64_t word = word_of(name, until, now);
  const auto passed = static_cast<std::uint64_t>(milliseconds(now));
  const std::span ways(&words_[mixed(name) % (kWords / kWays) * kWays], kWays);
  for (std::size_t attempt = 0; attempt < kWays; ++attempt) {
    Word* free = nullptr;
    std::uint64_t was = 0;
    for (Word& way : ways) {
      const std::uint64_t there = way.load(std::memory_order_relaxed);
      if ((there & kUntilMask) <= passed) {
        if (free == nullptr) was = there;
        if (free == nullptr) free = &way;
      } else if ((there & ~kUntilMask) == (word & ~kUntilMask)) {
        return {Claim::kIsKnown};
      }
    }
    if (free == nullptr) break;
    if (free->compare_exchange_strong(was, word, std::memory_order_relaxed)) {
      return {Claim::kIsNew, free};
    }
  }
  return {Claim::kNoRoom};
}

bool LimitNotices::add(LimitNotice notice, Mode mode, Instant now) {
  const std::scoped_lock lock(mutex_);
  if (now >= span_end_) {
    span_end_ = now + kSpan;
    in_span_ = 0;
  }
  const bool has_room = in_span_ < kNoticesMax && own_.size() + shared_.size() < kWaitingMax;
  if (!has_room) return false;
  (mode == Mode::kLocal ? own_ : shared_).push_back(std::move(notice));
  in_span_ += 1;
  return true;
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
