// Commands of keys of any type, and the table of all.

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "simulate/redis/commands.h"

namespace weir::lab {
namespace {

using enum Command::Flags;

// Sorted by name, for searching. The model itself handles commands without a handler.
constexpr std::array kCommands = {
    Command{"auth", -2, kNotInScripts | kWhileLoading | kBeforeLogin, nullptr},
    Command{"client", -2, kNotInScripts | kWhileLoading, nullptr},
    Command{"dbsize", 1, 0, do_dbsize},
    Command{"del", -2, kWrites, do_del},
    Command{"echo", 2, 0, do_echo},
    Command{"eval", -3, kNotInScripts, nullptr},
    Command{"evalsha", -3, kNotInScripts, nullptr},
    Command{"exists", -2, 0, do_exists},
    Command{"expire", -3, kWrites, do_expire},
    Command{"flushall", -1, kWrites, do_flushdb},
    Command{"flushdb", -1, kWrites, do_flushdb},
    Command{"get", 2, 0, do_get},
    Command{"getrange", 4, 0, do_getrange},
    Command{"hdel", -3, kWrites, do_hdel},
    Command{"hello", -1, kNotInScripts | kWhileLoading | kBeforeLogin, nullptr},
    Command{"hget", 3, 0, do_hget},
    Command{"hgetall", 2, 0, do_hgetall},
    Command{"hkeys", 2, 0, do_hkeys},
    Command{"hlen", 2, 0, do_hlen},
    Command{"hmget", -3, 0, do_hmget},
    Command{"hscan", -3, 0, do_hscan},
    Command{"hset", -4, kWrites | kTakesMemory, do_hset},
    Command{"hsetnx", 4, kWrites | kTakesMemory, do_hsetnx},
    Command{"hstrlen", 3, 0, do_hstrlen},
    Command{"info", -1, kWhileLoading, do_info},
    Command{"mget", -2, 0, do_mget},
    Command{"pexpire", -3, kWrites, do_pexpire},
    Command{"pexpireat", -3, kWrites, do_pexpireat},
    Command{"ping", -1, 0, do_ping},
    Command{"pttl", 2, 0, do_pttl},
    Command{"rename", 3, kWrites, do_rename},
    Command{"role", 1, kNotInScripts | kWhileLoading, nullptr},
    Command{"script", -2, kNotInScripts, nullptr},
    Command{"select", 2, kNotInScripts | kWhileLoading, nullptr},
    Command{"set", -3, kWrites | kTakesMemory, do_set},
    Command{"setnx", 3, kWrites | kTakesMemory, do_setnx},
    Command{"strlen", 2, 0, do_strlen},
    Command{"time", 1, kWhileLoading, do_time},
    Command{"ttl", 2, 0, do_ttl},
    Command{"type", 2, 0, do_type},
    Command{"xadd", -5, kWrites | kTakesMemory, do_xadd},
    Command{"xlen", 2, 0, do_xlen},
    Command{"xrange", -4, 0, do_xrange},
    Command{"zadd", -4, kWrites | kTakesMemory, do_zadd},
    Command{"zcard", 2, 0, do_zcard},
    Command{"zrange", -4, 0, do_zrange},
    Command{"zrangebyscore", -4, 0, do_zrangebyscore},
    Command{"zremrangebyscore", 4, kWrites, do_zremrangebyscore},
};
static_assert(std::ranges::is_sorted(kCommands, {}, &Command::name));

char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

enum class From : std::uint8_t { kNow, kEpoch };

void expire_at(CommandCall& call, std::int64_t scale, From from) {
  const auto fail = [&] {
    call.reply.error("ERR invalid expire time in '" + small_letters(call.word(0)) + "' command");
  };
  if (call.words.size() > 3) {
    return call.reply.error("ERR Unsupported option " + std::string(call.word(3)));
  }
  const auto length = parse_integer(call.word(2));
  if (!length) return call.reply.error(kNotAnInteger);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  if (*length > kMost / scale || *length < kLeast / scale) return fail();
  const std::int64_t base = from == From::kNow ? call.now_ms() : 0;
  if (*length * scale > kMost - base) return fail();
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

// -2: no such key; -1: it never expires.
std::int64_t left_ms(CommandCall& call) {
  const Keyspace::Entry* const entry = call.keys.find(call.word(1), call.now_ms());
  if (entry == nullptr) return -2;
  return entry->expires_ms == Keyspace::kNever ? -1 : entry->expires_ms - call.now_ms();
}

}  // namespace

bool equals_ignoring_case(std::string_view text, std::string_view small) {
  return std::ranges::equal(text, small, {}, small_letter);
}

std::string small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), small_letter);
  return small;
}

std::string wrong_number(std::string_view name) {
  return "ERR wrong number of arguments for '" + small_letters(name) + "' command";
}

const Command* find_command(std::string_view name) {
  const auto is_less = [](std::string_view a, std::string_view b) {
    return std::ranges::lexicographical_compare(a, b, {}, small_letter, small_letter);
  };
  const auto found = std::ranges::lower_bound(kCommands, name, is_less, &Command::name);
  if (found == kCommands.end() || !equals_ignoring_case(name, found->name)) return nullptr;
  return &*found;
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

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const std::uint64_t number = std::strtoull(copy.c_str(), &end, 10);
  if (errno != 0 || copy.empty() || end != copy.c_str() + copy.size()) return {};
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

void do_pttl(CommandCall& call) { call.reply.integer(left_ms(call)); }
void do_ttl(CommandCall& call) {
  const std::int64_t ms = left_ms(call);
  call.reply.integer(ms < 0 ? ms : (ms + 500) / 1000);
}

void do_type(CommandCall& call) {
  constexpr std::array<std::string_view, 4> kNames = {"string", "hash", "zset", "stream"};
  const Keyspace::Entry* const entry = call.keys.find(call.word(1), call.now_ms());
  call.reply.status(entry == nullptr ? "none" : kNames[entry->value.index()]);
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

void do_ping(CommandCall& call) {
  if (call.words.size() > 2) {
    return call.reply.error(wrong_number("ping"));
  }
  if (call.words.size() == 2) return call.reply.bulk(call.word(1));
  call.reply.status("PONG");
}

void do_echo(CommandCall& call) { call.reply.bulk(call.word(1)); }

void do_dbsize(CommandCall& call) {
  call.reply.integer(static_cast<std::int64_t>(call.keys.size()));
}

void do_flushdb(CommandCall& call) {
  call.keys.clear();
  call.wrote();
  call.reply.status("OK");
}

}  // namespace weir::lab
