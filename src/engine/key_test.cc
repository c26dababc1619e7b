#include "weir/key.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <utility>

namespace weir {
namespace {

using namespace std::chrono_literals;

Quota quota_of(Algorithm algorithm, std::int64_t limit, Duration window) {
  return *Quota::make({.algorithm = algorithm, .limit = limit, .window = window});
}

// All bytes differ: XXH3 xors words of the secret with each other.
HashSecret secret_of(std::uint32_t seed) {
  std::mt19937 random(seed);
  HashSecret secret;
  for (std::byte& byte : secret.bytes) byte = static_cast<std::byte>(random() & 0xff);
  return secret;
}

class KeyTest : public ::testing::Test {
 protected:
  std::pair<std::uint64_t, std::uint64_t> hash(const KeyName& name) const {
    const KeyHash hash = hasher_.hash(name, quota_);
    return {hash.high, hash.low};
  }
  const Quota quota_ = quota_of(Algorithm::kSlidingWindow, 10, 1min);
  const KeyHasher hasher_{secret_of(1)};
};

TEST_F(KeyTest, TheSameNamesAreTheSameKey) {
  EXPECT_EQ(hash({"rule", "bucket", "key"}), hash({"rule", "bucket", "key"}));
}

// However the same text is cut into names, the keys differ.
TEST_F(KeyTest, NamesAreNeverJoined) {
  const std::string text = "a_b_a_b";
  std::set<std::pair<std::uint64_t, std::uint64_t>> hashes;
  std::size_t count = 0;
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      const std::string_view view = text;
      hashes.insert(
          hash({view.substr(0, first), view.substr(first, second - first), view.substr(second)}));
      ++count;
    }
  }
  EXPECT_EQ(hashes.size(), count);
}

TEST_F(KeyTest, BytesOfAnyKindCount) {
  EXPECT_NE(hash({"", "", std::string_view("a\0b", 3)}), hash({"", "", "a"}));
  EXPECT_NE(hash({"", "", "\xff\xfe"}), hash({"", "", "\xff\xfd"}));
  const std::string long_key(1 << 20, 'k');
  EXPECT_NE(hash({"", "", long_key}), hash({"", "", std::string_view(long_key).substr(1)}));
}

TEST_F(KeyTest, AlgorithmAndWindowArePartOfItButTheLimitIsNot) {
  const auto hash_under = [&](const Quota& quota) { return hasher_.hash({"", "b", "k"}, quota); };
  const KeyHash hash = hash_under(quota_);
  EXPECT_EQ(hash, hash_under(quota_of(Algorithm::kSlidingWindow, 99, 1min)));
  EXPECT_NE(hash, hash_under(quota_of(Algorithm::kFixedWindow, 10, 1min)));
  EXPECT_NE(hash, hash_under(quota_of(Algorithm::kSlidingWindow, 10, 2min)));
}

TEST_F(KeyTest, HashingInTwoStepsGivesTheSame) {
  for (const KeyName& name : {KeyName{"rule", "bucket", "key"}, KeyName{"", "bucket", "key"},
                              KeyName{"rule", "", "key"}, KeyName{"", "", ""}}) {
    EXPECT_EQ(KeyHasher::combine_names(hasher_.hash_names(name), quota_),
              hasher_.hash(name, quota_));
  }
}

TEST_F(KeyTest, AnotherSecretGivesOtherHashes) {
  const KeyHasher other(secret_of(2));
  for (const std::size_t length : {0u, 1u, 8u, 16u, 100u, 1000u}) {
    const std::string key(length, 'k');
    EXPECT_NE(hasher_.hash({"", "b", key}, quota_), other.hash({"", "b", key}, quota_));
  }
}

}  // namespace
}  // namespace weir
