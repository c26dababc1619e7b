#include <algorithm>
#include <limits>

#include "simulate/redis/commands.h"

namespace weir::lab {
namespace {

// When the key is to end; nullopt if the options are wrong, which is answered.
std::optional<std::int64_t> end_of(CommandCall& call, Words options) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (options.empty()) return Keyspace::kNever;
  const bool is_seconds = options[0] == "EX";
  const bool is_instant = options[0] == "PXAT";
  if (options.size() != 2 || !(is_seconds || is_instant || options[0] == "PX")) {
    return call.reply.error("ERR syntax error"), std::nullopt;
  }
  const auto length = parse_integer(options[1]);
  if (!length) return call.reply.error(kNotAnInteger), std::nullopt;
  const std::int64_t base = is_instant ? 0 : call.now_ms();
  const std::int64_t scale = is_seconds ? 1000 : 1;
  if (*length <= 0 || *length > (kMost - base) / scale) {
    return call.reply.error("ERR invalid expire time in 'set' command"), std::nullopt;
  }
  return *length * scale + base;
}

}  // namespace

void do_get(CommandCall& call) {
  const auto text = call.typed<std::string>(call.word(1));
  if (!text) return;
  if (*text == nullptr) return call.reply.null();
  call.reply.bulk(**text);
}

// SET key value [NX] [EX seconds | PX milliseconds | PXAT instant]
void do_set(CommandCall& call) {
  const bool if_absent = call.words.size() > 3 && call.word(3) == "NX";
  const auto expires = end_of(call, call.words.subspan(if_absent ? 4 : 3));
  if (!expires) return;
  const bool is_there = call.keys.find(call.word(1), call.now_ms()) != nullptr;
  if (if_absent && is_there) return call.reply.null();
  call.keys.put(call.word(1), {std::string(call.word(2)), *expires});
  call.reply.status("OK");
  if (*expires == Keyspace::kNever) return call.wrote_as({"SET", call.word(1), call.word(2)});
  call.wrote_as({"SET", call.word(1), call.word(2), "PXAT", std::to_string(*expires)});
}

void do_mget(CommandCall& call) {
  call.reply.array(call.words.size() - 1);
  for (const std::string_view key : call.words.subspan(1)) {
    Keyspace::Entry* const entry = call.keys.find(key, call.now_ms());
    const auto* text = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value);
    if (text == nullptr) {
      call.reply.null();
    } else {
      call.reply.bulk(*text);
    }
  }
}

void do_strlen(CommandCall& call) {
  const auto text = call.typed<std::string>(call.word(1));
  if (text) call.reply.integer(*text == nullptr ? 0 : static_cast<std::int64_t>((*text)->size()));
}

void do_getrange(CommandCall& call) {
  const auto first = parse_integer(call.word(2));
  const auto last = parse_integer(call.word(3));
  if (!first || !last) return call.reply.error(kNotAnInteger);
  const auto text = call.typed<std::string>(call.word(1));
  if (!text) return;
  const auto size = *text == nullptr ? 0 : static_cast<std::int64_t>((*text)->size());
  const bool is_backwards = *first < 0 && *last < 0 && *first > *last;
  const auto begin = std::max<std::int64_t>(0, *first < 0 ? size + *first : *first);
  const auto end = std::min(size - 1, std::max<std::int64_t>(0, *last < 0 ? size + *last : *last));
  if (is_backwards || begin > end) return call.reply.bulk("");
  call.reply.bulk(std::string_view(**text).substr(static_cast<std::size_t>(begin),
                                                  static_cast<std::size_t>(end - begin + 1)));
}

}  // namespace weir::lab
