#include "store/memory/fine_counts.h"

#include <cstring>

#include "store/memory/with_state.h"

namespace weir {

using algo::SlidingWindowState;
using Count = algo::EvenPast::Count;

void FinePlace::take(const Quota& quota, const SlidingWindowState& state, Instant now) {
  has_news_ = true;
  limit_ = quota.limit();
  const auto most = static_cast<std::uint64_t>(2 * quota.limit());
  shift_ = static_cast<std::uint8_t>(std::max(0, static_cast<int>(std::bit_width(most)) - 16));
  start_us_ = state.start_us;
  void_us_ = start_us_ + 2 * quota.window().count();
  at_ = static_cast<std::uint16_t>(std::clamp<std::int64_t>(
      (epoch_us(now) - start_us_) * kCounts / quota.window().count(), 0, kCounts - 1));
  spread(state);
}

// Spreads units as evenly as possible: the current window's over the part that has passed.
void FinePlace::spread(const SlidingWindowState& state) {
  const std::int64_t previous = std::min(state.previous >> shift_, std::int64_t{0xffff} * kCounts);
  const std::int64_t current = std::min(state.current >> shift_, std::int64_t{0xffff} * (at_ + 1));
  const auto count_of = [](std::int64_t all, std::int64_t at, std::int64_t parts) {
    return static_cast<std::int32_t>(all * (at + 1) / parts - all * at / parts);
  };
  rest_ = 0;
  for (std::int64_t at = 0; at < kCounts; ++at) {
    const std::int32_t count =
        at <= at_ ? count_of(current, at, at_ + 1) : count_of(previous, at, kCounts);
    if (at > at_) rest_ += count;
    counts_[static_cast<std::size_t>(at)] = static_cast<std::uint16_t>(count);
  }
  leaving_ = count_of(previous, at_, kCounts);
  counted_ = static_cast<std::int32_t>(current);
}

void FinePlace::touch(const Quota& quota, const SlidingWindowState& state, Instant now) {
  const std::int64_t window_us = quota.window().count();
  const bool is_next = state.start_us == start_us_ + window_us;
  if (limit_ != quota.limit() || (state.start_us != start_us_ && !is_next)) {
    return take(quota, state, now);
  }
  if (is_next) {
    roll(state);
    void_us_ += window_us;
  }
  const std::int64_t at = (epoch_us(now) - start_us_) * kCounts / window_us;
  if (at + 1 < at_) return take(quota, state, now);  // the clock has stepped back
  has_news_ = has_news_ || at_ < at;
  while (at_ < at) {
    std::uint16_t& count = counts_[++at_];
    leaving_ = count;
    rest_ -= count;
    count = 0;
  }
  note(state.current);
}

// Makes the current window the previous one.
void FinePlace::roll(const SlidingWindowState& state) {
  has_news_ = true;
  std::fill(counts_.begin() + at_ + 1, counts_.end(), std::uint16_t{0});
  at_ = kCounts - 1;
  note(state.previous);  // late, if the place has not seen these units
  start_us_ = state.start_us;
  at_ = 0;
  leaving_ = counts_[0];
  rest_ = counted_ - leaving_;
  counted_ = 0;
  counts_[0] = 0;
}

void FinePlace::add(std::int64_t count) {
  const auto change = [this](std::int64_t at, std::int64_t least_or_most) {
    std::uint16_t& there = counts_[static_cast<std::size_t>(at)];
    const std::int64_t after = std::clamp<std::int64_t>(there + least_or_most, 0, 0xffff);
    const std::int64_t done = after - there;
    there = static_cast<std::uint16_t>(after);
    counted_ += static_cast<std::int32_t>(done);
    return done;
  };
  if (count > 0) change(at_, count);
  if (count < 0) has_news_ = true;
  for (std::int64_t at = at_; at >= 0 && count < 0; --at) count -= change(at, count);
}

std::int64_t FinePlace::faded_at_us(const Quota& quota, const SlidingWindowState& state,
                                    Count count, std::int64_t least) const {
  const std::int64_t window_us = quota.window().count();
  const bool is_previous = count == Count::kPrevious;
  if (is_previous && least >= state.previous) return 0;
  // Passes counts until no more than `units` are left.
  std::int64_t left = is_previous ? units(rest_ + leaving_) : state.current;
  const std::int64_t first = is_previous ? at_ : 0;
  const std::int64_t last = is_previous ? kCounts - 1 : at_;
  const std::int64_t origin_us = is_previous ? 0 : window_us;
  for (std::int64_t at = first; at <= last; ++at) {
    std::int64_t here = units(counts_[static_cast<std::size_t>(at)]);
    if (is_previous && at == at_) here = units(leaving_);
    if (!is_previous && at == at_) here = left;  // units not entered yet, or rounded
    left -= here;
    if (left > least) continue;
    const std::int64_t begin = begin_us(window_us, at);
    return origin_us + begin +
           algo::faded_at_us(begin_us(window_us, at + 1) - begin, here, least - left);
  }
  return origin_us + window_us;
}

// The first count from `at` on that has units, or `end`. Looks at four at a time.
std::int64_t FinePlace::first_from(std::int64_t at, std::int64_t end) const {
  const auto are_empty = [this](std::int64_t first) {
    std::uint64_t four = 0;
    std::memcpy(&four, &counts_[static_cast<std::size_t>(first)], sizeof(four));
    return four == 0;
  };
  while (at + 4 <= end && are_empty(at)) at += 4;
  while (at < end && counts_[static_cast<std::size_t>(at)] == 0) ++at;
  return at;
}

FineFading FinePlace::fading(const Quota& quota) const {
  if (leaving_ > 0) return fading_of(quota, at_, leaving_);
  const std::int64_t at = rest_ > 0 ? first_from(at_ + 1, kCounts - 1) : first_from(0, at_);
  return fading_of(quota, at, at != at_ ? counts_[static_cast<std::size_t>(at)] : 0);
}

// How `count` units of the count `at` fade, before all younger ones.
FineFading FinePlace::fading_of(const Quota& quota, std::int64_t at, std::int64_t count) const {
  const std::int64_t window_us = quota.window().count();
  const std::int64_t previous = rest_ + leaving_;
  const std::int64_t end_us = begin_us(window_us, at + 1);
  return {.until_us = start_us_ + begin_us(window_us, at_ + 1),
          .later = units(previous - count),
          .fading = units(count),
          .faded_us = start_us_ + end_us + (previous > 0 ? 0 : window_us),
          .length_us = end_us - begin_us(window_us, at)};
}

std::size_t FineCounts::Set::find(const KeyHash& key, const Quota& quota,
                                  const SlidingWindowState& state, Instant now) noexcept {
  for (std::size_t at = 0; at < kSetPlaces; ++at) {
    if (!faces[at].is_of(key)) continue;
    places[at].enter(faces[at].left());
    return at;
  }
  std::size_t least = 0;
  for (std::size_t at = 0; at < kSetPlaces; ++at) {
    places[at].enter(faces[at].left());
    if (places[at].is_void(now)) {
      least = at;
      break;
    }
    if (places[at].share() < places[least].share()) least = at;
  }
  const auto share = FinePlace::share_of(quota.limit(), state.previous + state.current);
  if (!places[least].is_void(now) && places[least].share() >= share) return kSetPlaces;
  places[least].take(quota, state, now);
  return least;
}

template <typename Decide>
FineCounts::Glance FineCounts::with_past(const Charge& charge, const SlidingWindowState& state,
                                         Instant now, Decide decide) noexcept {
  Glance glance;
  Set& set = set_of(charge.key);
  set.mutex.lock();
  const std::size_t at = set.find(charge.key, *charge.quota, state, now);
  if (at == kSetPlaces) {
    decide(algo::EvenPast{});
  } else {
    FinePlace& place = set.places[at];
    FineFace& face = set.faces[at];
    place.touch(*charge.quota, state, now);
    const std::int64_t current = decide(Past{&place});
    if (current >= 0) place.note(current);
    if (place.take_news()) face.say(charge.key, place.fading(*charge.quota));
    glance = {&face, face.version(), face.said()};
  }
  set.mutex.unlock();
  return glance;
}

[[gnu::noinline]] FineCounts::Glance FineCounts::bring(const Charge& charge,
                                                       const SlidingWindowState& state,
                                                       Instant now) noexcept {
  return with_past(charge, state, now, [](auto) { return std::int64_t{-1}; });
}

algo::Step<SlidingWindowState> FineCounts::decide(const Charge& charge,
                                                  const SlidingWindowState& state,
                                                  Instant now) noexcept {
  const SlidingWindowState rolled = algo::roll(*charge.quota, state, now);
  if (!is_near(*charge.quota, rolled, std::max<std::int64_t>(0, charge.cost))) {
    return algo::decide(*charge.quota, state, charge.cost, now);
  }
  algo::Step<SlidingWindowState> step;
  with_past(charge, rolled, now, [&](auto past) {
    step = algo::decide(*charge.quota, state, charge.cost, now, past);
    return step.changed ? step.state.current : -1;
  });
  return step;
}

Decision FineCounts::look(const Charge& charge, const SlidingWindowState& state,
                          Instant now) noexcept {
  const auto look_by = [&](auto past) {
    return look_at(charge.cost, [&](std::int64_t cost) {
      return algo::decide(*charge.quota, state, cost, now, past).decision;
    });
  };
  const SlidingWindowState rolled = algo::roll(*charge.quota, state, now);
  if (!is_near(*charge.quota, rolled, 0)) return look_by(algo::EvenPast{});
  Decision decision;
  with_past(charge, rolled, now, [&](auto past) {
    decision = look_by(past);
    return std::int64_t{-1};
  });
  return decision;
}

}  // namespace weir
