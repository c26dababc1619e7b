// Traffic: the requests of many sources, drawn from a seed, one source after the other.
//
// The number of a source's requests is heavy-tailed: the rates of all sources are the quantiles of
// a Pareto distribution, so that one seed is like another. A source asks in one of these ways:
//
//   poisson   at any time alike
//   bursty    four times its rate for 5 s on average, then nothing for 15 s on average
//   pages     1 to 40 requests at once, 50 ms apart on average, as a browser loads a page
//   cron      a batch each minute, of 75 to 125 % of the usual size, within 5 s
//
// All begin with the hour, which begins with a window. Sources are independent of each other, so
// memory holds only one of them at a time.
//
// Thread rule: pure. Tested by accuracy_test.cc.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weir/time.h"

namespace weir::lab {

enum class Traffic : std::uint8_t { kPoisson, kBursty, kPages, kCron };

inline constexpr std::array kTraffics{Traffic::kPoisson, Traffic::kBursty, Traffic::kPages,
                                      Traffic::kCron};
const char* traffic_name(Traffic traffic);

class Population {
 public:
  struct Spec {
    std::uint32_t sources = 270'000;
    double requests = 400e6;  // of all sources, about
    Duration length = std::chrono::hours(1);
    std::uint64_t seed = 1;
  };
  // REQUIRES: sources >= 1, requests > 0
  explicit Population(const Spec& spec);

  // The times of a source's requests, in their order. REQUIRES: source < spec.sources
  void draw(Traffic traffic, std::uint32_t source, std::vector<Instant>& times) const;

  const Spec& spec() const { return spec_; }

 private:
  double quantile(std::uint32_t source) const;

  const Spec spec_;
  double least_per_us_ = 0;  // the rate that the quantiles multiply
};

}  // namespace weir::lab
