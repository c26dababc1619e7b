#include "replay/exact_logs.h"

#include <algorithm>

namespace weir::lab {
namespace {

constexpr std::size_t kBlocksRemembered = 64;  // as the engine does

std::int64_t used_in(const RingView& log, Duration window, Instant now) {
  const std::int64_t gone_us = epoch_us(now - window);
  if (log.size() == 0 || log[0].at_us > gone_us) return log.total();
  std::int64_t used = 0;
  for (std::size_t i = log.size(); i > 0 && log[i - 1].at_us > gone_us; --i) {
    used += log[i - 1].units;
  }
  return used;
}

bool is_counted(Answer::Cause cause) {
  using enum Answer::Cause;
  return cause == kCounted || cause == kBlocked || cause == kUnderWay;
}

// Notes an event among at most `most` of the last `time`. Returns how many there are.
std::size_t note(std::vector<Instant>& events, std::size_t most, Duration time, Instant now) {
  std::erase_if(events, [&](Instant event) { return event <= now - time; });
  if (events.size() < most) events.push_back(now);
  return events.size();
}

}  // namespace

ExactLogs::~ExactLogs() {
  for (std::uint32_t key = 0; key < keys_; ++key) view(key).clear();
}

void ExactLogs::decide(const Asks& asks, Keys keys, Instant now) {
  asked_.clear();
  bool is_denied = false;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    asked_.push_back(keys[i] && is_counted(asks.answer(i).cause)
                         ? judge(asks.ask(i), *keys[i], now)
                         : Asked{.is_over = asks.answer(i).over, .is_apart = true});
    is_denied = is_denied || (asked_.back().is_over && !asks.ask(i).is_shadow());
  }
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const Asked& asked = asked_[i];
    if (!asked.is_over && !asked.is_apart && !is_denied) enter(*keys[i], asks.ask(i).cost, now);
    if (asked.is_over && asked.is_limited) block(asks.ask(i), *keys[i], now);
  }
}

ExactLogs::Asked ExactLogs::judge(const Ask& ask, std::uint32_t key, Instant now) {
  keys_ = std::max(keys_, key + std::size_t{1});
  if (is_blocked(key, now)) return {.is_over = true, .is_apart = true};
  const std::span<const Quota> limits = ask.rule->limits_for(ask.key, ask.tier);
  Log& log = logs_[key];
  for (const Quota& limit : limits) log.window = std::max(log.window, limit.window());
  drop_gone(log, now);
  const Operation own = ask.own_operation();
  std::int64_t cost = ask.cost;
  if (own == Operation::kCharge) {
    owe(limits, key, cost, now);
    cost = 0;
  } else if (ask.under_way > 0) {
    cost = std::max(cost, std::min(ask.rule->response->reserved, limits.front().limit()));
  }
  return {.is_over = !fits(limits, key, cost, now),
          .is_limited = true,
          .is_apart = own != Operation::kSpendEach};
}

bool ExactLogs::is_blocked(std::uint32_t key, Instant now) const {
  if (blocks_.empty()) return false;
  const auto found = blocks_.find(key);
  return found != blocks_.end() && found->second.until > now;
}

bool ExactLogs::fits(std::span<const Quota> limits, std::uint32_t key, std::int64_t cost,
                     Instant now) {
  const RingView log = view(key);
  return std::ranges::all_of(limits, [&](const Quota& limit) {
    return used_in(log, limit.window(), now) + cost <= limit.limit();
  });
}

void ExactLogs::drop_gone(Log& log, Instant now) {
  RingView times(log.ring, budget_);
  const std::int64_t gone_us = epoch_us(now - log.window);
  while (times.size() > 0 && times[0].at_us <= gone_us) times.pop_front();
}

// For twice the log's times, as a ring grows. Keys that do not come again give theirs back.
bool ExactLogs::has_room(const RingView& log) {
  return budget_.entries + 2 * log.size() + 4 <= kEntriesMax;
}

void ExactLogs::enter(std::uint32_t key, std::int64_t cost, Instant now) {
  RingView log = view(key);
  ++entered_;
  if (!has_room(log)) {
    if (entered_ > sweep_after_) {
      for (std::size_t each = 0; each < keys_; ++each) drop_gone(logs_[each], now);
      sweep_after_ = entered_ + keys_;
    }
    if (!has_room(log)) ++short_;
  }
  log.push_back({.at_us = epoch_us(now), .units = cost});
}

void ExactLogs::owe(std::span<const Quota> limits, std::uint32_t key, std::int64_t cost,
                    Instant now) {
  for (const Quota& limit : limits) {
    cost = std::min(cost, 2 * limit.limit() - used_in(view(key), limit.window(), now));
  }
  if (cost > 0) enter(key, cost, now);
}

void ExactLogs::charge(const Ask& looked, std::optional<std::uint32_t> key, std::int64_t cost,
                       Instant now) {
  if (!key) return;
  const std::span<const Quota> limits = looked.rule->limits_for(looked.key, looked.tier);
  owe(limits, *key, cost, now);
  if (!fits(limits, *key, 0, now)) block(looked, *key, now);
}

// Blocks as the engine does (engine/asks/conclude.cc).
void ExactLogs::block(const Ask& ask, std::uint32_t key, Instant now) {
  const Denial& denial = ask.rule->denial;
  if (denial.blocks.empty() || ask.is_shadow() || ask.cost <= 0) return;
  Blocks& blocks = blocks_[key];
  const auto most = static_cast<std::size_t>(denial.block_after);
  if (most > 1 && note(blocks.denials, most, denial.block_window, now) < most) return;
  const std::size_t nth = note(blocks.blocks, kBlocksRemembered, denial.block_memory, now);
  blocks.until = now + denial.blocks[std::min(nth, denial.blocks.size()) - 1];
}

}  // namespace weir::lab
