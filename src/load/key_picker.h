// KeyPicker: which key the next request asks about.
//
// Thread rule: one owner. Tested by zipf_test.cc.

#pragma once

#include <cstdint>
#include <optional>

#include "base/prng.h"
#include "load/zipf.h"

namespace weir::load {

enum class Distribution : std::uint8_t { kUniform, kZipf };

struct KeySpec {
  std::uint32_t keys = 100'000;
  Distribution distribution = Distribution::kUniform;
  double zipf_exponent = 1.0;
};

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
