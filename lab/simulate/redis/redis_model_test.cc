// A simulation's acts on a Redis, and cases that a real Redis does not show at will.

#include "simulate/redis/redis_model.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "simulate/redis/redis_model_testing.h"

namespace weir::lab {
namespace {

using namespace std::chrono_literals;
using Condition = RedisModel::Condition;

TEST(RedisModel, KeysExpireByTheTimeThatItIsGiven) {
  RedisModel redis;
  ModelConnection client{redis};
  EXPECT_EQ(client.ask({"SET", "a", "1", "PX", "10"}), "+OK\r\n");
  client.now += 10ms;
  EXPECT_EQ(client.ask({"GET", "a"}), "$1\r\n1\r\n");
  client.now += 1ms;
  EXPECT_EQ(client.ask({"GET", "a"}), "$-1\r\n");
  EXPECT_EQ(redis.keys(), 0);
}

TEST(RedisModel, AScriptWithoutAnEndIsStopped) {
  RedisModel redis({.script_instructions_max = 1'000'000});
  ModelConnection client{redis};
  EXPECT_EQ(client.ask({"EVAL", "while true do end", "0"}).substr(0, 26),
            "-ERR Script killed by user");
  EXPECT_EQ(client.ask({"EVAL", "return 7", "0"}), ":7\r\n");
}

TEST(RedisModel, ForgetsScriptsAsAfterARestart) {
  RedisModel redis;
  ModelConnection client{redis};
  const std::string sha = "59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9";
  client.ask({"EVAL", "return 7", "0"});
  EXPECT_EQ(client.ask({"EVALSHA", sha, "0"}), ":7\r\n");
  redis.forget_scripts();
  EXPECT_EQ(client.ask({"EVALSHA", sha, "0"}),
            "-NOSCRIPT No matching script. Please use EVAL.\r\n");
}

TEST(RedisModel, SaysWhichRunItIs) {
  RedisModel redis;
  ModelConnection client{redis};
  const std::string first = client.ask({"INFO", "server"});
  redis.set_run(2);
  EXPECT_NE(first, client.ask({"INFO", "server"}));
}

TEST(RedisModel, AFailoverLosesTheLastWritesOfAllKeysAlike) {
  RedisModel master;
  master.keep_writes();
  ModelConnection client{master};
  client.ask({"SET", "a", "1"});
  client.ask({"EVAL", "redis.call('SET', 'b', 1) redis.call('SET', 'c', 1)", "0"});
  const std::uint64_t position = master.position();
  EXPECT_EQ(position, 2);
  client.ask({"SET", "a", "2"});
  client.ask({"HSET", "h", "f", "2"});

  RedisModel replica;
  replica.copy_from(master, master.position());  // whole: it was no replica before
  ModelConnection other{replica};
  EXPECT_EQ(other.ask({"GET", "a"}), "$1\r\n2\r\n");

  RedisModel lagging;
  lagging.copy_from(RedisModel(), 0);
  EXPECT_EQ(lagging.keys(), 0);
}

TEST(RedisModel, AReplicaTakesWritesOneByOne) {
  RedisModel master;
  master.keep_writes();
  RedisModel replica;
  replica.copy_from(master, 0);
  ModelConnection client{master};
  client.ask({"SET", "a", "1", "EX", "100"});
  client.ask({"EVAL", "redis.call('SET', 'b', 1) redis.call('SET', 'c', 1)", "0"});
  client.ask({"XADD", "x", "MAXLEN", "~", "9", "*", "f", "1"});
  client.ask({"SET", "a", "2"});

  replica.copy_from(master, 3);
  EXPECT_EQ(replica.position(), 3);
  ModelConnection other{replica};
  EXPECT_EQ(other.ask({"GET", "a"}), "$1\r\n1\r\n");
  EXPECT_EQ(other.ask({"PTTL", "a"}), ":100000\r\n");
  EXPECT_EQ(other.ask({"GET", "c"}), "$1\r\n1\r\n");
  const std::initializer_list<std::string_view> acts = {"XRANGE", "x", "0-0", "+", "COUNT", "9"};
  EXPECT_EQ(other.ask(acts), client.ask(acts));
  replica.copy_from(master, 4);
  EXPECT_EQ(other.ask({"GET", "a"}), "$1\r\n2\r\n");
}

// This one was promoted, and is a replica again.
TEST(RedisModel, WhoHasWrittenItselfCopiesAll) {
  RedisModel master;
  master.keep_writes();
  RedisModel other;
  other.copy_from(master, 0);
  ModelConnection client{master};
  client.ask({"SET", "a", "1"});
  ModelConnection promoted{other};
  promoted.ask({"SET", "mine", "1"});
  other.copy_from(master, master.position());
  EXPECT_EQ(promoted.ask({"GET", "mine"}), "$-1\r\n");
  EXPECT_EQ(promoted.ask({"GET", "a"}), "$1\r\n1\r\n");
}

TEST(RedisModel, EvictsByChanceFromASeed) {
  RedisModel redis;
  ModelConnection client{redis};
  for (int i = 0; i < 20; ++i) client.ask({"SET", std::to_string(i), "1"});
  Prng chance(7);
  redis.evict(5, chance);
  EXPECT_EQ(redis.keys(), 15);
  redis.evict(50, chance);
  EXPECT_EQ(redis.keys(), 0);
}

TEST(RedisModel, RefusesWhatItsConditionForbids) {
  RedisModel redis;
  ModelConnection client{redis};
  redis.set_condition(Condition::kReadOnly);
  EXPECT_EQ(client.ask({"SET", "a", "1"}),
            "-READONLY You can't write against a read only replica.\r\n");
  EXPECT_EQ(client.ask({"EVAL", "return redis.call('SET', 'a', 1)", "0"}).substr(0, 10),
            "-READONLY ");
  redis.set_condition(Condition::kOutOfMemory);
  EXPECT_EQ(client.ask({"SET", "a", "1"}).substr(0, 5), "-OOM ");
  EXPECT_EQ(client.ask({"DEL", "a"}), ":0\r\n");
  redis.set_condition(Condition::kReady);
  EXPECT_EQ(client.ask({"PING"}), "+PONG\r\n");
}

// So a script that needs more fails where it is simulated.
TEST(RedisModel, RefusesWhatWeirDoesNotSend) {
  RedisModel redis;
  ModelConnection client{redis};
  using List = std::initializer_list<std::string_view>;
  for (const List words : {List{"TTL", "a"},
                           {"get", "a"},
                           {"SCRIPT", "LOAD", "return 7"},
                           {"HELLO", "2"},
                           {"HELLO", "3", "AUTH", "user", "password", "SETNAME", "weir"},
                           {"PING", "hi"},
                           {"SET", "a", "1", "XX"},
                           {"SET", "a", "1", "EXAT", "1700000050"},
                           {"SET", "a", "1", "KEEPTTL"},
                           {"EXPIRE", "a", "10", "NX"},
                           {"HSCAN", "h", "0"},
                           {"ZADD", "z", "NX", "1", "a"},
                           {"ZADD", "z", "1", "a", "2", "b"},
                           {"ZRANGEBYSCORE", "z", "1", "2"},
                           {"XADD", "x", "*", "f", "v"},
                           {"XADD", "x", "MAXLEN", "=", "9", "*", "f", "v"},
                           {"XRANGE", "x", "-", "+", "COUNT", "9"},
                           {"XRANGE", "x", "0-0", "+"},
                           {"EVAL", "return redis.status_reply('OK')", "0"}}) {
    EXPECT_EQ(client.ask(words).substr(0, 5), "-ERR ") << *(words.end() - 1);
  }
}

}  // namespace
}  // namespace weir::lab
