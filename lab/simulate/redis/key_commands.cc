// Commands of keys of any type, and the table of all.

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "simulate/redis/commands.h"

namespace weir::lab {
namespace {

using enum Command::Flags;

// Sorted by name, for searching. The model itself handles commands without a handler.
constexpr std::array kCommands = {
    Command{"DEL", -2, kWrites, do_del},
    Command{"EVAL", -3, 0, nullptr},
    Command{"EVALSHA", -3, 0, nullptr},
    Command{"EXISTS", -2, 0, do_exists},
    Command{"EXPIRE", 3, kWrites, do_expire},
    Command{"GET", 2, 0, do_get},
    Command{"GETRANGE", 4, 0, do_getrange},
    Command{"HDEL", -3, kWrites, do_hdel},
    Command{"HELLO", 4, 0, nullptr},
    Command{"HGET", 3, 0, do_hget},
    Command{"HGETALL", 2, 0, do_hgetall},
    Command{"HLEN", 2, 0, do_hlen},
    Command{"HMGET", -3, 0, do_hmget},
    Command{"HSCAN", 5, 0, do_hscan},
    Command{"HSET", -4, kWrites | kTakesMemory, do_hset},
    Command{"HSETNX", 4, kWrites | kTakesMemory, do_hsetnx},
    Command{"INFO", 2, 0, do_info},
    Command{"MGET", -2, 0, do_mget},
    Command{"PEXPIRE", 3, kWrites, do_pexpire},
    Command{"PEXPIREAT", 3, kWrites, do_pexpireat},
    Command{"PING", 1, 0, do_ping},
    Command{"PTTL", 2, 0, do_pttl},
    Command{"RENAME", 3, kWrites, do_rename},
    Command{"SELECT", 2, 0, nullptr},
    Command{"SET", -3, kWrites | kTakesMemory, do_set},
    Command{"STRLEN", 2, 0, do_strlen},
    Command{"TIME", 1, 0, do_time},
    Command{"XADD", -7, kWrites | kTakesMemory, do_xadd},
    Command{"XRANGE", -4, 0, do_xrange},
    Command{"ZADD", -4, kWrites | kTakesMemory, do_zadd},
    Command{"ZCARD", 2, 0, do_zcard},
    Command{"ZRANGE", -4, 0, do_zrange},
    Command{"ZRANGEBYSCORE", 8, 0, do_zrangebyscore},
    Command{"ZREMRANGEBYSCORE", 4, kWrites, do_zremrangebyscore},
};
static_assert(std::ranges::is_sorted(kCommands, {}, &Command::name));

enum class From : std::uint8_t { kNow, kEpoch };

void expire_at(CommandCall& call, std::int64_t scale, From from) {
  const auto length = parse_integer(call.word(2));
  if (!length) return call.reply.error(kNotAnInteger);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const std::int64_t base = from == From::kNow ? call.now_ms() : 0;
  if (*length > (kMost - base) / scale || *length < kLeast / scale) {
    return call.reply.error("ERR invalid expire time in '" + small_letters(call.word(0)) +
                            "' command");
  }
  const std::int64_t when = *length * scale + base;
  Keyspace::Entry* const entry = call.keys.find(call.word(1), call.now_ms());
  if (entry == nullptr) return call.reply.integer(0);
  if (when <= call.now_ms()) {
    call.keys.erase(call.word(1));
    call.wrote_as({"DEL", call.word(1)});
  } else {
    entry->expires_ms = when;
    call.wrote_as({"PEXPIREAT", call.word(1), std::to_string(when)});
  }
  call.reply.integer(1);
}

}  // namespace

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return small;
}

std::string wrong_number(std::string_view name) {
  return "ERR wrong number of arguments for '" + small_letters(name) + "' command";
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::lower_bound(kCommands, name, {}, &Command::name);
  return found == kCommands.end() || found->name != name ? nullptr : &*found;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_canonical =
      text == "0" || (!digits.empty() && digits[0] >= '1' && digits[0] <= '9');
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (!is_canonical || read.ec != std::errc() || read.ptr != end) return {};
  return number;
}

void do_del(CommandCall& call) {
  std::int64_t deleted = 0;
  for (const std::string_view key : call.words.subspan(1)) {
    if (call.keys.find(key, call.now_ms()) == nullptr) continue;
    call.keys.erase(key);
    ++deleted;
  }
  if (deleted > 0) call.wrote();
  call.reply.integer(deleted);
}

void do_exists(CommandCall& call) {
  call.reply.integer(std::ranges::count_if(call.words.subspan(1), [&](std::string_view key) {
    return call.keys.find(key, call.now_ms()) != nullptr;
  }));
}

void do_rename(CommandCall& call) {
  const Keyspace::Entry* const entry = call.keys.find(call.word(1), call.now_ms());
  if (entry == nullptr) return call.reply.error("ERR no such key");
  Keyspace::Entry moved = *entry;
  call.keys.erase(call.word(1));
  call.keys.put(call.word(2), std::move(moved));
  call.wrote();
  call.reply.status("OK");
}

void do_expire(CommandCall& call) { expire_at(call, 1000, From::kNow); }
void do_pexpire(CommandCall& call) { expire_at(call, 1, From::kNow); }
void do_pexpireat(CommandCall& call) { expire_at(call, 1, From::kEpoch); }

void do_pttl(CommandCall& call) {
  const Keyspace::Entry* const entry = call.keys.find(call.word(1), call.now_ms());
  if (entry == nullptr) return call.reply.integer(-2);
  const bool has_end = entry->expires_ms != Keyspace::kNever;
  call.reply.integer(has_end ? entry->expires_ms - call.now_ms() : -1);
}

void do_time(CommandCall& call) {
  const std::int64_t us = epoch_us(call.now);
  call.reply.array(2);
  call.reply.bulk(std::to_string(us / 1'000'000));
  call.reply.bulk(std::to_string(us % 1'000'000));
}

void do_info(CommandCall& call) {
  const std::string number = std::to_string(call.run);
  call.reply.bulk("# Server\r\nrun_id:" + std::string(40 - number.size(), '0') + number + "\r\n");
}

void do_ping(CommandCall& call) { call.reply.status("PONG"); }

}  // namespace weir::lab
