#include "engine/asks/error_bar.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

// Few keys ask for most, so what is drawn of them is far from normally distributed. Three standard
// errors and one more spell hold the truth in 95 of 100 draws (error_bar_test.cc). The spell more
// is like the worst, or a usual one in which all is misjudged.
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
  // A charge is denied, as a look is, if it does not fit.
  const Operation operation = judged.was_charged ? Operation::kCharge : Operation::kLook;
  const bool fits = logs_.decide_one(operation, charge, now).allowed();
  if (!watched->is_exact || spell.age < quota.window()) return;
  const bool is_right = fits == judged.was_admitted;
  count(tallies_[judged.rule], *watched,
        is_right ? nullptr : (fits ? &Tally::denied_early : &Tally::admitted_over));
}

void ErrorBar::forget(const KeyHash& key, Duration window, Instant now) {
  const auto lock = std::scoped_lock(mutex_);
  Watched* const watched = place_of(key, spell_of(key, window, now), now);
  if (watched != nullptr) watched->is_exact = false;
}

// Null if so many keys ask that this spell is left out.
ErrorBar::Watched* ErrorBar::place_of(const KeyHash& key, const Spell& spell, Instant now) {
  auto place = watched_.find(key);
  if (place == watched_.end() && ++strangers_ % (kKeysMax / 2) == 0) make_room(now);
  if (spell.number % share_ != 0) return nullptr;
  if (place == watched_.end()) place = watched_.emplace(key, Watched{}).first;
  Watched& watched = place->second;
  if (watched.ends <= now || watched.spell != spell.number) {
    const Instant begins = now - spell.age;
    watched = {
        .spell = spell.number, .ends = begins + spell.length, .is_exact = begins >= exact_from_};
  }
  return &watched;
}

// Half of the places are free then, for as many strangers. Who has to go is a matter of hashes, so
// what stays is as random as it was.
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

// `kind`: null if it was judged rightly.
void ErrorBar::count(Tally& tally, Watched& watched, std::uint64_t Tally::*kind) {
  const auto add = [&](double sign) {
    const auto requests = static_cast<double>(watched.requests);
    const auto misjudged = static_cast<double>(watched.misjudged);
    tally.requests_squared += sign * requests * requests;
    tally.misjudged_squared += sign * misjudged * misjudged;
    tally.both += sign * requests * misjudged;
  };
  if (watched.requests == 0) ++tally.spells;
  add(-1);
  ++watched.requests;
  ++tally.requests;
  if (kind != nullptr) {
    ++watched.misjudged;
    ++(tally.*kind);
    tally.most_misjudged = std::max(tally.most_misjudged, watched.misjudged);
  }
  add(1);
}

ErrorBar::Tally& ErrorBar::Tally::operator+=(const Tally& other) {
  spells += other.spells;
  requests += other.requests;
  denied_early += other.denied_early;
  admitted_over += other.admitted_over;
  requests_squared += other.requests_squared;
  misjudged_squared += other.misjudged_squared;
  both += other.both;
  most_misjudged = std::max(most_misjudged, other.most_misjudged);
  return *this;
}

ErrorBar::Estimate ErrorBar::Tally::estimate() const {
  if (requests == 0) return {.share = 0, .least = 0, .most = 1};
  const auto all = static_cast<double>(requests);
  const double share = static_cast<double>(denied_early + admitted_over) / all;
  const double usual = all / static_cast<double>(spells);
  const double worst = std::max(usual, static_cast<double>(most_misjudged));
  const double squares = misjudged_squared - 2 * share * both + share * share * requests_squared;
  const double error = kErrors * std::sqrt(std::max(0.0, squares) + worst * worst) / all;
  return {
      .share = share, .least = std::max(0.0, share - error), .most = std::min(1.0, share + error)};
}

ErrorBar::Tally ErrorBar::of(RuleNumber rule) const {
  const auto lock = std::scoped_lock(mutex_);
  const auto found = tallies_.find(rule);
  return found == tallies_.end() ? Tally() : found->second;
}

ErrorBar::Tally ErrorBar::of_all() const {
  const auto lock = std::scoped_lock(mutex_);
  Tally all;
  for (const auto& [rule, tally] : tallies_) all += tally;
  return all;
}

}  // namespace weir
