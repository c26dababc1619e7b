// The fields read answers; in redis_fleet_test.cc and tests/e2e the script answers.

#include "store/redis/fleet/beat_fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/block_bytes.h"
#include "proto/resp/reply_reader.h"
#include "store/redis/fleet/fleet_testing.h"

namespace weir {
namespace {

constexpr Instant kNow = instant_from_epoch_us(1'700'000'000'000'000);

// Hears `told`, at most one act, behind a time.
void hear(BlocksField& field, const std::string& told) {
  const std::string head =
      told.size() < 9 ? "*2\r\n:1700000000000\r\n" : "*6\r\n:1700000000000\r\n";
  const std::string reply = head + told;
  resp::ReplyReader reader;
  ASSERT_EQ(reader.read(reply), resp::ReplyReader::Status::kReply);
  EXPECT_EQ(field.hear(reader.reply(), kNow), "");
}

// Such numbers overflowed, and the block of another node was lost.
TEST(BlocksField, ABlockLastsNoLongerThanItMayWhateverItsNumbersSay) {
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  const Block block{.rule = "login", .key = "a", .since = kNow, .until = kNow};
  for (const std::string& id : {most + "-0", std::string("1700000000000-0")}) {
    const KeyHasher hasher{HashSecret{}};
    BlockList blocks(hasher, 64);
    BlocksField field("me", blocks);
    hear(field, ":7\r\n" + testing::resp_text(id) + testing::resp_text("other") +
                    testing::resp_text(to_bytes(block)) + testing::resp_text(most));
    const auto until = blocks.until("login", "a", kNow);
    ASSERT_TRUE(until) << id;
    EXPECT_EQ(*until - kNow, std::chrono::hours(24) * 3660) << id;
  }
}

// A node's page showed a block that began an hour ago, or would begin in an hour.
TEST(BlocksField, ABlockBeganBeforeRedisHeardOfItWhateverTheClockOfItsNode) {
  for (const Instant since : {kNow + std::chrono::hours(1), kNow - std::chrono::hours(1)}) {
    const KeyHasher hasher{HashSecret{}};
    BlockList blocks(hasher, 64);
    blocks.share(BlockList::Audience::kFleet);
    BlocksField field("me", blocks);
    const Block block{
        .rule = "login", .key = "a", .since = since, .until = since + std::chrono::minutes(1)};
    hear(field, ":7\r\n" + testing::resp_text("1699999995000-0") + testing::resp_text("other") +
                    testing::resp_text(to_bytes(block)) + testing::resp_text("55000"));
    const Block known = blocks.list("", 1, kNow).at(0);
    EXPECT_EQ(kNow - known.began, std::chrono::seconds(10));
    EXPECT_EQ(known.until - known.began, std::chrono::minutes(1));
    EXPECT_TRUE(blocks.has_told_fleet().value());
    blocks.add({.rule = "", .key = "b", .since = kNow, .until = kNow + std::chrono::hours(1)},
               kNow);
    std::vector<std::string> words;
    field.say(words, kNow);
    EXPECT_FALSE(blocks.has_told_fleet().value());
    hear(field, ":7\r\n");
    EXPECT_TRUE(blocks.has_told_fleet().value());
  }
}

// An unblock one instant later was in no readable state file.
TEST(BlocksField, AnActAtTheEndOfTimeIsNone) {
  const KeyHasher hasher{HashSecret{}};
  BlockList blocks(hasher, 64);
  BlocksField field("me", blocks);
  const Block block{.rule = "login",
                    .key = "a",
                    .since = instant_from_epoch_us(253'402'300'800'000'000),
                    .until = kNow,
                    .reason = BlockReason::kManual};
  hear(field, ":7\r\n" + testing::resp_text("1700000000000-0") + testing::resp_text("other") +
                  testing::resp_text(to_bytes(block)) + testing::resp_text("3600000"));
  EXPECT_FALSE(blocks.until("login", "a", kNow));
}

// After a loss of Redis a network is sent again, with its own end and not a wider network's.
TEST(BlocksField, ANetworkReachesTheOtherNodes) {
  const KeyHasher hasher{HashSecret{}};
  BlockList blocks(hasher, 64);
  blocks.share(BlockList::Audience::kFleet);
  for (const auto& [key, lasting] : {std::pair("203.0.113.0/24", std::chrono::hours(1)),
                                     std::pair("203.0.0.0/16", std::chrono::hours(9))}) {
    blocks.add({.rule = "",
                .key = key,
                .since = kNow,
                .until = kNow + lasting,
                .reason = BlockReason::kManual},
               kNow);
  }
  BlocksField field("me", blocks);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> words;
    field.say(words, kNow);
    ASSERT_EQ(words.size(), 8u) << round;
    const bool narrow_first = words[2].find("/24") != std::string::npos;
    EXPECT_EQ(words[narrow_first ? 3 : 6], std::to_string(3'600'000)) << round;
    hear(field, ":1\r\n");
    hear(field, ":2\r\n");  // another epoch

    BlockList others(hasher, 64);
    BlocksField hears("other", others);
    hear(hears, ":1\r\n" + testing::resp_text("1700000000000-0") + testing::resp_text("me") +
                    testing::resp_text(words[2]) + testing::resp_text(words[3]));
    EXPECT_TRUE(others.until("login", "203.0.113.9", kNow));
  }
}

// Another node's word on a block.
std::string told(const std::string& key) {
  const Block block{
      .rule = "login", .key = key, .since = kNow, .until = kNow + std::chrono::hours(1)};
  return ":7\r\n" + testing::resp_text("1700000000000-0") + testing::resp_text("other") +
         testing::resp_text(to_bytes(block)) + testing::resp_text("3600000");
}

// A node of a place. All places hear from it.
class BlocksOfPlaces : public ::testing::Test {
 protected:
  BlocksOfPlaces() {
    blocks.share(BlockAudience::kFleet);
    blocks.share(BlockAudience::kWorld);
  }

  const KeyHasher hasher{HashSecret{}};
  BlockList blocks{hasher, 64};
  BlocksField here{"me", blocks};
  BlocksField everywhere{"me", blocks, BlockAudience::kWorld};
};

// Else each of a place's ten nodes would tell all places of one block. The nodes tell each other of
// blocks from other places: one of them may not have heard.
TEST_F(BlocksOfPlaces, AreToldByTheNodeThatHasMadeThem) {
  const auto has_said = [](BlocksField& field) {
    std::vector<std::string> words;
    field.say(words, kNow);
    return words.size() > 2;
  };
  blocks.add({.rule = "login", .key = "a", .since = kNow, .until = kNow + std::chrono::hours(1)},
             kNow);
  EXPECT_TRUE(has_said(here));
  EXPECT_FALSE(blocks.has_told_fleet().value());
  EXPECT_TRUE(has_said(everywhere));
  hear(everywhere, ":7\r\n");
  EXPECT_FALSE(blocks.has_told_fleet().value()) << "only the place's own Redis says so";
  hear(here, ":7\r\n");
  EXPECT_TRUE(blocks.has_told_fleet().value());
  hear(here, told("b"));
  EXPECT_FALSE(has_said(everywhere));
  hear(everywhere, told("c"));
  EXPECT_TRUE(has_said(here));
  EXPECT_TRUE(blocks.until("login", "b", kNow) && blocks.until("login", "c", kNow));
}

// The node that made a block may end before it tells all places, or may not reach them.
TEST_F(BlocksOfPlaces, AreToldByOthersWhereTheirNodeCannot) {
  hear(here, told("told by nobody"));
  hear(here, told("told meanwhile"));
  std::vector<std::string> words;
  int beats = 0;
  for (; words.size() <= 2 && beats <= 2 * BlocksField::kBeatsUntilLate; ++beats) {
    words.clear();
    everywhere.say(words, kNow);
    if (beats == BlocksField::kBeatsUntilLate) {
      hear(everywhere, told("told meanwhile"));
    } else {
      everywhere.hear_no_news();
    }
  }
  EXPECT_GT(beats, BlocksField::kBeatsUntilLate) << "its node comes first";
  ASSERT_EQ(words.size(), 5u) << "one block";
  EXPECT_NE(words[2].find("told by nobody"), std::string::npos);
  words.clear();
  hear(everywhere, ":7\r\n");
  everywhere.say(words, kNow);
  EXPECT_EQ(words.size(), 2u) << "once";
}

}  // namespace
}  // namespace weir
