// RedisModel: a Redis in memory, in one thread, whose time is an argument.
//
//   RedisModel redis({});
//   RedisPeer peer;                                    // one for each connection
//   redis.execute(peer, words, now, out);              // appends the reply
//
// It answers byte for byte as redis-server 7.0 does what Weir sends, and what Weir's scripts call:
// these commands in these forms, with names and options in capital letters. All else is an error.
// Scripts are Weir's own texts, on Lua 5.1. An expired key goes when a command asks for it.
//
// A replica is another model that copies a prefix of its master's writes. So a failover is
// lagging.copy_from(master, an earlier position), after which clients go to the lagging model.
//
// INFO only says which run of a server this is. SELECT changes nothing: there is one database.
//
// It has no lists, sets, transactions, blocking commands, users or passwords.
//
// Thread rule: one thread. Tested by redis_model_test.cc (what a simulation does to it),
// and against a redis-server by tests/redis/redis_model_equality_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "proto/output_buffer.h"
#include "simulate/redis/commands.h"
#include "simulate/redis/keyspace.h"
#include "simulate/redis/scripts.h"
#include "weir/time.h"

namespace weir::lab {

// The facts that one connection has told about itself.
struct RedisPeer {
  resp::Protocol protocol = resp::Protocol::kResp2;
  std::int64_t id = 0;  // the model gives it one
};

struct RedisModelOptions {
  // A hash with more fields, or with a longer field, is read piece by piece (HSCAN).
  std::size_t hash_listpack_entries_max = 512;
  std::size_t hash_listpack_value_max = 64;  // bytes
  // A script that takes more is stopped.
  int script_instructions_max = 50'000'000;
};

class RedisModel {
 public:
  // A condition in which a Redis refuses some commands.
  enum class Condition : std::uint8_t {
    kReady,
    kReadOnly,     // writes: it is a replica now
    kOutOfMemory,  // commands that may take memory, as with maxmemory-policy noeviction
  };

  explicit RedisModel(RedisModelOptions options = {});
  RedisModel(const RedisModel&) = delete;
  RedisModel& operator=(const RedisModel&) = delete;

  // Carries out one command of a connection and appends its reply to `out`. `now` is this Redis's
  // own clock. Empty words get no answer, as in Redis.
  void execute(RedisPeer& peer, Words words, Instant now, OutputBuffer& out);

  void set_condition(Condition condition) { condition_ = condition; }
  // The server's run_id, which each start changes.
  void set_run(std::uint64_t number) { run_ = number; }
  void forget_scripts() { scripts_.forget(); }  // as after a restart
  void forget_all();                            // keys, too: a restart without data on disk
  // Removes up to `count` random keys, as with maxmemory-policy allkeys-random.
  void evict(std::size_t count, Prng& chance);

  // How many commands have written so far; a script counts as one. A new model is at 0.
  std::uint64_t position() const { return position_; }
  // Keeps writes for replicas, from now on.
  void keep_writes() { keeps_writes_ = true; }
  // Writes before `position` are no longer needed.
  void forget_writes_before(std::uint64_t position);
  // Becomes what `master` was at `position`, by the writes in between. If this is no earlier state
  // of that master, or the writes are gone, it copies the current state.
  void copy_from(const RedisModel& master, std::uint64_t position);

  std::size_t keys() const { return keyspace_.size(); }

 private:
  // Of one command, or of one script: the words that replicas get.
  using Write = std::vector<std::vector<std::string>>;

  std::string_view refusal(const Command& command) const;
  void carry(const Command& command, Words words, RedisReply& reply);
  void carry_for_script(Words words, OutputBuffer& out);
  void note(std::vector<std::string> effect);
  void end_write();
  void begin_anew();
  void apply(const Write& write);
  void serve(std::string_view name, RedisPeer& peer, Words words, OutputBuffer& out);
  void introduce(const RedisPeer& peer, OutputBuffer& out) const;
  void evaluate(std::string_view name, Words words, RedisReply& reply);

  const RedisModelOptions options_;
  Condition condition_ = Condition::kReady;
  std::uint64_t run_ = 1;
  Keyspace keyspace_;
  std::int64_t peers_ = 0;

  // The current command's.
  Instant now_;
  bool has_written_ = false;
  bool has_called_writer_ = false;  // by a script
  Write write_;

  bool keeps_writes_ = false;
  std::uint64_t position_ = 0;
  std::deque<Write> writes_;                                    // the last is at `position_`
  std::shared_ptr<const int> self_ = std::make_shared<int>(0);  // this master's history
  std::shared_ptr<const int> followed_;                         // whose prefix this is

  Scripts scripts_;
};

}  // namespace weir::lab
