#include "load/zipf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weir::load {
namespace {

std::vector<double> exact_probabilities(std::uint32_t ranks, double exponent) {
  std::vector<double> probabilities(ranks);
  double sum = 0;
  for (std::uint32_t rank = ranks; rank >= 1; --rank) {  // small ones first
    probabilities[rank - 1] = std::pow(rank, -exponent);
    sum += probabilities[rank - 1];
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

// Pearson's statistic over its mean, in standard deviations. Ranks that expect under
// ten samples are judged together: the approximation by a normal curve needs that.
double deviation(const std::vector<std::uint64_t>& counts, const std::vector<double>& exact,
                 double samples) {
  double chi_square = 0;
  double rest_expected = 0;
  double rest_count = 0;
  int cells = 0;
  const auto judge = [&](double count, double expected) {
    chi_square += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (std::size_t index = 0; index < exact.size(); ++index) {
    const double expected = exact[index] * samples;
    const auto count = static_cast<double>(counts[index]);
    if (expected >= 10) {
      judge(count, expected);
    } else {
      rest_expected += expected;
      rest_count += count;
    }
  }
  if (rest_expected > 0) judge(rest_count, rest_expected);
  const double freedom = cells - 1;
  return freedom > 0 ? (chi_square - freedom) / std::sqrt(2 * freedom) : 0;
}

struct Case {
  std::uint32_t ranks;
  double exponent;
};

class ZipfExact : public testing::TestWithParam<Case> {};

TEST_P(ZipfExact, MatchesTheProbabilities) {
  constexpr std::uint32_t kSamples = 400'000;
  const auto [ranks, exponent] = GetParam();
  const Zipf zipf(ranks, exponent);
  Prng prng(20);
  std::vector<std::uint64_t> counts(ranks);
  for (std::uint32_t sample = 0; sample < kSamples; ++sample) {
    const std::uint32_t rank = zipf.sample(prng);
    ASSERT_GE(rank, 1U);
    ASSERT_LE(rank, ranks);
    ++counts[rank - 1];
  }
  // A right sampler passes 5 standard deviations once in millions of seeds; one that
  // skips the rejection step is off by hundreds.
  EXPECT_LT(deviation(counts, exact_probabilities(ranks, exponent), kSamples), 5.0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ZipfExact,
                         testing::Values(Case{1, 1.0}, Case{2, 1.0}, Case{10, 0.5}, Case{10, 1.0},
                                         Case{10, 3.0}, Case{1'000, 0.0}, Case{1'000, 0.99},
                                         Case{1'000, 1.0}, Case{1'000, 1.01}, Case{100'000, 1.0},
                                         Case{100'000, 2.0}));

TEST(Zipf, HugeRangeKeepsItsHead) {
  constexpr std::uint32_t kRanks = 4'000'000'000;
  constexpr int kSamples = 200'000;
  const Zipf zipf(kRanks, 1.0);
  Prng prng(7);
  int hottest = 0;
  for (int sample = 0; sample < kSamples; ++sample) hottest += zipf.sample(prng) == 1 ? 1 : 0;
  // 1 / H(4e9), the harmonic number being ln n + 0.5772.
  const double expected = kSamples / (std::log(4e9) + 0.57721566);
  EXPECT_NEAR(hottest, expected, 5 * std::sqrt(expected));
}

TEST(KeyPicker, SameSeedSameKeys) {
  for (const Distribution distribution : {Distribution::kUniform, Distribution::kZipf}) {
    const KeySpec spec{.keys = 1'000, .distribution = distribution};
    KeyPicker first(spec, 5);
    KeyPicker second(spec, 5);
    KeyPicker other(spec, 6);
    int different = 0;
    for (int draw = 0; draw < 1'000; ++draw) {
      const std::uint32_t key = first.next();
      ASSERT_LT(key, spec.keys);
      ASSERT_EQ(key, second.next());
      different += key != other.next() ? 1 : 0;
    }
    EXPECT_GT(different, 500);
  }
}

}  // namespace
}  // namespace weir::load
