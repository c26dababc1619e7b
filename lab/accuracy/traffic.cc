#include "accuracy/traffic.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/prng.h"

namespace weir::lab {
namespace {

constexpr double kParetoExponent = 1.2;
constexpr std::int64_t kStartUs = 1'700'000'040'000'000;

constexpr double kBurstUs = 5e6;
constexpr double kSilenceUs = 15e6;
constexpr std::uint32_t kPageMax = 40;
constexpr double kPageMean = (1 + kPageMax) / 2.0;
constexpr double kPageGapUs = 50e3;
constexpr double kMinuteUs = 60e6;
constexpr double kBatchUs = 5e6;

double exponential(Prng& prng, double mean) { return -mean * std::log1p(-prng.unit()); }

// The times of one source, from 0 on.
struct Draw {
  Prng prng;
  double rate;  // a microsecond
  double length_us;
  std::vector<Instant>& times;

  void add(double us) {
    if (us < length_us) {
      times.push_back(instant_from_epoch_us(kStartUs + static_cast<std::int64_t>(us)));
    }
  }
  // Spreads requests at this rate over the whole time.
  void spread(double from_us, double to_us, double by_rate) {
    for (double us = from_us + exponential(prng, 1 / by_rate); us < std::min(to_us, length_us);
         us += exponential(prng, 1 / by_rate)) {
      add(us);
    }
  }

  void poisson() { spread(0, length_us, rate); }
  void bursty() {
    const double share = kBurstUs / (kBurstUs + kSilenceUs);
    double us = prng.unit() < share ? 0 : exponential(prng, kSilenceUs);
    while (us < length_us) {
      const double end_us = us + exponential(prng, kBurstUs);
      spread(us, end_us, rate / share);
      us = end_us + exponential(prng, kSilenceUs);
    }
  }
  void pages() {
    const double mean_us = kPageMean / rate;
    for (double page_us = exponential(prng, mean_us); page_us < length_us;
         page_us += exponential(prng, mean_us)) {
      double us = page_us;
      for (std::uint32_t left = 1 + prng.below(kPageMax); left > 0; --left) {
        add(us);
        us += exponential(prng, kPageGapUs);
      }
    }
    std::ranges::sort(times);  // pages overlap
  }
  void cron() {
    for (double us = prng.unit() * kMinuteUs; us < length_us; us += kMinuteUs) {
      const double size = rate * kMinuteUs * (0.75 + prng.unit() / 2);
      const auto first = times.size();
      for (auto left = static_cast<std::int64_t>(size + prng.unit()); left > 0; --left) {
        add(us + prng.unit() * kBatchUs);
      }
      std::sort(times.begin() + static_cast<std::ptrdiff_t>(first), times.end());
    }
  }
};

}  // namespace

const char* traffic_name(Traffic traffic) {
  switch (traffic) {
    case Traffic::kPoisson: return "poisson";
    case Traffic::kBursty: return "bursty";
    case Traffic::kPages: return "pages";
    case Traffic::kCron: return "cron";
  }
  return "";
}

Population::Population(const Spec& spec) : spec_(spec) {
  double sum = 0;
  for (std::uint32_t source = 0; source < spec.sources; ++source) sum += quantile(source);
  least_per_us_ = spec.requests / sum / static_cast<double>(spec.length.count());
}

double Population::quantile(std::uint32_t source) const {
  return std::pow((source + 0.5) / spec_.sources, -1 / kParetoExponent);
}

void Population::draw(Traffic traffic, std::uint32_t source, std::vector<Instant>& times) const {
  times.clear();
  const std::uint64_t number = source * kTraffics.size() + static_cast<std::size_t>(traffic);
  Draw draw{.prng = Prng(Prng(spec_.seed ^ number << 20).next()),
            .rate = least_per_us_ * quantile(source),
            .length_us = static_cast<double>(spec_.length.count()),
            .times = times};
  switch (traffic) {
    case Traffic::kPoisson: return draw.poisson();
    case Traffic::kBursty: return draw.bursty();
    case Traffic::kPages: return draw.pages();
    case Traffic::kCron: return draw.cron();
  }
}

}  // namespace weir::lab
