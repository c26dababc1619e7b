#include "observe/unusual/unusual_traffic.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace weir {
namespace {

constexpr std::int64_t kSecondsPerLevel = 7;  // a window's, so levels share no second
constexpr float kSpreads = 7;
constexpr double kTimesMedian = 2;
constexpr double kPartOfMedian = 0.25;
constexpr std::size_t kQuietest = 3;  // seconds
constexpr double kQuietestTimesMedian = 1.75;

// One standard deviation of normal errors is this many MAD.
constexpr float kDeviationsInMad = 1.4826F;
// The deviation of the root of the mean of five Poisson counts: 1 / (2 sqrt(5)).
constexpr float kPoissonSpread = 0.2236F;

// Reorders the values. Takes the lower middle one: even half of them, too high, do not move it.
float median_of(std::span<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double square(double root) { return root * root; }

}  // namespace

UnusualTraffic::Change UnusualTraffic::add(std::int64_t second,
                                           std::optional<std::uint64_t> requests) {
  if (second <= last_second_) return Change::kNone;
  const bool is_next = second == last_second_ + 1;
  last_second_ = second;
  if (!requests || !is_next) filled_ = 0;
  if (requests && push(second, *requests)) {
    if (is_unusual_) return go_on(second);
    if (has_learned() && has_risen()) return begin(second);
    learn(second);
  }
  if (is_unusual_ && second - since_ >= kLongestEvent) return finish();
  return Change::kNone;
}

// Returns false until the window is full. A rule begins with its first request.
bool UnusualTraffic::push(std::int64_t second, std::uint64_t requests) {
  if (!is_unusual_ && second - last_known_ > kForgetAfter) forget();
  last_known_ = second;
  if (seen_s_ == 0 && requests == 0) return false;  // the rule has not begun
  window_[next_] = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(requests, std::numeric_limits<std::uint32_t>::max()));
  next_ = (next_ + 1) % kWindow;
  seen_s_ += 1;
  if (filled_ < kWindow) filled_ += 1;
  if (filled_ < kWindow) return false;
  level_ = level_now();
  return true;
}

double UnusualTraffic::level_now() const {
  static_assert(kLoudest == 2);
  std::uint64_t sum = 0;
  std::uint32_t loudest = 0;
  std::uint32_t second_loudest = 0;
  for (const std::uint32_t requests : window_) {
    sum += requests;
    second_loudest = std::max(second_loudest, std::min(loudest, requests));
    loudest = std::max(loudest, requests);
  }
  return static_cast<double>(sum - loudest - second_loudest) / (kWindow - kLoudest);
}

// Three bursts of two seconds within seven make a level, but leave quiet seconds between them.
bool UnusualTraffic::has_risen() const {
  if (level_ <= band_.high) return false;
  auto sorted = window_;
  std::ranges::sort(sorted);
  double quietest = 0;
  for (std::size_t i = 0; i < kQuietest; ++i) quietest += sorted[i];
  return quietest / kQuietest > kQuietestTimesMedian * band_.median;
}

// The oldest second of the window with requests above the band.
std::int64_t UnusualTraffic::first_above(std::int64_t second) const {
  for (std::size_t age = kWindow - 1; age > 0; --age) {
    if (window_[(next_ + kWindow - 1 - age) % kWindow] > band_.high) {
      return second - static_cast<std::int64_t>(age);
    }
  }
  return second;
}

UnusualTraffic::Change UnusualTraffic::begin(std::int64_t second) {
  is_unusual_ = true;
  since_ = first_above(second);
  last_above_ = second;
  peak_ = level_;
  return Change::kBegan;
}

UnusualTraffic::Change UnusualTraffic::go_on(std::int64_t second) {
  peak_ = std::max(peak_, level_);
  if (level_ > band_.high) last_above_ = second;
  if (second - last_above_ >= kCalm) return finish();
  if (second - since_ < kLongestEvent) return Change::kNone;
  forget();
  return finish();
}

UnusualTraffic::Change UnusualTraffic::finish() {
  is_unusual_ = false;
  return Change::kEnded;
}

// Once in a window, remembers the level if it is within the band. All nodes of a fleet do this in
// the same seconds, so their bands become the same. If the level stays outside, the rule forgets
// what it learned.
void UnusualTraffic::learn(std::int64_t second) {
  if (level_count_ > 0 && second % kSecondsPerLevel != 0) return;
  if (has_learned() && (level_ < band_.low || level_ > band_.high)) {
    outside_s_ += kSecondsPerLevel;
    if (outside_s_ >= kLongestOutside) forget();
    return;
  }
  outside_s_ = 0;
  roots_[next_level_] = static_cast<float>(std::sqrt(level_));
  next_level_ = (next_level_ + 1) % kLevels;
  level_count_ = std::min(level_count_ + 1, kLevels);
  // Selecting from all levels takes two microseconds, so a band of many levels may be 21 s old.
  if (level_count_ < kLevels / 2 || second % (3 * kSecondsPerLevel) == 0) make_band();
}

void UnusualTraffic::forget() {
  filled_ = 0;
  next_level_ = 0;
  level_count_ = 0;
  seen_s_ = 0;
  outside_s_ = 0;
}

void UnusualTraffic::make_band() {
  std::array<float, kLevels> room = roots_;
  const auto values = std::span(room).first(level_count_);
  const float root = median_of(values);
  for (float& value : values) value = std::abs(value - root);
  const float spread = std::max(kDeviationsInMad * median_of(values), kPoissonSpread);
  const double median = square(root);
  const double below = square(std::max(0.0F, root - kSpreads * spread));
  band_ = {.low = std::min(kPartOfMedian * median, below),
           .median = median,
           .high = std::max({kLeastHigh, kTimesMedian * median, square(root + kSpreads * spread)})};
}

}  // namespace weir
