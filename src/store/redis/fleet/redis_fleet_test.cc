#include "store/redis/fleet/redis_fleet.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/block_bytes.h"
#include "store/redis/client/client_testing.h"
#include "store/redis/fleet/fleet_testing.h"
#include "store/redis/script/charge_script.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// The bytes of an act on rule "r".
std::string act(const std::string& key, BlockReason reason = BlockReason::kDenied) {
  return to_bytes({.rule = "r",
                   .key = key,
                   .since = instant_from_epoch_us(1),
                   .until = instant_from_epoch_us(9),
                   .reason = reason});
}
const std::string kDenied("\0\x01r", 3);  // reason and rule of its bytes

class RedisFleetTest : public ::testing::Test {
 protected:
  RedisFleetOptions options() {
    RedisFleetOptions options;
    options.url = *RedisUrl::parse("redis://a:1");
    options.node = "me";
    return options;
  }

  // With a secret that is not the hasher's.
  RedisFleetOptions with_other_secret() {
    RedisFleetOptions other = options();
    unsigned next = 0;
    for (std::byte& byte : other.secret.bytes) byte = static_cast<std::byte>(next++);
    return other;
  }

  void make_fleet() { make_fleet(options()); }
  void make_fleet(const RedisFleetOptions& options) {
    fleet_.emplace(
        options,
        RedisFleet::Core{.number = 0,
                         .surroundings = {.reactor = reactor_, .dialer = dialer_, .seed = 1},
                         .topics = {.blocks = blocks_,
                                    .traffic = &node_.recent_traffic,
                                    .switches = &node_.switches,
                                    .keys = &node_.keys},
                         .state = state_,
                         .listener = listener_,
                         .own_counters = *memory_},
        reactor_.now());
  }

  void join() {
    make_fleet();
    connect();
  }
  void connect() {
    server_.emplace(dialer_.accept("a:1"), reactor_);
    server_->welcome("standalone", "master");
  }

  // Answers as the script does.
  void answer_beat(int nodes, const std::vector<std::string>& told = {}, char secret = 's',
                   const std::string& since = "") {
    std::vector<std::string> lines = {"%3",
                                      "$5",
                                      "nodes",
                                      "*3",
                                      ":" + std::to_string(nodes),
                                      ":0",
                                      ":0",
                                      "$6",
                                      "secret",
                                      "$" + std::to_string(192 + since.size()),
                                      std::string(192, secret) + since,
                                      "$6",
                                      "blocks",
                                      "*" + std::to_string(2 + told.size()),
                                      ":5000",
                                      ":" + std::to_string(epoch_)};
    for (const std::string& text : told) {
      lines.push_back("$" + std::to_string(text.size()));
      lines.push_back(text);
    }
    server_->say(lines);
  }

  void block(const std::string& key) {
    const Instant now = reactor_.now();
    blocks_.add({.rule = "r", .key = key, .since = now, .until = now + 1h}, now);
  }
  // How many blocks the server receives.
  int hear_blocks() {
    const std::string heard = server_->hear();
    int blocks = 0;
    for (std::size_t at = 0; (at = heard.find(kDenied, at)) != std::string::npos; ++at) {
      ++blocks;
    }
    return blocks;
  }

  // kNone: it waits.
  StoreError ask(Store& store) {
    batch_.charges = {&charge_, 1};
    batch_.decisions = {&decision_, 1};
    batch_.on_done = [](Batch&) noexcept {};
    store.decide(batch_, reactor_.now());
    return batch_.error;
  }

  const Quota quota_ = *Quota::make({.limit = 1, .window = 1min});
  const Charge charge_{.key = {1, 2}, .quota = &quota_};
  Decision decision_;
  Batch batch_;
  FakeReactor reactor_;
  FakeDialer dialer_{reactor_};
  testing::FleetNode node_{reactor_.now()};
  KeyHasher& hasher_ = node_.hasher;
  BlockList& blocks_ = node_.blocks;
  FleetState& state_ = node_.state;
  testing::NotedFleet& listener_ = node_.listener;
  std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, reactor_.now());
  std::int64_t epoch_ = 17;
  std::optional<RedisFleet> fleet_;
  std::optional<Server> server_;
};

TEST_F(RedisFleetTest, SharesNothingBeforeTheSecretIsKnown) {
  join();
  EXPECT_EQ(ask(fleet_->store(Mode::kStrict)), StoreError::kUnavailable);
  reactor_.advance(100ms);
  EXPECT_NE(server_->hear().find("weir:{fleet}:secret"), std::string::npos);
  answer_beat(3);
  ASSERT_EQ(listener_.secrets.size(), 1u);
  EXPECT_EQ(listener_.secrets[0].bytes[0], std::byte{'s'});
  EXPECT_EQ(fleet_->live_nodes(), 3);
  fleet_->use_secret(hasher_, reactor_.now());
  EXPECT_TRUE(state_.health().is_healthy);
  EXPECT_EQ(ask(fleet_->store(Mode::kStrict)), StoreError::kNone);
}

// The processes of one node take turns: the next one goes on where the last one ended.
TEST_F(RedisFleetTest, BeatsWhileItIsItsTurn) {
  RedisFleetOptions taking_turns = options();
  taking_turns.beat = RedisFleetOptions::Beat::kByTurns;
  make_fleet(taking_turns);
  connect();
  reactor_.advance(2s);
  EXPECT_EQ(server_->hear(), "");
  fleet_->begin_beat({.secret = {}, .blocks_read = "17-4 17"}, reactor_.now());
  reactor_.advance(1ms);
  EXPECT_NE(server_->hear().find(" me 17-4 17 "), std::string::npos);
  const std::string theirs = act("theirs");
  answer_beat(2, {"4000-0", "other", theirs, "60000"});
  EXPECT_EQ(fleet_->blocks_read(), "4000-0 17");
  EXPECT_TRUE(fleet_->has_told_blocks());
  block("mine");
  EXPECT_FALSE(fleet_->has_told_blocks());
  fleet_->end_beat();
  reactor_.advance(2s);
  EXPECT_EQ(server_->hear(), "");
}

// Once a node that had just started forgot its admissions until then, debts included.
TEST_F(RedisFleetTest, ChargesWhatItAdmittedBeforeTheSecretWasKnown) {
  make_fleet(with_other_secret());
  const KeyName name{.rule = "r", .bucket = "", .key = "k"};
  fleet_->admitted_early(name, {&quota_, 1}, 7, reactor_.now());
  connect();
  reactor_.advance(100ms);
  answer_beat(1);
  server_->hear();
  fleet_->use_secret(hasher_, reactor_.now());
  reactor_.advance(1ms);
  Charge charge{.key = hasher_.hash(name, quota_), .quota = &quota_, .cost = quota_.debt_max()};
  ChargeCall expected("weir:");
  expected.add(ScriptOperation::kSync, {&charge, 1});
  const std::string heard = server_->hear();
  EXPECT_NE(heard.find(expected.words()[3]), std::string::npos) << "the key";
  EXPECT_NE(heard.find(expected.words().back()), std::string::npos) << "what it is charged";
  charge.cost = 1;
  batch_.charges = {&charge, 1};
  batch_.decisions = {&decision_, 1};
  batch_.on_done = [](Batch&) noexcept {};
  memory_->decide(batch_, reactor_.now());
  EXPECT_FALSE(decision_.allowed()) << "this node's own counters know it by the new name, too";
}

// Once a node that had just joined admitted a local limit twice: once under each name.
TEST_F(RedisFleetTest, CountsLocalKeysUnderTheirNewNames) {
  const KeyName name{.rule = "r", .bucket = "", .key = "k"};
  for (const bool is_own_secret : {false, true}) {
    make_fleet(is_own_secret ? options() : with_other_secret());
    fleet_->counted_early(name, {&quota_, 1}, 1, reactor_.now());
    fleet_->use_secret(hasher_, reactor_.now());
    const Charge charge{.key = hasher_.hash(name, quota_), .quota = &quota_};
    Decision look = memory_->decide_one(Operation::kLook, charge, reactor_.now());
    EXPECT_EQ(look.remaining, is_own_secret ? 1 : 0) << "its counters know it if that is its own";
    memory_->decide_one(Operation::kReset, charge, reactor_.now());
    fleet_.reset();
  }
}

// Once a log that had crossed the start of a window lost some of its units.
TEST_F(RedisFleetTest, CountsAllUnitsOfALogUnderItsNewName) {
  const Quota log = *Quota::make({Algorithm::kSlidingLog, 10, 1min});
  const KeyName name{.rule = "r", .bucket = "", .key = "k"};
  make_fleet(with_other_secret());
  const KeyHasher own(with_other_secret().secret);
  memory_->decide_one(Operation::kSpendEach, {own.hash(name, log), &log, 5}, reactor_.now());
  fleet_->counted_early(name, {&log, 1}, 5, reactor_.now());
  reactor_.advance(59s);
  memory_->decide_one(Operation::kSpendEach, {own.hash(name, log), &log, 2}, reactor_.now());
  fleet_->counted_early(name, {&log, 1}, 2, reactor_.now());
  reactor_.advance(900ms);
  fleet_->use_secret(hasher_, reactor_.now());
  const Charge charge{.key = hasher_.hash(name, log), .quota = &log};
  EXPECT_EQ(memory_->decide_one(Operation::kLook, charge, reactor_.now()).remaining, 3);
}

TEST_F(RedisFleetTest, BringsBackTheSecretThatARedisHasLost) {
  join();
  reactor_.advance(100ms);
  EXPECT_EQ(server_->hear().find(std::string(192, 's')), std::string::npos);
  answer_beat(1, {}, 's', "1700000000 1690000000000000");
  reactor_.advance(100ms);
  EXPECT_NE(server_->hear().find(std::string(192, 's') + " 1690000000000000 "), std::string::npos);
  answer_beat(1, {}, 's', "1700000007 garbage");
  EXPECT_EQ(listener_.secrets.size(), 1u);
  reactor_.advance(100ms);
  EXPECT_EQ(server_->hear().find("garbage"), std::string::npos);
}

TEST_F(RedisFleetTest, TellsBlocksAndLearnsThoseOfOthers) {
  join();
  block("mine");
  reactor_.advance(100ms);
  EXPECT_NE(server_->hear().find(kDenied + "\x04mine"), std::string::npos);
  const std::string block = act("theirs");
  answer_beat(2, {"4000-0", "other", block, "60000", "4500-1", "me", block, "90000"});
  // A minute was left when it was sent, at 4 s; by the Redis it is 5 s now.
  EXPECT_EQ(blocks_.until("r", "theirs", reactor_.now()), reactor_.now() + 59s);
  reactor_.advance(100ms);
  EXPECT_EQ(server_->hear().find(kDenied), std::string::npos);  // sent once, and no echo
  answer_beat(2, {"4600-0", "other", act("theirs", BlockReason::kLifted), "1000"});
  EXPECT_FALSE(blocks_.until("r", "theirs", reactor_.now()));
}

TEST_F(RedisFleetTest, BeatsOftenEnoughToBeAliveHoweverSeldomItSyncs) {
  RedisFleetOptions seldom = options();
  seldom.sync_interval = 10s;
  make_fleet(seldom);
  connect();
  int beats = 0;
  for (Duration passed{0}; passed < NodesField::kAliveMax; passed += 100ms) {
    reactor_.advance(100ms);
    if (server_->hear().empty()) continue;
    ++beats;
    answer_beat(2);
  }
  EXPECT_GE(beats, 4);
}

TEST_F(RedisFleetTest, WhatWasNotHeardIsToldAgain) {
  join();
  block("mine");
  reactor_.advance(100ms);
  server_->hear();
  server_->hang_up();
  reactor_.advance(100ms);
  connect();
  reactor_.advance(100ms);
  EXPECT_NE(server_->hear().find(kDenied + "\x04mine"), std::string::npos);
}

TEST_F(RedisFleetTest, ManyBlocksAreToldAndLearnedWithoutWaitingForTheNextInterval) {
  join();
  for (int i = 0; i < 300; ++i) block("mine" + std::to_string(i));
  reactor_.advance(1ms);
  EXPECT_EQ(hear_blocks(), 256);
  answer_beat(2);
  reactor_.advance(1ms);
  EXPECT_EQ(hear_blocks(), 44);
  std::vector<std::string> theirs;
  for (int i = 0; i < 256; ++i) {
    const std::string entry = act("theirs" + std::to_string(i));
    theirs.insert(theirs.end(), {"4000-" + std::to_string(i), "other", entry, "60000"});
  }
  answer_beat(2, theirs);
  EXPECT_EQ(blocks_.size(), 556u);
  reactor_.advance(1ms);
  EXPECT_NE(server_->hear().find(" 4000-255 17 "), std::string::npos);
  answer_beat(2);
  reactor_.advance(1ms);
  EXPECT_EQ(server_->hear(), "");  // that was all
}

TEST_F(RedisFleetTest, TellsAllBlocksAgainToARedisThatHasLostThem) {
  join();
  for (int i = 0; i < 200; ++i) block("mine" + std::to_string(i));
  reactor_.advance(1ms);
  EXPECT_EQ(hear_blocks(), 200);
  const std::string theirs = act("theirs");
  answer_beat(2, {"4000-0", "other", theirs, "60000"});
  for (int i = 200; i < 400; ++i) block("mine" + std::to_string(i));
  reactor_.advance(100ms);
  EXPECT_EQ(hear_blocks(), 200);
  epoch_ = 18;
  answer_beat(1);
  reactor_.advance(1ms);
  const std::string first = server_->hear();
  EXPECT_NE(first.find(" me 0-0 18 "), std::string::npos);
  const std::string lifted = first.find("r\x05mine0") == std::string::npos ? "mine0" : "mine399";
  blocks_.lift("r", lifted, reactor_.now());  // one that was not told yet
  blocks_.lift("r", "theirs", reactor_.now());
  answer_beat(1);
  reactor_.advance(1ms);
  const std::string heard = server_->hear();
  const std::string name = static_cast<char>(lifted.size()) + lifted;
  ASSERT_NE(heard.find("\x02\x01r" + name), std::string::npos);  // as lifted, and no more
  EXPECT_EQ(heard.find("r" + name), heard.rfind("r" + name));
  answer_beat(1);
  reactor_.advance(1ms);
  EXPECT_EQ(server_->hear(), "");
}

TEST_F(RedisFleetTest, TellsAllBlocksAgainIfThereIsAnotherFleetNow) {
  join();
  block("mine");
  reactor_.advance(1ms);
  EXPECT_EQ(hear_blocks(), 1);
  answer_beat(1);
  reactor_.advance(100ms);
  EXPECT_EQ(hear_blocks(), 0);
  epoch_ = 18;
  answer_beat(2, {}, 't');
  reactor_.advance(1ms);
  EXPECT_EQ(hear_blocks(), 1);
}

TEST_F(RedisFleetTest, WhoLeavesIsNoLongerCountedAndTellsWhatItHasToTell) {
  join();
  reactor_.advance(1ms);
  EXPECT_NE(server_->hear().find(" keeps "), std::string::npos);
  block("mine");
  EXPECT_FALSE(fleet_->leave(reactor_.now()));  // the beat before is under way
  answer_beat(2);
  EXPECT_FALSE(fleet_->leave(reactor_.now()));
  reactor_.advance(1ms);
  const std::string heard = server_->hear();
  EXPECT_NE(heard.find(" leaves "), std::string::npos);
  EXPECT_NE(heard.find(kDenied + "\x04mine"), std::string::npos);
  EXPECT_FALSE(fleet_->leave(reactor_.now()));
  answer_beat(1);
  EXPECT_TRUE(fleet_->leave(reactor_.now()));
  reactor_.advance(1s);
  EXPECT_EQ(server_->hear(), "");  // it does not come back
}

TEST_F(RedisFleetTest, NobodyWaitsForARedisThatIsAwayToLeave) {
  make_fleet();
  EXPECT_TRUE(fleet_->leave(reactor_.now()));
}

TEST_F(RedisFleetTest, NonsenseIsNamedOnce) {
  join();
  for (int i = 0; i < 3; ++i) {
    reactor_.advance(100ms);
    server_->hear();
    server_->say({"-NOPERM this user has no permissions"});
  }
  EXPECT_EQ(listener_.said,
            std::vector<std::string>{"this node and the others do not hear of each other: "
                                     "NOPERM this user has no permissions"});
  EXPECT_EQ(state_.beat_failure(), listener_.said.front());
  EXPECT_EQ(state_.health().reason, "the fleet's secret is not known yet");
}

TEST_F(RedisFleetTest, ASecretThatIsNoneIsNamedOnceUntilItIsOne) {
  join();
  for (int i = 0; i < 3; ++i) {
    reactor_.advance(100ms);
    server_->hear();
    server_->say({"*4", "$5", "nodes", "*1", ":2", "$6", "secret", "$5", "short"});
  }
  EXPECT_EQ(listener_.said.size(), 1u);
  EXPECT_TRUE(listener_.secrets.empty());
  reactor_.advance(100ms);
  server_->hear();
  answer_beat(2);
  EXPECT_EQ(state_.beat_failure(), "");
}

TEST_F(RedisFleetTest, SaysThatRedisHasLostWhatItHad) {
  join();
  const auto losses_after = [&](const std::string& since) {
    reactor_.advance(100ms);
    server_->hear();
    answer_beat(1, {}, 's', since);
    return state_.shown(Mode::kStrict, {}).losses;
  };
  EXPECT_EQ(losses_after(""), 0u);  // a node of another version has brought the secret
  EXPECT_EQ(losses_after("1700000000"), 1u);
  EXPECT_EQ(losses_after("1700000000"), 1u);
  EXPECT_EQ(losses_after("1700000007"), 2u);
  EXPECT_EQ(listener_.said.size(), 2u);
  EXPECT_EQ(listener_.secrets.size(), 1u);
}

// The reply of a script that knows other fields, or not all of them.
TEST_F(RedisFleetTest, HearsTheFieldsThatItKnowsOfThoseThatAreThere) {
  join();
  reactor_.advance(1ms);
  const std::string heard = server_->hear();
  EXPECT_NE(heard.find(" 7 weir:{fleet}:nodes weir:{fleet}:secret weir:{fleet}:blocks "
                       "weir:{fleet}:traffic weir:{fleet}:switches weir:{fleet}:busiest "
                       "weir:{fleet}:news nodes 4 me "),
            std::string::npos);
  server_->say({"*6", "$7", "weather", "*2", "$4", "rain", ":7", "$5", "nodes", "*1", ":4"});
  server_->say({"$4", "tide", "*0"});
  EXPECT_EQ(fleet_->live_nodes(), 4);
  EXPECT_TRUE(listener_.said.empty());
  EXPECT_TRUE(listener_.secrets.empty());
  reactor_.advance(100ms);
  server_->hear();
  answer_beat(2);
  EXPECT_EQ(listener_.secrets.size(), 1u);
}

TEST_F(RedisFleetTest, WhatRedisHasHeardIsNotToldAgainBecauseTheSecretIsNone) {
  join();
  block("mine");
  reactor_.advance(1ms);
  EXPECT_EQ(hear_blocks(), 1);
  server_->say({"*6", "$5", "nodes", "*1", ":2", "$6", "secret", "$5", "short"});
  server_->say({"$6", "blocks", "*2", ":5000", ":17"});
  reactor_.advance(100ms);
  EXPECT_EQ(hear_blocks(), 0);
}

TEST_F(RedisFleetTest, SaysOfChangesThatLast) {
  join();
  reactor_.advance(100ms);
  server_->hear();
  answer_beat(1);
  fleet_->use_secret(hasher_, reactor_.now());
  reactor_.advance(1s);
  server_->hang_up();
  reactor_.advance(100ms);
  connect();  // within a moment
  reactor_.advance(1s);
  EXPECT_EQ(listener_.said,
            std::vector<std::string>{"connected to redis://a:1; limits are shared"});
  server_->hang_up();
  reactor_.advance(1s);
  ASSERT_EQ(listener_.said.size(), 2u);
  EXPECT_NE(listener_.said[1].find("rules decide as"), std::string::npos) << listener_.said[1];
}

}  // namespace
}  // namespace weir
