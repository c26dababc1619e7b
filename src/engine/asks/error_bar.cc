#include "engine/asks/error_bar.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

// A few keys ask for most, so samples of them are far from normally distributed. In 95 of 100
// draws, three standard errors and one more spell cover the truth (error_bar_test.cc). The extra
// spell is like the worst, or like a usual one in which everything is misjudged.
constexpr double kErrors = 3;

Quota exact(const Quota& quota) {
  return *Quota::make(
      {.algorithm = Algorithm::kSlidingLog, .limit = quota.limit(), .window = quota.window()});
}

}  // namespace

void ErrorBar::judge(const Judged& judged, Instant now) {
  const Quota quota = exact(*judged.charge.quota);
  Charge charge = judged.charge;
  charge.quota = &quota;
  const Spell spell = spell_of(charge.key, quota.window(), now);
  const auto lock = std::scoped_lock(mutex_);
  Watched* const watched = place_of(charge.key, spell, now);
  if (watched == nullptr) return;
  // A charge that does not fit is denied, as a look is.
  const Operation operation = judged.was_charged ? Operation::kCharge : Operation::kLook;
  const bool fits = logs_.decide_one(operation, charge, now).allowed();
  if (!watched->is_exact || spell.age < quota.window()) return;
  Judging& judging = judged_.try_emplace(judged.rule, Judging{.since = now}).first->second;
  judging.latest = std::max(judging.latest, now);
  judging.turn_us = std::max(
      judging.turn_us, static_cast<double>(spell.length.count()) * static_cast<double>(share_));
  const bool is_right = fits == judged.was_admitted;
  count(judging.tally, *watched,
        is_right ? nullptr : (fits ? &Tally::denied_early : &Tally::admitted_over));
}

void ErrorBar::follow(Operation operation, const Charge& charge, Instant now) {
  const Quota quota = exact(*charge.quota);
  const auto lock = std::scoped_lock(mutex_);
  if (place_of(charge.key, spell_of(charge.key, quota.window(), now), now) == nullptr) return;
  Charge same = charge;
  same.quota = &quota;
  logs_.decide_one(operation, same, now);
}

void ErrorBar::forget(const KeyHash& key, Duration window, Instant now) {
  const auto lock = std::scoped_lock(mutex_);
  Watched* const watched = place_of(key, spell_of(key, window, now), now);
  if (watched != nullptr) watched->is_exact = false;
}

// Returns null if so many keys ask that this spell is left out.
ErrorBar::Watched* ErrorBar::place_of(const KeyHash& key, const Spell& spell, Instant now) {
  auto place = watched_.find(key);
  if (place == watched_.end() && ++strangers_ % (kKeysMax / 2) == 0) make_room(now);
  if (spell.number % share_ != 0) return nullptr;
  if (place == watched_.end()) place = watched_.emplace(key, Watched{}).first;
  Watched& watched = place->second;
  if (watched.ends <= now || watched.spell != spell.number) {
    const Instant begins = now - spell.age;
    const auto judged = static_cast<double>((spell.length - spell.window).count());
    watched = {
        .spell = spell.number,
        .ends = begins + spell.length,
        .is_exact = begins >= exact_from_,
        .weight = static_cast<double>(spell.length.count()) * static_cast<double>(share_) / judged};
  }
  return &watched;
}

// Afterwards half of the places are free, for as many new keys. Hashes decide who goes, so what
// stays is as random as before.
void ErrorBar::make_room(Instant now) {
  erase([&](const Watched& watched) { return watched.ends <= now; }, now);
  if (watched_.size() < kKeysMax / 8 && share_ > kShare) {
    share_ /= 2;
    exact_from_ = now;
  }
  while (watched_.size() > kKeysMax / 2) {
    share_ *= 2;
    erase([&](const Watched& watched) { return watched.spell % share_ != 0; }, now);
  }
}

template <typename Goes>
void ErrorBar::erase(Goes goes, Instant now) {
  std::erase_if(watched_, [&](const auto& entry) {
    if (!goes(entry.second)) return false;
    const Quota any;
    logs_.decide_one(Operation::kReset, {.key = entry.first, .quota = &any}, now);
    return true;
  });
}

// `kind`: null if the request was judged rightly.
void ErrorBar::count(Tally& tally, Watched& watched, std::uint64_t Tally::*kind) {
  Sums& sums = tally.sums;
  const auto add_squares = [&](double sign) {
    sums.requests_squared += sign * watched.requests * watched.requests;
    sums.misjudged_squared += sign * watched.misjudged * watched.misjudged;
    sums.both += sign * watched.requests * watched.misjudged;
  };
  if (watched.requests == 0) ++sums.spells;
  add_squares(-1);
  ++tally.requests;
  watched.requests += watched.weight;
  sums.requests += watched.weight;
  if (kind != nullptr) {
    ++(tally.*kind);
    watched.misjudged += watched.weight;
    sums.misjudged += watched.weight;
    sums.most_misjudged = std::max(sums.most_misjudged, watched.misjudged);
  }
  add_squares(1);
}

ErrorBar::Sums& ErrorBar::Sums::operator+=(const Sums& other) {
  spells += other.spells;
  requests += other.requests;
  misjudged += other.misjudged;
  requests_squared += other.requests_squared;
  misjudged_squared += other.misjudged_squared;
  both += other.both;
  most_misjudged = std::max(most_misjudged, other.most_misjudged);
  return *this;
}

ErrorBar::Estimate ErrorBar::Sums::estimate() const {
  if (requests == 0) return {};
  const double share = misjudged / requests;
  const double worst = std::max(requests / spells, most_misjudged);
  const double squares = misjudged_squared - 2 * share * both + share * share * requests_squared;
  const double error = kErrors * std::sqrt(std::max(0.0, squares) + worst * worst) / requests;
  return {
      .share = share, .least = std::max(0.0, share - error), .most = std::min(1.0, share + error)};
}

ErrorBar::Tally ErrorBar::told(const Judging& judging) {
  Tally tally = judging.tally;
  const auto length = static_cast<double>((judging.latest - judging.since).count());
  if (length < judging.turn_us) tally.sums = {};
  return tally;
}

ErrorBar::Tally ErrorBar::of(RuleNumber rule) const {
  const auto lock = std::scoped_lock(mutex_);
  const auto found = judged_.find(rule);
  return found == judged_.end() ? Tally() : told(found->second);
}

ErrorBar::Tally ErrorBar::of_all() const {
  const auto lock = std::scoped_lock(mutex_);
  Tally all;
  for (const auto& [rule, judging] : judged_) {
    const Tally tally = told(judging);
    all.requests += tally.requests;
    all.denied_early += tally.denied_early;
    all.admitted_over += tally.admitted_over;
    all.sums += tally.sums;
  }
  return all;
}

}  // namespace weir
