// RecordedTraffic: the requests of one rule, second by second, in a shape of real rules, generated
// from a seed.
//
// Each second's count is a Poisson count around a rate that follows the shape. Restless shapes have
// more: the rate wanders by a tenth or two for minutes, clients send bursts of a second or two, and
// scheduled jobs run at the full minute.
//
// Thread rule: one owner. Used by unusual_traffic_test.cc.

#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "base/prng.h"

namespace weir::testing {

inline constexpr std::int64_t kMinute = 60;
inline constexpr std::int64_t kHour = 3'600;
inline constexpr std::int64_t kDay = 24 * kHour;
inline constexpr std::int64_t kWeek = 7 * kDay;

enum class Shape : std::uint8_t {
  kSteady,      // the same all week
  kDailyPeak,   // five times the night's rate at 14:00
  kQuietNight,  // a thousandth of the day's rate at 02:00
  kWorkWeek,    // a daily peak, a third of it on Saturday and Sunday
  kSlowRises,   // ten times as much within an hour, four times a day
  kStarts,      // nothing before the third hour, then at once the rate
  kOutages,     // ten minutes without a request, twice a day
  kRestless,    // a daily peak that wanders, with bursts and jobs
  kSessions,    // people who come one by one, each with 20 requests in half a minute
};
inline constexpr std::array<std::string_view, 9> kShapeNames = {
    "steady", "daily peak", "quiet night", "work week", "slow rises",
    "starts", "outages",    "restless",    "sessions"};

class RecordedTraffic {
 public:
  struct Start {
    Shape shape = Shape::kSteady;
    double rate = 1;          // requests/s in the shape's ordinary hours
    std::int64_t second = 0;  // since Monday 00:00
    std::uint64_t seed = 1;
  };

  explicit RecordedTraffic(const Start& start)
      : shape_(start.shape),
        base_(start.rate),
        second_(start.second),
        random_(Prng(start.seed).next() ^ Prng(static_cast<std::uint64_t>(start.second)).next()) {}

  std::int64_t second() const { return second_; }
  // The shape's rate in this second.
  double rate() const { return rate_; }

  // The count of the next second, in traffic that is `times` as large.
  std::uint64_t next(double times = 1) {
    if (minute_ != second_ / kMinute) begin_minute();
    double rate = rate_ * times;
    if (shape_ == Shape::kSessions) rate *= session_part();
    if (shape_ == Shape::kRestless) rate *= restlessness();
    ++second_;
    return count_around(rate);
  }

 private:
  void begin_minute() {
    minute_ = second_ / kMinute;
    rate_ = base_ * shape_at(second_ % kWeek);
  }

  static double wave(std::int64_t second, double peak_hour) {
    const double hour = static_cast<double>(second % kDay) / kHour;
    return (1 + std::cos((hour - peak_hour) * std::numbers::pi / 12)) / 2;
  }

  double shape_at(std::int64_t second) const {
    switch (shape_) {
      case Shape::kSteady:
      case Shape::kSessions: return 1;
      case Shape::kDailyPeak:
      case Shape::kRestless: return 1 + 4 * std::pow(wave(second, 14), 3);
      case Shape::kQuietNight: return std::pow(1'000, wave(second, 14) - 1);
      case Shape::kWorkWeek: return (1 + 4 * wave(second, 14)) * (second / kDay >= 5 ? 1.0 / 3 : 1);
      case Shape::kSlowRises: return slow_rise(second % (6 * kHour));
      case Shape::kStarts: return second < 3 * kHour ? 0 : 1;
      case Shape::kOutages: return second % (12 * kHour) / (10 * kMinute) == 30 ? 0 : 1;
    }
    return 1;
  }

  // An hour up, an hour there, two hours down.
  static double slow_rise(std::int64_t second) {
    const double hours = static_cast<double>(second) / kHour;
    if (hours < 1) return std::pow(10, hours);
    return hours < 2 ? 10 : std::pow(10, std::max(0.0, 1 - (hours - 2) / 2));
  }

  // The wandering loses its memory in about two minutes.
  double restlessness() {
    if (second_ % 5 == 0) wander_ = 0.96 * wander_ + 0.15 * 0.28 * normal();
    if (second_ >= next_burst_ && random_.below(400) == 0) {
      burst_left_ = 1 + random_.below(2);
      next_burst_ = second_ + kBurstsApart;
    }
    double times = std::exp(wander_);
    if (burst_left_ > 0) {
      --burst_left_;
      times *= 6;
    }
    return second_ % kMinute == 0 ? times * 3 : times;
  }

  // The number of people there, as a part of the average.
  double session_part() {
    const auto come = static_cast<std::uint32_t>(count_around(base_ / kSessionRequests));
    std::uint32_t& place = coming_[static_cast<std::size_t>(second_) % coming_.size()];
    there_ += come - place;  // people who came a session ago leave
    place = come;
    return there_ * kSessionRequests / static_cast<double>(coming_.size()) / base_;
  }

  // Makes two at a time (Box and Muller).
  double normal() {
    if (has_normal_) {
      has_normal_ = false;
      return normal_;
    }
    const double radius = std::sqrt(-2 * std::log(1 - random_.unit()));
    const double angle = 2 * std::numbers::pi * random_.unit();
    normal_ = radius * std::sin(angle);
    has_normal_ = true;
    return radius * std::cos(angle);
  }

  // A Poisson count: exact for small rates, by a normal root for others.
  std::uint64_t count_around(double rate) {
    if (rate <= 0) return 0;
    if (rate < 8) {
      std::uint64_t count = 0;
      for (double left = std::exp(-rate), product = random_.unit(); product > left; ++count) {
        product *= random_.unit();
      }
      return count;
    }
    const double root = std::sqrt(rate) + normal() / 2;
    return static_cast<std::uint64_t>(std::max(0.0, root * root + 0.25));
  }

  static constexpr double kSessionRequests = 20;
  static constexpr std::int64_t kBurstsApart = 20;  // seconds

  const Shape shape_;
  const double base_;
  std::int64_t second_;
  Prng random_;
  std::int64_t minute_ = -1;
  double rate_ = 0;
  double wander_ = 0;
  double normal_ = 0;
  bool has_normal_ = false;
  std::uint32_t burst_left_ = 0;
  std::int64_t next_burst_ = 0;             // not before this
  std::array<std::uint32_t, 30> coming_{};  // in each second of a session
  std::uint32_t there_ = 0;
};

}  // namespace weir::testing
