// The commands of a modelled Redis, one row each.
//
// Thread rule: the model's. Tested by redis_model_test.cc.

#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/resp/reply_writer.h"
#include "simulate/redis/keyspace.h"
#include "weir/time.h"

namespace weir::lab {

using Words = std::span<const std::string_view>;

// Replies that ReplyWriter cannot write.
class RedisReply : public resp::ReplyWriter {
 public:
  RedisReply(OutputBuffer& out, resp::Protocol protocol)
      : ReplyWriter(out, protocol), out_(out), protocol_(protocol) {}

  // Members with their scores: pairs with doubles in RESP3, else two texts each.
  void scored_array(std::size_t size) { array(is_resp3() ? size : 2 * size); }
  void scored(std::string_view member, std::string_view score) {
    if (is_resp3()) array(2);
    bulk(member);
    if (!is_resp3()) return bulk(score);
    out_.append(",");
    out_.append(score);
    out_.append("\r\n");
  }

 private:
  bool is_resp3() const { return protocol_ == resp::Protocol::kResp3; }

  OutputBuffer& out_;
  const resp::Protocol protocol_;
};

// A command that is being carried out.
struct CommandCall {
  std::string_view word(std::size_t index) const { return words[index]; }
  std::int64_t now_ms() const { return epoch_us(now) / 1000; }

  // Answers WRONGTYPE and returns nullopt if the key has another type. Null: no such key.
  template <typename Type>
  std::optional<Type*> typed(std::string_view key) {
    Keyspace::Entry* const entry = keys.find(key, now_ms());
    if (entry == nullptr) return nullptr;
    if (Type* const value = std::get_if<Type>(&entry->value)) return value;
    reply.error("WRONGTYPE Operation against a key holding the wrong kind of value");
    return std::nullopt;
  }
  // It has written; replicas get the same words.
  void wrote() {
    has_written = true;
    if (is_told) effect.assign(words.begin(), words.end());
  }
  // It has written; replicas get these words, which mean the same at any time.
  void wrote_as(std::initializer_list<std::string_view> words_for_replicas) {
    has_written = true;
    if (is_told) effect.assign(words_for_replicas.begin(), words_for_replicas.end());
  }

  Words words;  // the name first
  Keyspace& keys;
  Instant now;
  RedisReply& reply;
  std::size_t hash_entries_max;
  std::size_t hash_value_max;
  bool is_told;  // replicas have their words
  std::uint64_t run;
  bool has_written = false;
  std::vector<std::string> effect{};
};

struct Command {
  enum Flags : std::uint8_t {
    kWrites = 1,
    kTakesMemory = 2,  // refused when there is none
  };
  using Handler = void (*)(CommandCall&);

  std::string_view name;
  int arity;  // words, the name included; negative: at least so many
  std::uint8_t flags;
  Handler handler;  // null: the model itself handles it, and scripts cannot call it
};

// Null: no such command. In capital letters only.
const Command* find_command(std::string_view name);

// A number in Redis's form: no plus, no blanks, no leading zeros.
std::optional<std::int64_t> parse_integer(std::string_view text);

std::string small_letters(std::string_view text);

// The error for a command that has too few or too many words.
std::string wrong_number(std::string_view name);

inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";

// ---- the handlers, by the type of their keys ----

void do_get(CommandCall& call);
void do_set(CommandCall& call);
void do_mget(CommandCall& call);
void do_strlen(CommandCall& call);
void do_getrange(CommandCall& call);

void do_del(CommandCall& call);
void do_exists(CommandCall& call);
void do_rename(CommandCall& call);
void do_expire(CommandCall& call);
void do_pexpire(CommandCall& call);
void do_pexpireat(CommandCall& call);
void do_pttl(CommandCall& call);
void do_time(CommandCall& call);
void do_info(CommandCall& call);
void do_ping(CommandCall& call);

void do_hget(CommandCall& call);
void do_hmget(CommandCall& call);
void do_hgetall(CommandCall& call);
void do_hlen(CommandCall& call);
void do_hscan(CommandCall& call);
void do_hset(CommandCall& call);
void do_hsetnx(CommandCall& call);
void do_hdel(CommandCall& call);

void do_zadd(CommandCall& call);
void do_zcard(CommandCall& call);
void do_zrange(CommandCall& call);
void do_zrangebyscore(CommandCall& call);
void do_zremrangebyscore(CommandCall& call);

void do_xadd(CommandCall& call);
void do_xrange(CommandCall& call);

}  // namespace weir::lab
