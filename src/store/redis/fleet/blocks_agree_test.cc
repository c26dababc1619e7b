// All nodes agree on the keys that the newest acts block, after any loss, in any order of return.
// blocks_agree_redis_test.cc does the same with a real Redis.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/resp/reply_reader.h"
#include "store/redis/fleet/blocks_testing.h"
#include "store/redis/fleet/fleet_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::BlocksNode;
using testing::BlocksWorld;

constexpr Instant kNow = instant_from_epoch_us(1'700'000'000'000'000);

// Answers as the function fields.blocks of beat.lua does.
class SimulatedRedis {
 public:
  const resp::Reply& beat(const std::vector<std::string>& words, Instant now) {
    const std::int64_t now_us = epoch_us(now);
    if (now >= now_.ends) now_.entries.clear();
    const auto space = words[1].find(' ');
    Id last_read = id_of(words[1].substr(0, space));
    const std::string known = space == std::string::npos ? "" : words[1].substr(space + 1);
    if (now_.epoch == 0 || (last_read != Id() && find(last_read) == now_.entries.end())) {
      now_.epoch = now_us;
    }
    if (known != std::to_string(now_.epoch)) last_read = Id();
    for (std::size_t i = 2; i < words.size(); i += 3) {
      if (now_us / 1'000 > now_.last.first) now_.last = {now_us / 1'000, 0};
      ++now_.last.second;
      now_.entries.push_back({now_.last, words[0], words[i], words[i + 1]});
      now_.ends = std::max(now_.ends, now + std::chrono::milliseconds(std::stoll(words[i + 2])));
    }
    return answer(now_us, last_read);
  }
  void lose() { now_ = {}; }
  void forget() { now_ = std::exchange(copy_, now_); }

 private:
  using Id = std::pair<std::int64_t, std::int64_t>;
  struct Entry {
    Id id;
    std::string node;
    std::string block;
    std::string left;
  };
  struct Data {
    std::vector<Entry> entries;
    Id last{};
    Instant ends{};
    std::int64_t epoch = 0;
  };

  static Id id_of(const std::string& told) {
    return {std::stoll(told), std::stoll(told.substr(told.find('-') + 1))};
  }
  std::vector<Entry>::iterator find(const Id& id) {
    return std::ranges::find(now_.entries, id, &Entry::id);
  }
  const resp::Reply& answer(std::int64_t now_us, const Id& last_read) {
    std::string found;
    std::size_t count = 0;
    for (const Entry& entry : now_.entries) {
      if (entry.id <= last_read || count == BlocksField::kBlocksMax) continue;
      ++count;
      const auto& [ms, number] = entry.id;
      found += testing::resp_text(std::to_string(ms) + "-" + std::to_string(number)) +
               testing::resp_text(entry.node) + testing::resp_text(entry.block) +
               testing::resp_text(entry.left);
    }
    reader_.emplace();
    answer_ = "*" + std::to_string(2 + 4 * count) + "\r\n:" + std::to_string(now_us / 1'000) +
              "\r\n:" + std::to_string(now_.epoch) + "\r\n" + found;
    EXPECT_EQ(reader_->read(answer_), resp::ReplyReader::Status::kReply);
    return reader_->reply();
  }

  Data now_;
  Data copy_;
  std::string answer_;
  std::optional<resp::ReplyReader> reader_;
};

void beat(BlocksNode& node, SimulatedRedis& redis, Instant now) {
  do {
    std::vector<std::string> words;
    node.field.say(words, now);
    ASSERT_EQ(node.field.hear(redis.beat(words, now), now), "");
  } while (node.field.has_more());
}

// In half of the tries one node had lifted the block, and another node brought it back.
TEST(BlocksAgree, ALiftHoldsWhoeverComesBackFirstToARedisThatIsEmpty) {
  for (const bool is_lifter_first : {true, false}) {
    SimulatedRedis redis;
    BlocksNode one("one");
    BlocksNode other("other");
    const Block block{.rule = "r", .key = "k", .since = kNow, .until = kNow + 1h};
    one.blocks.add(block, kNow);
    for (BlocksNode* node : {&one, &other}) beat(*node, redis, kNow + 1s);
    ASSERT_TRUE(other.blocks.until("r", "k", kNow + 1s));
    redis.lose();
    EXPECT_TRUE(other.blocks.lift("r", "k", kNow + 2s));
    for (int round = 0; round < 2; ++round) {
      if (is_lifter_first) beat(other, redis, kNow + 3s);
      beat(one, redis, kNow + 3s);
      if (!is_lifter_first) beat(other, redis, kNow + 3s);
    }
    EXPECT_FALSE(one.blocks.until("r", "k", kNow + 4s)) << is_lifter_first;
    EXPECT_FALSE(other.blocks.until("r", "k", kNow + 4s)) << is_lifter_first;
  }
}

// Only one node had heard of the act, and it was not the first to come back.
TEST(BlocksAgree, AnActThatRedisLostBeforeAllReadItIsToldAgain) {
  SimulatedRedis redis;
  BlocksNode one("one");
  BlocksNode other("other");
  for (BlocksNode* node : {&one, &other}) beat(*node, redis, kNow);
  one.blocks.add({.rule = "r", .key = "k", .since = kNow, .until = kNow + 1h}, kNow);
  beat(one, redis, kNow + 1s);
  redis.lose();
  for (int round = 0; round < 2; ++round) {
    for (BlocksNode* node : {&other, &one}) beat(*node, redis, kNow + 2s);
  }
  EXPECT_TRUE(other.blocks.until("r", "k", kNow + 3s));
}

// A node with a slow clock lifted nothing, as its lift was older than the block.
TEST(BlocksAgree, ALiftIsNewerThanTheBlockThatItLiftsWhateverTheClocksSay) {
  SimulatedRedis redis;
  BlocksNode one("one");
  BlocksNode behind("behind", -1h);
  one.blocks.add({.rule = "r", .key = "k", .since = kNow, .until = kNow + 5h}, kNow);
  beat(one, redis, kNow);
  const auto beat_behind = [&] {
    std::vector<std::string> words;
    behind.field.say(words, kNow - 1h);
    ASSERT_EQ(behind.field.hear(redis.beat(words, kNow), kNow - 1h), "");
  };
  beat_behind();
  EXPECT_TRUE(behind.blocks.lift("r", "k", kNow - 1h));
  beat_behind();
  beat(one, redis, kNow);
  EXPECT_FALSE(one.blocks.until("r", "k", kNow));
  one.blocks.add({.rule = "r", .key = "k", .since = kNow, .until = kNow + 5h}, kNow);
  beat(one, redis, kNow);
  beat_behind();
  EXPECT_TRUE(behind.blocks.until("r", "k", kNow - 1h)) << "blocked again";
}

TEST(BlocksAgree, AfterTwoBeatsAllNodesFollowTheNewestActs) {
  for (unsigned seed = 0; seed < 2'000 && !HasFailure(); ++seed) {
    SimulatedRedis redis;
    const Duration skew = seed % 2 == 0 ? Duration(0) : Duration(5s);
    BlocksWorld world(redis, {.seed = seed, .step_max = 2min, .skew_max = skew}, kNow);
    for (unsigned i = 0; i < 60; ++i) world.step();
    world.settle();
    world.expect_agreement();
  }
}

}  // namespace
}  // namespace weir
