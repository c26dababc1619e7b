#include "engine/asks/error_bar.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

// Few keys are misjudged, so what is drawn of them is far from normally distributed. Three standard
// errors, and one key more like the worst, hold the truth in 95 of 100 draws (error_bar_test.cc).
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
  const auto lock = std::scoped_lock(mutex_);
  Watched& watched = place_of(charge.key);
  if (watched.key != charge.key) {
    if (now < watched.idle_at) return;
    logs_.decide_one(Operation::kReset, {.key = watched.key, .quota = &quota}, now);
    watched = {.key = charge.key, .exact_from = judged.was_untouched ? now : now + quota.window()};
  }
  watched.idle_at = now + 2 * quota.window();
  const std::int64_t part = epoch_us(now) / (quota.window().count() / kParts);
  if (now >= watched.exact_from && part != watched.part) {
    watched.part = part;
    const bool fits = logs_.decide_one(Operation::kLook, charge, now).allowed();
    const bool is_right = fits == judged.was_admitted;
    count(tallies_[judged.rule], watched,
          is_right ? nullptr : (fits ? &Tally::denied_early : &Tally::admitted_over));
  }
  if (judged.was_charged) logs_.decide_one(Operation::kCharge, charge, now);
}

void ErrorBar::forget(const KeyHash& key, Instant now) {
  const auto lock = std::scoped_lock(mutex_);
  Watched& watched = place_of(key);
  if (watched.key != key) return;
  const Quota any;
  logs_.decide_one(Operation::kReset, {.key = key, .quota = &any}, now);
  watched = {};
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
  const auto worst = static_cast<double>(std::max<std::uint64_t>(1, most_misjudged));
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
