// Zipf: ranks 1 to n, rank k drawn with probability proportional to 1 / k^exponent.
//
// Like the keys of real traffic: few are hot, most are rare. At exponent 1 and a million keys the
// hottest takes 7 % of the requests, the first thousand half of them.
//
// Rejection-inversion by W. Hörmann and G. Derflinger ("Rejection-inversion to generate
// variates from monotone discrete distributions", ACM TOMACS 6, 1996): exact, no
// table, and of every hundred draws only a few are rejected, whatever n is.
//
//   h(x) = x^-exponent          the weight, as a curve through all ranks
//   H(x) = integral of h        drawn from uniformly, then inverted and rounded
//
// Cost: about 30 ns a sample. Thread rule: immutable; the Prng is the caller's.
// Tested by zipf_test.cc.

#pragma once

#include <cstdint>
#include <optional>

#include "base/prng.h"

namespace weir::load {

class Zipf {
 public:
  // REQUIRES: ranks >= 1, 0 <= exponent <= 10. At exponent 0 all ranks are alike.
  Zipf(std::uint32_t ranks, double exponent);

  // In [1, ranks].
  std::uint32_t sample(Prng& prng) const;

 private:
  double h(double x) const;
  double h_integral(double x) const;
  double h_integral_inverse(double y) const;

  double exponent_;
  double ranks_;
  double integral_first_;  // where rank 1 begins: H(1.5) - h(1)
  double integral_last_;   // where the last rank ends: H(ranks + 0.5)
  double accept_at_once_;  // a draw this near below its rank needs no test
};

enum class Distribution : std::uint8_t { kUniform, kZipf };

struct KeySpec {
  std::uint32_t keys = 100'000;
  Distribution distribution = Distribution::kUniform;
  double zipf_exponent = 1.0;
};

// Picks the key of the next request. One owner.
class KeyPicker {
 public:
  KeyPicker(const KeySpec& spec, std::uint64_t seed) : keys_(spec.keys), prng_(seed) {
    if (spec.distribution == Distribution::kZipf) zipf_.emplace(spec.keys, spec.zipf_exponent);
  }

  // In [0, keys).
  std::uint32_t next() { return zipf_ ? zipf_->sample(prng_) - 1 : prng_.below(keys_); }

 private:
  std::uint32_t keys_;
  std::optional<Zipf> zipf_;
  Prng prng_;
};

}  // namespace weir::load
