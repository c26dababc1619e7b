// The model of Redis answers as redis-server does, byte for byte, at the same times: random charges
// of all algorithms, beats and plain commands. Then what connections say, errors of scripts, and
// what a Redis refuses.
//
// WEIR_REDIS_CALLS=100000 sends more, WEIR_REDIS_SEED=7 others.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/random_calls.h"
#include "redis/redis_server.h"
#include "redis/script_redis.h"
#include "simulate/redis/redis_model.h"

namespace weir::testing {
namespace {

using Words = RandomCalls::Words;

std::int64_t number_from(const char* name, std::int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

std::string printable(std::string_view bytes) {
  constexpr std::size_t kShown = 120;
  std::string text;
  for (const char byte : bytes.substr(0, kShown)) {
    if (byte >= ' ' && byte <= '~') {
      text += byte;
    } else {
      std::array<char, 5> escape;
      std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned char>(byte));
      text += escape.data();
    }
  }
  return text;
}

std::string printable(const Words& words) {
  std::string text;
  for (const auto& word : words) text += "\n  " + printable(word);
  return text;
}

// A real Redis and a model of one, at the same time.
class Twins : public ::testing::Test {
 protected:
  Twins() {
    set_time(kStart);
    peer.id = redis.call({"CLIENT", "ID"}).integer().value_or(0);
  }

  void set_time(Instant time) {
    now = time;
    clock.set(time);
  }
  std::string ask_model(std::span<const std::string_view> words) {
    OutputBuffer out;
    model.execute(peer, words, now, out);
    return std::string(out.view());
  }
  // Asks both at once; false after the first difference.
  bool agree(const std::vector<Words>& calls) {
    std::vector<std::vector<std::string_view>> views;
    for (const Words& words : calls) views.emplace_back(words.begin(), words.end());
    for (const auto& words : views) redis.put(words);
    redis.flush();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      redis.read();
      const std::string expected(redis.bytes());
      const std::string answered = ask_model(views[i]);
      if (answered == expected) continue;
      const auto same = std::ranges::mismatch(expected, answered).in1 - expected.begin();
      const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, same - 60));
      ADD_FAILURE() << "at " << epoch_us(now) << printable(calls[i]) << "\nfrom byte " << from
                    << "\nredis " << printable(expected.substr(from)) << "\nmodel "
                    << printable(answered.substr(std::min(from, answered.size())));
      return false;
    }
    return true;
  }

  Instant now;
  RedisClock clock;
  // A hash of ours stays a list: else its order would be chance's.
  RedisServer server{
      {.arguments = {"--hash-max-listpack-entries", "1000000", "--hash-max-listpack-value",
                     "1000000", "--enable-debug-command", "yes"},
       .clock = &clock}};
  RedisConnection redis{server};
  lab::RedisModel model{
      {.hash_listpack_entries_max = 1'000'000, .hash_listpack_value_max = 1'000'000}};
  lab::RedisPeer peer;
};

// What is in the folder of sources, from where a test runs.
std::string beat_script() {
  std::string script;
  for (const char* const part : {"beat", "beat_fields"}) {
    std::ifstream file(std::string("../../src/store/redis/fleet/") + part + ".lua");
    script.append(std::istreambuf_iterator(file), {});
  }
  return script;
}

TEST_F(Twins, AgreeOnRandomCalls) {
  redis.call({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
  const auto seed = static_cast<std::uint64_t>(number_from("WEIR_REDIS_SEED", 1));
  RandomCalls calls(seed, beat_script());
  Prng chance(seed);
  if (seed % 2 == 1) ASSERT_TRUE(agree({{"HELLO", "3", "SETNAME", "weir"}}));
  std::int64_t left = number_from("WEIR_REDIS_CALLS", 8'000);
  while (left > 0) {
    set_time(now + calls.step());
    std::vector<Words> batch;
    for (auto size = 1 + chance.below(16); size > 0; --size) batch.push_back(calls.next(now));
    ASSERT_TRUE(agree(batch)) << left << " calls before the end";
    left -= static_cast<std::int64_t>(batch.size());
  }
}

TEST_F(Twins, AgreeOnWhatConnectionsSay) {
  EXPECT_TRUE(agree({{"HELLO", "3", "SETNAME", "weir"},
                     {"PING"},
                     {"TIME"},
                     {"GET"},
                     {"SELECT", "1"},
                     {"SET", "there", "1"},
                     {"RENAME", "there", "elsewhere"},
                     {"RENAME", "there", "elsewhere"},
                     {"GET", "elsewhere"},
                     {"ZADD", "z", "1", "a"},
                     {"ZADD", "z", "2", "b"},
                     {"ZADD", "z", "3", "c"},
                     {"ZRANGEBYSCORE", "z", "1", "+inf", "WITHSCORES", "LIMIT", "0", "2"},
                     {"ZRANGEBYSCORE", "z", "(1", "+inf", "WITHSCORES", "LIMIT", "0", "2"}}));
}

constexpr auto kTexts = std::to_array<std::string_view>(
    {"return",
     "return nil",
     "return true",
     "return false",
     "return 3.99",
     "return -3.99",
     "return 2 ^ 53 + 2",
     "return 'text'",
     "return {1, 2.5, 'three', nil, 5}",
     "return {{}, {1}}",
     "return {ok = 'fine'}",
     "return {ok = 'two\r\nlines'}",
     "return {err = 'MY mistake'}",
     "return redis.sha1hex('')",
     "return redis.call('GET', 'no')",
     "return redis.call('GET', 'h')",
     "\n\nreturn redis.call('GET', 'h')",
     "return redis.pcall('GET', 'h')",
     "return redis.pcall('GET', 'h').err",
     "return select(2, pcall(redis.call, 'GET', 'h')).err",
     "return redis.call('SET', 'n', 1.5)",
     "redis.call('SET', 'n', 12345678901234567) return redis.call('GET', 'n')",
     "redis.call('SET', 'n', 0.1) return redis.call('GET', 'n')",
     "return redis.call('NOSUCH')",
     "return redis.call('GET')",
     "return redis.call()",
     "return redis.call({})",
     "return redis.call('EVAL', 'return 1', 0)",
     "return redis.call('HGETALL', 'h')",
     "return redis.call('MGET', 'h', 'n', 'no')",
     "return redis.call('PING')",
     "return nosuch",
     "new = 1",
     "local a = nil; return a.b",
     "error('mine')",
     "error({err = 'MY own'})",
     "error()",
     "return 1 + {}",
     "for i = 1, 3 do local x = KEYS[i] .. 'x' end",
     "local f = function() error('deep') end\nf()",
     "return string.format('%d', 7.9)",
     "return {1, {err = 'nested'}, {ok = 'nested'}}",
     "return tostring(1e15) .. 1e14 .. 0.1",
     "return struct.pack('<I1i8I2', 255, -2, 65535)",
     "return {struct.unpack('<i1I1i8', struct.pack('<i1I1i8', -1, 255, -9007199254740992))}",
     "return {struct.unpack('<I4', 'abcdefgh', 3)}",
     "return struct.unpack('<I4', 'abc')",
     "return struct.unpack('<I4', 'abcdef', 0)",
     "return struct.pack('<I8', -1)",
     "return struct.pack('<I1', 'x')",
     "return struct.pack('<I2', 65537.9)",
     "return redis.call('TIME')",
     "return #string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')",
     "return table.concat({1, 2, 'x'}, ',')",
     "return {unpack({1, 2, 3}, 2)}",
     "return ({string.match('12 ab', '^(%d+) (.*)$')})[2]"});

TEST_F(Twins, AgreeOnScriptsAndTheirMistakes) {
  const std::string sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";  // of return 1
  std::vector<Words> calls = {{"EVALSHA", sha, "0"},
                              {"EVALSHA", "x", "0"},
                              {"EVAL", "return 1", "0"},
                              {"EVALSHA", sha, "0"},
                              {"EVAL", "return {KEYS[1], ARGV[1], #KEYS, #ARGV}", "1", "a", "b"},
                              {"HSET", "h", "f", "v"}};
  for (const std::string_view text : kTexts) {
    calls.push_back({"EVAL", std::string(text), "0"});
  }
  for (const auto& call : calls) EXPECT_TRUE(agree({call}));
  EXPECT_TRUE(agree({{"HELLO", "3", "SETNAME", "weir"}}));
  for (const auto& call : calls) EXPECT_TRUE(agree({call}));
}

TEST_F(Twins, AgreeOnWhatAReplicaRefuses) {
  EXPECT_TRUE(agree({{"SET", "a", "1"}}));
  redis.call({"REPLICAOF", "127.0.0.1", "1"});
  model.set_condition(lab::RedisModel::Condition::kReadOnly);
  EXPECT_TRUE(agree({{"GET", "a"},
                     {"SET", "a", "1"},
                     {"DEL", "a"},
                     {"EVAL", "return redis.call('GET', 'a')", "0"},
                     {"EVAL", "redis.call('SET', 'a', 2)", "0"},
                     {"EVAL", "return redis.pcall('SET', 'a', 2)", "0"},
                     {"HELLO", "3", "SETNAME", "weir"}}));
}

TEST_F(Twins, AgreeOnWhatTakesMemory) {
  EXPECT_TRUE(agree({{"SET", "a", "1"}, {"HSET", "h", "f", "1"}}));
  redis.call({"CONFIG", "SET", "maxmemory", "1"});
  model.set_condition(lab::RedisModel::Condition::kOutOfMemory);
  EXPECT_TRUE(agree({{"GET", "a"},
                     {"SET", "a", "1"},
                     {"HSET", "h", "f", "1"},
                     {"ZADD", "z", "1", "f"},
                     {"XADD", "x", "MAXLEN", "~", "9", "*", "f", "1"},
                     {"EXPIRE", "a", "10"},
                     {"EVAL", "redis.call('SET', 'a', 2)", "0"},
                     {"EVAL", "return redis.call('EXPIRE', 'a', 20)", "0"},
                     {"EVAL", "redis.call('EXPIRE', 'a', 9) return redis.call('SET', 'a', 2)", "0"},
                     {"EVAL", "redis.call('DEL', 'b') return redis.call('SET', 'a', 2)", "0"},
                     {"DEL", "a", "h"}}));
}

}  // namespace
}  // namespace weir::testing
