// Sliding log: keeps the times at which units were spent, and approximates nothing.
//
// Admits `limit` units in any window's length, exactly. The price is memory: one entry
// for each microsecond in which something was spent, up to `limit` of them.
//
//      now - W                                    now
//   ──────┼───────●────●──●─────────────●──●───────┼────► time     allowed: the units of
//   gone  |<──────── these units count ───────────>|               the dots + cost <= limit
//
//   remaining  limit - units in (now - W, now]
//   retry      when enough of the oldest have gone
//   more       when the oldest has gone, but for what is owed beyond the limit
//   reset      when the newest has gone
//
// Unlike the other algorithms this one changes its state in place, because copying it would cost
// too much. The state is any TimeLog; the store supplies it.
//
// A charge is recorded at max(now, newest time), so the log stays sorted when clocks
// disagree. If the newest time is more than a window ahead of `now`, a mistaken clock wrote it.
// Then all times after `now` are moved to `now`, where they count a whole window.
//
// Giving back takes units from the oldest entries. The units that stay are those that count
// longest, so giving back never admits too much. undo() takes units from one entry instead, as if
// the charge had never been.
//
// Thread rule: pure but for the log; one thread at a time on a log.
// Cost: constant, except for entries that have gone (once each). A denial walks over the entries
// that must go before it fits, at most `cost` of them while limits stay. Tested by
// sliding_log_test.cc, small_worlds_test.cc, properties_test.cc.

#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "algo/step.h"
#include "weir/quota.h"

namespace weir::algo {

struct LogEntry {
  std::int64_t at_us = 0;
  std::int64_t units = 0;  // > 0, or 0 where undo() took all of them

  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

// A sequence of entries, oldest first; several may have the same time. An empty sequence is a key
// that was never seen. A log without room may merge old entries into later ones in push_back():
// total() counts all units, so none is ever forgotten.
template <typename Log>
concept TimeLog = requires(Log& log, const Log& view, std::size_t index, LogEntry entry) {
  { view.size() } -> std::convertible_to<std::size_t>;
  { view[index] } -> std::convertible_to<LogEntry>;
  { view.total() } -> std::convertible_to<std::int64_t>;  // sum of all units
  log.pop_front();
  log.push_back(entry);   // REQUIRES: entry is not older than the newest
  log.set(index, entry);  // replaces an entry, keeping the order
};

// The time from which the key is as if never seen. Instant{} if it holds nothing.
template <TimeLog Log>
Instant expiry(const Quota& quota, const Log& log) noexcept {
  for (std::size_t i = log.size(); i > 0; --i) {
    const LogEntry entry = log[i - 1];
    if (entry.units > 0) return instant_from_epoch_us(entry.at_us) + quota.window();
  }
  return Instant{};
}

// Whether a mistaken clock wrote the newest entry.
template <TimeLog Log>
bool is_from_future(const Quota& quota, const Log& log, Instant now) noexcept {
  return log.size() > 0 && log[log.size() - 1].at_us > epoch_us(now) + quota.window().count();
}

template <TimeLog Log>
void drop_gone(const Quota& quota, Log& log, Instant now) noexcept {
  const std::int64_t gone_us = epoch_us(now) - quota.window().count();
  while (log.size() > 0 && (log[0].at_us <= gone_us || log[0].units == 0)) log.pop_front();
}

template <TimeLog Log>
void move_to(Log& log, Instant now) noexcept {
  for (std::size_t i = log.size(); i > 0 && log[i - 1].at_us > epoch_us(now); --i) {
    log.set(i - 1, {epoch_us(now), log[i - 1].units});
  }
}

// How long an entry with that time will still count.
template <TimeLog Log>
Duration counts_for(const Quota& quota, const Log& log, std::int64_t at_us, Instant now) noexcept {
  if (is_from_future(quota, log, now)) at_us = std::min(at_us, epoch_us(now));
  return instant_from_epoch_us(at_us) + quota.window() - now;
}

// The entry that must go so that `excess` fewer units count. `first` is the oldest that counts.
// REQUIRES: excess > 0, and the entries from `first` on hold that many units
template <TimeLog Log>
LogEntry entry_in_the_way(const Log& log, std::size_t first, std::int64_t excess) noexcept {
  for (; excess > log[first].units; ++first) excess -= log[first].units;
  return log[first];
}

// The time with which a charge at `now` is recorded.
template <TimeLog Log>
std::int64_t recorded_at_us(const Quota& quota, const Log& log, Instant now) noexcept {
  if (log.size() == 0 || is_from_future(quota, log, now)) return epoch_us(now);
  return std::max(epoch_us(now), log[log.size() - 1].at_us);
}

// Answers as decide() would, and changes nothing.
// REQUIRES: cost >= 0
template <TimeLog Log>
Decision look(const Quota& quota, const Log& log, std::int64_t cost, Instant now) noexcept {
  const std::int64_t gone_us = epoch_us(now) - quota.window().count();
  std::size_t first = 0;
  std::int64_t used = log.total();
  for (; first < log.size() && log[first].at_us <= gone_us; ++first) used -= log[first].units;

  const std::int64_t held = used;
  Decision decision;
  decision.limit = quota.limit();
  if (used > 0) {
    const std::int64_t newest_us = epoch_us(expiry(quota, log) - quota.window());
    decision.reset_after = counts_for(quota, log, newest_us, now);
  }
  if (cost > quota.limit()) {
    decision.verdict = Verdict::kNever;
  } else if (const std::int64_t excess = used + cost - quota.limit(); excess > 0) {
    decision.verdict = Verdict::kDenied;
    const LogEntry entry = entry_in_the_way(log, first, excess);
    decision.retry_after = counts_for(quota, log, entry.at_us, now);
  } else if (cost > 0) {
    used += cost;
    decision.reset_after = counts_for(quota, log, recorded_at_us(quota, log, now), now);
  }
  decision.remaining = std::max<std::int64_t>(0, quota.limit() - used);
  if (decision.remaining == quota.limit()) return decision;
  decision.more_after = decision.reset_after;  // that of the first charge
  if (held > 0) {
    const std::int64_t excess = used + decision.remaining + 1 - quota.limit();
    const LogEntry entry = entry_in_the_way(log, first, excess);
    decision.more_after = counts_for(quota, log, entry.at_us, now);
  }
  return decision;
}

// Removes `units` from the entry at exactly `at_us`, if it is still there.
template <TimeLog Log>
void undo(Log& log, std::int64_t units, std::int64_t at_us) noexcept {
  std::size_t end = log.size();  // one past the newest entry that is not later than at_us
  for (std::size_t begin = 0; begin < end;) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (log[middle].at_us > at_us) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  for (; units > 0 && end > 0 && log[end - 1].at_us == at_us; --end) {
    const LogEntry entry = log[end - 1];
    const std::int64_t taken = std::min(units, entry.units);
    log.set(end - 1, {at_us, entry.units - taken});
    units -= taken;
  }
}

// Gives back up to `units`, from the oldest entries first.
template <TimeLog Log>
Decision give_back(const Quota& quota, Log& log, std::int64_t units, Instant now) noexcept {
  drop_gone(quota, log, now);
  while (units > 0 && log.size() > 0) {
    const LogEntry oldest = log[0];
    if (oldest.units > units) {
      log.set(0, {oldest.at_us, oldest.units - units});
      break;
    }
    units -= oldest.units;
    log.pop_front();
  }
  Decision decision = look(quota, log, 0, now);
  decision.verdict = Verdict::kAllowed;
  decision.retry_after = Duration{0};
  return decision;
}

// Adds to the newest entry if it has the same time, or if undo() emptied it.
// REQUIRES: entry is not older than the newest
template <TimeLog Log>
void record(Log& log, LogEntry entry) noexcept {
  if (log.size() > 0) {
    const LogEntry newest = log[log.size() - 1];
    if (newest.at_us == entry.at_us || newest.units == 0) {
      log.set(log.size() - 1, {entry.at_us, newest.units + entry.units});
      return;
    }
  }
  log.push_back(entry);
}

// Decides one request; step.h has the rules that all algorithms share.
template <TimeLog Log>
Decision decide(const Quota& quota, Log& log, std::int64_t cost, Instant now) noexcept {
  if (cost < 0) return give_back(quota, log, -cost, now);

  const Decision decision = look(quota, log, cost, now);
  drop_gone(quota, log, now);
  if (cost == 0 || decision.verdict == Verdict::kNever) return decision;

  if (is_from_future(quota, log, now)) move_to(log, now);
  if (decision.allowed()) record(log, {recorded_at_us(quota, log, now), cost});
  return decision;
}

// Charges though it may not fit: step.h.
template <TimeLog Log>
Decision charge(const Quota& quota, Log& log, std::int64_t cost, Instant now) noexcept {
  if (!is_charge(quota, cost)) return decide(quota, log, cost, now);
  drop_gone(quota, log, now);
  if (is_from_future(quota, log, now)) move_to(log, now);  // as a denial does
  const std::int64_t units = units_to_charge(quota, cost, log.total());
  if (units > 0) record(log, {recorded_at_us(quota, log, now), units});
  return look(quota, log, 0, now);
}

}  // namespace weir::algo
