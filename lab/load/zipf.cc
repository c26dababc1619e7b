#include "load/zipf.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace weir::load {
namespace {

// Below this, these functions equal their limits to the last bit of a double.
constexpr double kTiny = 1e-8;

// log1p(x) / x and expm1(x) / x, continued through 0. So exponents near 1, where H turns from a
// power into a logarithm, are as exact as all others.
double log1p_ratio(double x) { return std::abs(x) > kTiny ? std::log1p(x) / x : 1 - x / 2; }
double expm1_ratio(double x) { return std::abs(x) > kTiny ? std::expm1(x) / x : 1 + x / 2; }

}  // namespace

Zipf::Zipf(std::uint32_t ranks, double exponent) : exponent_(exponent), ranks_(ranks) {
  WEIR_ASSERT(ranks >= 1);
  WEIR_ASSERT(exponent >= 0 && exponent <= 10);
  integral_first_ = h_integral(1.5) - 1;
  integral_last_ = h_integral(ranks_ + 0.5);
  accept_at_once_ = 2 - h_integral_inverse(h_integral(2.5) - h(2));
}

std::uint32_t Zipf::sample(Prng& prng) const {
  for (;;) {
    const double drawn = integral_last_ + prng.unit() * (integral_first_ - integral_last_);
    const double x = h_integral_inverse(drawn);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, ranks_);
    if (rank - x <= accept_at_once_ || drawn >= h_integral(rank + 0.5) - h(rank)) {
      return static_cast<std::uint32_t>(rank);
    }
  }
}

double Zipf::h(double x) const { return std::exp(-exponent_ * std::log(x)); }

double Zipf::h_integral(double x) const {
  const double log_x = std::log(x);
  return expm1_ratio((1 - exponent_) * log_x) * log_x;
}

double Zipf::h_integral_inverse(double y) const {
  const double t = std::max(y * (1 - exponent_), -1.0);  // rounding must not pass the pole
  return std::exp(log1p_ratio(t) * y);
}

}  // namespace weir::load
