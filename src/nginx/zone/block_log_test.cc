#include "nginx/zone/block_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/shared_pages_testing.h"

namespace weir::nginx {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr Instant kNow = Instant(hours(24 * 365 * 55));
constexpr std::size_t kBytes = BlockLog::kBytesMin;

// Memory that a fork shares, with a log in it.
struct LogMemory : SharedPages {
  LogMemory() : SharedPages(kBytes) { BlockLog::format(bytes()); }
};

// One worker's part in blocks.
struct Worker {
  explicit Worker(const LogMemory& memory) : log(memory.bytes(), hasher) { learn(); }
  void learn() { log.learn(kNow); }
  void block(const std::string& key, Duration lasting = hours(1)) {
    blocks.add({.rule = "login", .key = key, .since = kNow, .until = kNow + lasting}, kNow);
    log.tell(kNow);
  }
  void lift(const std::string& key) {
    blocks.lift("login", key, kNow);
    log.tell(kNow);
  }
  bool blocks_key(const std::string& key) {
    learn();
    return blocks.until("login", key, kNow).has_value();
  }

  KeyHasher hasher{HashSecret{}};
  BlockLog log;
  BlockList& blocks = log.list();
};

// Else blocks made while the telling worker was replaced would hold here alone.
TEST(BlockLog, WhoTellsOtherNodesGoesOnWhereTheLastHasEnded) {
  const LogMemory memory;
  Worker first(memory);
  Worker other(memory);
  other.block("known");
  first.learn();
  first.log.fleet_knows_all();
  other.block("new");
  Worker next(memory);
  next.log.tell_fleet(kNow);
  const auto unknown = next.blocks.take_news(BlockList::Audience::kFleet, 9);
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown.front().key, "new");
}

// Blocks that others have told this worker are news for other nodes. A full log is no news: else a
// client that floods one nginx with blocks would lift the blocks of all.
TEST(BlockLog, WhatFindsNoRoomIsNotLiftedOnOtherNodes) {
  const LogMemory memory;
  Worker one(memory);
  Worker other(memory);
  one.blocks.share(BlockList::Audience::kFleet);
  other.block("ada");
  one.learn();
  EXPECT_EQ(one.blocks.take_news(BlockList::Audience::kFleet, 9).size(), 1u);
  for (int i = 0; other.log.generation() == 0; ++i) other.block(std::to_string(i), hours(1 + i));
  one.learn();
  for (const Block& news : one.blocks.take_news(BlockList::Audience::kFleet, 4'096)) {
    EXPECT_GT(news.until, kNow) << news.key;
  }
}

TEST(BlockLog, TellsTheOthersWhoIsBlockedAndWhoNoLonger) {
  const LogMemory memory;
  Worker one(memory);
  Worker other(memory);
  one.block("ada");
  EXPECT_TRUE(other.blocks_key("ada"));
  other.lift("ada");
  EXPECT_FALSE(one.blocks_key("ada"));
  other.block("bob");
  EXPECT_TRUE(one.blocks_key("bob"));
}

TEST(BlockLog, TellsOfNetworksOfAllRulesAndWhoseTheyAre) {
  const LogMemory memory;
  Worker one(memory);
  Worker other(memory);
  const Block made{.rule = "",
                   .key = "2001:db8::/32",
                   .since = kNow,
                   .until = kNow + hours(1),
                   .reason = BlockReason::kManual,
                   .by = "carol",
                   .why = "bots"};
  one.blocks.add(made, kNow);
  one.log.tell(kNow);
  EXPECT_TRUE(other.blocks_key("2001:db8::1"));
  const auto listed = other.blocks.list("", 1, kNow);
  EXPECT_EQ(listed.front().by, "carol");
  EXPECT_EQ(listed.front().why, "bots");
  Worker later(memory);
  EXPECT_TRUE(later.blocks_key("2001:db8::1"));
  other.blocks.lift("", "2001:db8::/32", kNow);
  other.log.tell(kNow);
  EXPECT_FALSE(one.blocks_key("2001:db8::1"));
}

TEST(BlockLog, AWorkerThatStartsKnowsAllBlocks) {
  const LogMemory memory;
  {
    Worker former(memory);
    former.block("ada");
    former.block("bob");
    former.lift("bob");
  }
  Worker later(memory);
  EXPECT_TRUE(later.blocks_key("ada"));
  EXPECT_FALSE(later.blocks_key("bob"));
}

TEST(BlockLog, WhatStillHoldsStaysWhenTheLogStartsOver) {
  const LogMemory memory;
  Worker one(memory);
  Worker reader(memory);
  Worker sleeper(memory);  // reads nothing for long
  one.block("first");
  EXPECT_TRUE(sleeper.blocks_key("first"));
  one.block("lifted");
  EXPECT_TRUE(sleeper.blocks_key("lifted"));
  one.lift("lifted");
  // Far more blocks than fit, of which few hold at a time.
  for (int i = 0; i < 2'000; ++i) {
    const auto key = "key " + std::to_string(i);
    one.block(key);
    EXPECT_TRUE(reader.blocks_key(key));
    one.lift(key);
    EXPECT_FALSE(reader.blocks_key(key));
  }
  for (Worker* worker : {&one, &reader, &sleeper}) {
    EXPECT_TRUE(worker->blocks_key("first"));
    EXPECT_FALSE(worker->blocks_key("lifted"));
    EXPECT_EQ(worker->blocks.size(), 1u);
  }
  EXPECT_EQ(one.log.dropped(), 0u);
}

// Other nodes may bring back blocks that were lifted here.
TEST(BlockLog, LiftsStayWhenTheLogStartsOver) {
  const LogMemory memory;
  Worker one(memory);
  one.block("ada");
  one.lift("ada");
  while (one.log.generation() == 0) {
    one.block("bob");
    one.lift("bob");
  }
  Worker later(memory);
  const Block block{.rule = "login", .key = "ada", .since = kNow, .until = kNow + hours(1)};
  later.blocks.learn(block, BlockList::Audience::kFleet, kNow);
  EXPECT_FALSE(later.blocks_key("ada"));
}

// A list keeps no more than the log has room for, unless their names are long.
TEST(BlockLog, CountsBlocksThatFindNoRoom) {
  const LogMemory memory;
  Worker one(memory);
  const std::string name(100, 'x');
  for (int i = 0; i < 2'000; ++i) one.block(name + std::to_string(i));
  EXPECT_GT(one.log.dropped(), 0u);
  EXPECT_LT(one.log.generation(), 50u) << "or each block costs as much as all of them";
  Worker later(memory);
  EXPECT_GT(later.blocks.size(), 100u);
}

// Each worker holds the lock most of the time, so that the kill finds it held.
TEST(BlockLog, AWorkerThatIsKilledLeavesALogThatOthersGoOnWith) {
  const LogMemory memory;
  Worker survivor(memory);
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Worker worker(memory);
      for (int i = 0;; ++i) {
        const auto key = std::to_string(i % 100);
        worker.block(key);
        worker.lift(key);
      }
    }
    const auto mine = "mine " + std::to_string(round);
    survivor.block(mine);
    while (survivor.blocks.changes() < 50u * static_cast<unsigned>(round + 1)) survivor.learn();
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(survivor.blocks_key(mine));
    Worker later(memory);
    EXPECT_TRUE(later.blocks_key(mine));
  }
}

}  // namespace
}  // namespace weir::nginx
