// RedisModel: a Redis in memory, in one thread, whose time is an argument.
//
//   RedisModel redis({});
//   RedisPeer peer;                                    // one for each connection
//   redis.execute(peer, words, now, out);              // appends the reply
//
// It answers byte for byte as redis-server 7.0 does: the commands that Weir sends, those that its
// scripts call, and a few for tests. Scripts are Weir's own texts, on Lua 5.1. An expired key goes
// when a command asks for it.
//
// A replica is another model that copies a prefix of its master's writes. So a failover is
// lagging.copy_from(master, an earlier position), after which clients go to the lagging model.
//
// INFO only says which run of a server this is.
//
// It has no lists, sets, transactions, blocking commands or users.
//
// Thread rule: one thread. Tested by redis_model_test.cc (what a simulation does to it),
// and against a redis-server by tests/redis/redis_model_equality_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "proto/output_buffer.h"
#include "weir/time.h"

namespace weir::lab {

// The facts that one connection has told about itself.
struct RedisPeer {
  int protocol = 2;
  int database = 0;
  bool is_logged_in = false;
  std::int64_t id = 0;  // the model gives it one
  std::string name{};
};

struct RedisModelOptions {
  std::string password{};  // empty: no login is needed
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
    kLoading,      // nearly all: it has just started
  };

  explicit RedisModel(RedisModelOptions options = {});
  ~RedisModel();

  // Carries out one command of a connection and appends its reply to `out`. `now` is this Redis's
  // own clock. Empty words get no answer, as in Redis.
  void execute(RedisPeer& peer, std::span<const std::string_view> words, Instant now,
               OutputBuffer& out);

  void set_condition(Condition condition);
  // The server's run_id, which each start changes.
  void set_run(std::uint64_t number);
  void forget_scripts();  // as after a restart
  void forget_all();      // keys, too: a restart without data on disk
  // Removes up to `count` random keys, as with maxmemory-policy allkeys-random.
  void evict(std::size_t count, Prng& chance);

  // How many commands have written so far; a script counts as one. A new model is at 0.
  std::uint64_t position() const;
  // Keeps writes for replicas, from now on.
  void keep_writes();
  // Writes before `position` are no longer needed.
  void forget_writes_before(std::uint64_t position);
  // Becomes what `master` was at `position`, by the writes in between. If this is no earlier state
  // of that master, or the writes are gone, it copies the current state.
  void copy_from(const RedisModel& master, std::uint64_t position);

  std::size_t keys() const;
  // For a simulation's checks: the commands that it has carried out, and the scripts among them.
  std::uint64_t commands() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace weir::lab
