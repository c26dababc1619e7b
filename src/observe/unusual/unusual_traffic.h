// UnusualTraffic: says when a rule's requests leave the band of the rule's own last minutes.
//
// The level is the mean of the five quietest of the last seven seconds: lasting traffic counts, a
// burst of a second or two does not. Every seven seconds a level is remembered, 170 of them (20
// minutes). They are kept as square roots: the root of a Poisson count spreads alike at every rate.
// (Anscombe, "The transformation of Poisson, binomial and negative-binomial data", Biometrika 35,
// 1948.) The levels give a median, and a spread that half of the levels cannot move, whatever they
// are. It is the median distance from the median, or MAD. (Hampel, "The influence curve and its
// role in robust estimation", JASA 69, 1974.) A level is outside of the band if it is seven spreads
// away, Hampel's identifier, and twice the median (on the way down a quarter):
//
//   requests/s                     .--.             high
//     ......................................|        = max(10, 2 median, (root + 7 spreads)^2)
//                                  |  |     |
//     ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~'  '~~~   median   of the last 20 minutes
//     ........................................ low
//        learning      usual       event
//
// A level above the band begins an event. The event ends when the level was back for half a minute,
// or after an hour: then the new level is usual. Traffic of an event is not learned. Traffic
// outside of the band without an event, such as a fall, is not learned, either: traffic that
// returns after an outage is usual. After half an hour outside, the rule learns from the beginning.
//
// Slow changes move the median and widen the spread. 40 times as much within an hour raises no
// event, nor does a day with a peak and a quiet night. A rise to three times a rate of 10/s or more
// is found within ten seconds; at lower rates, a rise to three times the band's upper edge.
//
// Thread rule: a value. Tested by unusual_traffic_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace weir {

// Requests a second.
struct TrafficBand {
  double low = 0;
  double median = 0;
  double high = 0;
};

class UnusualTraffic {
 public:
  enum class Change : std::uint8_t { kNone, kBegan, kEnded };

  static constexpr std::int64_t kLearnDefault = 600;  // seconds
  static constexpr double kLeastHigh = 10;            // requests/s: nothing below it is unusual
  static constexpr std::int64_t kCalm = 30;           // seconds within the band end an event
  static constexpr std::int64_t kLongestEvent = 3'600;
  static constexpr std::int64_t kLongestOutside = 1'800;  // without an event
  static constexpr std::int64_t kForgetAfter = 1'800;     // seconds without known requests

  // Begins no event before it has seen `learn_s` seconds.
  explicit UnusualTraffic(std::int64_t learn_s = kLearnDefault) : learn_s_(learn_s) {}

  // Takes the requests of that second since 1970, or nothing if unknown. Seconds come in order; a
  // second that was counted already is ignored.
  Change add(std::int64_t second, std::optional<std::uint64_t> requests);

  // Whether it has learned enough to judge.
  bool has_learned() const { return seen_s_ >= learn_s_ && level_count_ > 0; }
  bool is_unusual() const { return is_unusual_; }
  // When the event began: the first second above the band.
  std::int64_t since() const { return since_; }
  // The level at the last second, and the event's highest.
  double level() const { return level_; }
  double peak() const { return peak_; }
  // All 0 while nothing is known. During an event, and at its end, it does not change.
  const TrafficBand& band() const { return band_; }

 private:
  static constexpr std::size_t kWindow = 7;    // seconds
  static constexpr std::size_t kLoudest = 2;   // loudest seconds, which do not count
  static constexpr std::size_t kLevels = 170;  // 20 minutes
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 2;

  bool push(std::int64_t second, std::uint64_t requests);
  double level_now() const;
  bool has_risen() const;
  std::int64_t first_above(std::int64_t second) const;
  Change begin(std::int64_t second);
  Change go_on(std::int64_t second);
  Change finish();
  void learn(std::int64_t second);
  void forget();
  void make_band();

  std::int64_t learn_s_;
  std::int64_t last_second_ = kNever;
  std::int64_t last_known_ = kNever;  // the last second whose requests are known

  // The window, as a ring.
  std::array<std::uint32_t, kWindow> window_{};
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  double level_ = 0;

  // The learned levels.
  std::array<float, kLevels> roots_{};
  std::size_t next_level_ = 0;
  std::size_t level_count_ = 0;
  std::int64_t seen_s_ = 0;
  std::int64_t outside_s_ = 0;  // how long the level has been outside of the band
  TrafficBand band_{};

  bool is_unusual_ = false;
  std::int64_t since_ = 0;
  std::int64_t last_above_ = 0;
  double peak_ = 0;
};

}  // namespace weir
