#include "store/redis/client/redis_failure.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "proto/resp/reply_reader.h"

namespace weir {
namespace {

RedisFailure of_error(const std::string& text) {
  const std::string input = "-" + text + "\r\n";
  resp::ReplyReader reader;
  EXPECT_EQ(reader.read(input), resp::ReplyReader::Status::kReply);
  return failure_of_error(reader.reply());
}

TEST(RedisFailure, IsNamedByWhatRedisSays) {
  struct Row {
    std::string text;
    RedisFailure expected;
  };
  const std::vector<Row> rows = {
      {"OOM command not allowed when used memory > 'maxmemory'.", RedisFailure::kOutOfMemory},
      {"ERR Error running script (call to f_12): @user_script: 9: -OOM command not allowed when "
       "used memory > 'maxmemory'.",
       RedisFailure::kOutOfMemory},
      {"READONLY You can't write against a read only replica.", RedisFailure::kReadOnly},
      {"ERR Error running script (call to f_12): @user_script: 9: -READONLY You can't",
       RedisFailure::kReadOnly},
      {"NOPERM this user has no permissions to run the 'evalsha' command",
       RedisFailure::kNoPermission},
      {"NOAUTH Authentication required.", RedisFailure::kNoAuth},
      {"WRONGPASS invalid username-password pair", RedisFailure::kNoAuth},
      {"CROSSSLOT Keys in request don't hash to the same slot", RedisFailure::kCrossSlot},
      {"BUSY Redis is busy running a script.", RedisFailure::kBusy},
      {"LOADING Redis is loading the dataset in memory", RedisFailure::kNotReady},
      {"MASTERDOWN Link with MASTER is down", RedisFailure::kNotReady},
      {"CLUSTERDOWN The cluster is down", RedisFailure::kNotReady},
      {"TRYAGAIN Multiple keys request during rehashing of slot", RedisFailure::kNotReady},
      {"MISCONF Redis is configured to save RDB snapshots", RedisFailure::kNotReady},
      {"ERR unknown command 'EVALSHA'", RedisFailure::kOther},
      {"ERR BOOM", RedisFailure::kOther},
      {"ERR -OOM", RedisFailure::kOther},
      {"", RedisFailure::kOther},
  };
  for (const Row& row : rows) EXPECT_EQ(of_error(row.text), row.expected) << row.text;
}

TEST(RedisFailure, HasANameAndAMeaning) {
  std::set<std::string_view> names;
  for (std::size_t kind = 0; kind < kRedisFailures; ++kind) {
    names.insert(failure_name(static_cast<RedisFailure>(kind)));
    EXPECT_FALSE(failure_meaning(static_cast<RedisFailure>(kind)).empty());
  }
  EXPECT_EQ(names.size(), kRedisFailures);
  EXPECT_EQ(failure_name(RedisFailure::kOther), "other");
}

}  // namespace
}  // namespace weir
