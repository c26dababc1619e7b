// Random operations on the core, as differential_test.mjs makes them, too: prints what the
// answers so far hash to after each kOpsPerLine of them.
//
//   wasm_differential OPS SEED

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core.h"

namespace {

constexpr std::uint32_t kOpsPerLine = 20'000;

// sfc32, which JavaScript computes as well: 32-bit additions and shifts.
class Random {
 public:
  explicit Random(std::uint32_t seed) : a_(seed) {
    for (int i = 0; i < 15; ++i) next();
  }
  std::uint32_t next() {
    const std::uint32_t sum = a_ + b_ + counter_++;
    a_ = b_ ^ (b_ >> 9);
    b_ = c_ + (c_ << 3);
    c_ = ((c_ << 21) | (c_ >> 11)) + sum;
    return sum;
  }
  std::uint32_t below(std::uint32_t bound) { return next() % bound; }

 private:
  std::uint32_t a_;
  std::uint32_t b_ = 0x9e3779b9;
  std::uint32_t c_ = 0x243f6a88;
  std::uint32_t counter_ = 1;
};

struct Spec {
  int algorithm;
  double limit;
  double window;
  double burst;
};
constexpr std::array<double, 6> kLimits = {0, 1, 7, 100, 3'000'000, 1e12};
constexpr std::array<double, 4> kWindows = {1e3, 1e6, 6e7, 31'622'400e6};

std::uint32_t hash = 2'166'136'261;

void mix(const double* answer, int verdict) {
  std::array<std::uint32_t, 13> words{};
  std::memcpy(words.data(), answer, 48);
  words[12] = static_cast<std::uint32_t>(verdict);
  for (const std::uint32_t word : words) hash = (hash ^ word) * 16'777'619;
}

// The digits of a number again and again, up to 400 bytes of them.
std::uint32_t put_key(std::uint32_t number) {
  const std::uint32_t length = number % 401;
  std::uint8_t* text = weir_text(1024);
  for (std::uint32_t i = 0; i < length; ++i) {
    text[i] = static_cast<std::uint8_t>(number >> (8 * (i % 3)));
  }
  return length;
}

double cost_of(Random& random, const Spec& spec) {
  switch (random.below(16)) {
    case 0: return 0;
    case 1: return -1;
    case 2: return -spec.limit / 2 < -1e12 ? -1e12 : -static_cast<double>(random.below(9));
    case 3: return spec.limit;
    case 4: return spec.limit + 1 > 1e12 ? 1e12 : spec.limit + 1;
    case 5: return static_cast<double>(random.below(1000));
    default: return 1;
  }
}

double time_step(Random& random, double window) {
  switch (random.below(32)) {
    case 0: return -static_cast<double>(random.below(3'000'000));
    case 1: return window < 1e9 ? window * random.below(4) : 1e9;
    default: return static_cast<double>(random.below(2'000));
  }
}

}  // namespace

int main(int, char** arguments) {
  const auto ops = static_cast<std::uint32_t>(std::strtoul(arguments[1], nullptr, 10));
  Random random(static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10)));
  double now = 1'700'000'000e6;
  std::uint8_t* secret = weir_text(192);
  for (int i = 0; i < 192; ++i) secret[i] = static_cast<std::uint8_t>(random.next() >> 8);
  weir_open(1024, 64, now);
  weir_bucket(0, put_key(5));
  weir_bucket(1, 0);

  std::array<Spec, kWeirQuotas> specs{};
  std::array<int, kWeirQuotas> words{};  // of the state that weir_step() carries on, the last
  int stepped = -1;
  for (std::uint32_t op = 1; op <= ops; ++op) {
    const int quota = static_cast<int>(random.below(60));
    const auto index = static_cast<std::size_t>(quota);
    if (random.below(64) == 0 || specs[index].window == 0) {
      specs[index] = {.algorithm = quota % 5,
                      .limit = kLimits[random.below(6)],
                      .window = kWindows[random.below(4)],
                      .burst = quota % 5 == 3 ? static_cast<double>(random.below(50)) : 0};
      const Spec& spec = specs[index];
      const int wrong = weir_quota(quota, spec.algorithm, spec.limit, spec.window, spec.burst);
      mix(weir_answer(), wrong);
      if (wrong != 0) specs[index].window = 0;
      if (wrong != 0) continue;
    }
    const Spec& spec = specs[index];
    const double cost = cost_of(random, spec);
    now += time_step(random, spec.window);
    const int bucket = static_cast<int>(random.below(2));
    const std::uint32_t length = put_key(random.below(3000));
    switch (random.below(16)) {
      case 0: weir_reset(quota, bucket, length); break;
      case 1: {
        weir_hash(quota, bucket, length);
        std::array<double, 6> bytes{};
        std::memcpy(bytes.data(), weir_text(16), 16);
        mix(bytes.data(), 0);
        break;
      }
      case 2:
      case 3:
      case 4: {
        if (stepped != quota) words[index] = 0;
        stepped = quota;
        const int step = weir_step(quota, words[index], cost, now);
        words[index] = step >> 2;
        mix(weir_answer(), step);
        break;
      }
      default: mix(weir_answer(), weir_spend(quota, bucket, length, cost, now));
    }
    if (op % kOpsPerLine == 0) std::printf("%u %08x %.0f\n", op, hash, weir_evictions());
  }
}
