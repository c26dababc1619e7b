#include "engine/block_bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "base/packed.h"

namespace weir {
namespace {

constexpr std::int64_t kTimeMaxUs = 253'402'300'800'000'000;  // the year 9999

Block some_block() {
  std::string key;
  for (int c = 0; c < 256; ++c) key += static_cast<char>(c);
  return {.rule = "login",
          .key = key,
          .since = instant_from_epoch_us(5),
          .until = instant_from_epoch_us(kTimeMaxUs),
          .reason = BlockReason::kManual,
          .by = "carol",
          .why = "many bots"};
}

std::string bytes_of(std::uint64_t since, std::uint64_t reason, std::string_view by) {
  PackedWriter out;
  out.version('1').number(since).number(7).number(reason);
  return out.text("r").text("k").text(by).text("").take();
}

TEST(BlockBytes, AreReadBackAsTheyWereWritten) {
  const std::string bytes = to_bytes({}) + to_bytes(some_block());
  EXPECT_TRUE(
      bytes.starts_with(std::string("1\0\0\0\0\0\0\0"
                                    "1\x05",
                                    10)));
  const auto read = blocks_in(bytes, 2);
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ((*read)[0].reason, BlockReason::kDenied);
  EXPECT_EQ((*read)[1].rule, "login");
  EXPECT_EQ((*read)[1].key, some_block().key);
  EXPECT_EQ((*read)[1].since, some_block().since);
  EXPECT_EQ((*read)[1].until, some_block().until);
  EXPECT_EQ((*read)[1].reason, BlockReason::kManual);
  EXPECT_EQ((*read)[1].by, "carol");
  EXPECT_EQ((*read)[1].why, "many bots");
  EXPECT_TRUE(blocks_in("", 0)->empty());
}

// A clock that is set to another century must not make the bytes unreadable.
TEST(BlockBytes, HaveTimesThatCanBeRead) {
  Block block = some_block();
  block.since = instant_from_epoch_us(-1);
  block.until = Instant::max();
  const auto read = blocks_in(to_bytes(block), 1);
  ASSERT_TRUE(read && read->size() == 1);
  EXPECT_EQ(read->front().since, instant_from_epoch_us(0));
  EXPECT_EQ(read->front().until, instant_from_epoch_us(kTimeMaxUs));
}

TEST(BlockBytes, AreWholeOrRefused) {
  const std::string one = to_bytes(some_block());
  for (std::size_t size = 1; size < one.size(); ++size) {
    EXPECT_FALSE(blocks_in(one + one.substr(0, size), 9)) << size;
  }
  EXPECT_FALSE(blocks_in(one + one, 1)) << "too many";
  EXPECT_FALSE(blocks_in("2" + one.substr(1), 9)) << "another version";
  EXPECT_TRUE(blocks_in(bytes_of(kTimeMaxUs, 3, std::string(64, 'x')), 1));
  EXPECT_FALSE(blocks_in(bytes_of(kTimeMaxUs + 1, 2, ""), 1));
  EXPECT_FALSE(blocks_in(bytes_of(0, 4, ""), 1));
  EXPECT_FALSE(blocks_in(bytes_of(0, 2, std::string(65, 'x')), 1));
}

TEST(StoredKey, OfASecretIsItsDigest) {
  using enum StoredKey::Kind;
  constexpr std::string_view kDigest =  // by sha256sum
      "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(std::string_view(StoredKey("abc", kSecret)), kDigest);
  EXPECT_EQ(std::string_view(StoredKey("abc", kPlain)), "abc");
  EXPECT_EQ(std::string_view(StoredKey(std::string(5000, 'x'), kSecret)).size(), kDigest.size());
  EXPECT_TRUE(StoredKey::is_digest(kDigest));
  for (const std::string_view other : {kDigest.substr(1), kDigest.substr(0, 70)}) {
    EXPECT_FALSE(StoredKey::is_digest(other)) << other;
  }
  EXPECT_FALSE(StoredKey::is_digest("sha256:" + std::string(64, 'g')));
}

}  // namespace
}  // namespace weir
