#include <algorithm>
#include <limits>

#include "simulate/redis/commands.h"

namespace weir::lab {
namespace {

struct SetOptions {
  enum class If : std::uint8_t { kAlways, kAbsent, kPresent };
  If condition = If::kAlways;
  bool keeps_expiry = false;
  bool returns_old = false;
  std::string_view unit{};  // "ex", "pxat"; empty: none
  std::string_view length{};
};

// False: the words make no sense.
bool read_set_options(const CommandCall& call, SetOptions& options) {
  for (std::size_t i = 3; i < call.words.size(); ++i) {
    const std::string_view word = call.word(i);
    const bool is_first = options.condition == SetOptions::If::kAlways;
    if (equals_ignoring_case(word, "nx") && is_first) {
      options.condition = SetOptions::If::kAbsent;
    } else if (equals_ignoring_case(word, "xx") && is_first) {
      options.condition = SetOptions::If::kPresent;
    } else if (equals_ignoring_case(word, "get")) {
      options.returns_old = true;
    } else if (equals_ignoring_case(word, "keepttl") && options.unit.empty()) {
      options.keeps_expiry = true;
    } else {
      for (const std::string_view unit : {"ex", "px", "exat", "pxat"}) {
        if (equals_ignoring_case(word, unit)) options.unit = unit;
      }
      const bool is_fine = equals_ignoring_case(word, options.unit) && options.length.empty() &&
                           !options.keeps_expiry && i + 1 < call.words.size();
      if (!is_fine || options.unit.empty()) return false;
      options.length = call.word(++i);
    }
  }
  return true;
}

// When the key is to end; nullopt if that is wrong, which is answered.
std::optional<std::int64_t> end_of(CommandCall& call, const SetOptions& options) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (options.unit.empty()) return Keyspace::kNever;
  const auto length = parse_integer(options.length);
  if (!length) return call.reply.error(kNotAnInteger), std::nullopt;
  const bool is_seconds = options.unit.front() == 'e';
  const std::int64_t base = options.unit.size() == 2 ? call.now_ms() : 0;
  const std::int64_t most = (is_seconds ? kMost / 1000 : kMost) - (is_seconds ? 0 : base);
  const std::int64_t scale = is_seconds ? 1000 : 1;
  if (*length <= 0 || *length > most || *length * scale > kMost - base) {
    return call.reply.error("ERR invalid expire time in 'set' command"), std::nullopt;
  }
  return *length * scale + base;
}

void put_string(CommandCall& call, std::string_view value, std::int64_t expires_ms) {
  call.keys.put(call.word(1), {std::string(value), expires_ms});
}

}  // namespace

void do_get(CommandCall& call) {
  const auto text = call.typed<std::string>(call.word(1));
  if (!text) return;
  if (*text == nullptr) return call.reply.null();
  call.reply.bulk(**text);
}

void do_set(CommandCall& call) {
  SetOptions options;
  if (!read_set_options(call, options)) return call.reply.error("ERR syntax error");
  auto expires = end_of(call, options);
  if (!expires) return;
  if (options.returns_old) {
    const auto old = call.typed<std::string>(call.word(1));
    if (!old) return;
    if (*old == nullptr) {
      call.reply.null();
    } else {
      call.reply.bulk(**old);
    }
  }
  const Keyspace::Entry* const there = call.keys.find(call.word(1), call.now_ms());
  const auto unwanted = there == nullptr ? SetOptions::If::kPresent : SetOptions::If::kAbsent;
  if (options.condition == unwanted) {
    if (!options.returns_old) call.reply.null();
    return;
  }
  if (options.keeps_expiry && there != nullptr) expires = there->expires_ms;
  put_string(call, call.word(2), *expires);
  if (!options.returns_old) call.reply.status("OK");
  if (*expires == Keyspace::kNever) return call.wrote_as({"SET", call.word(1), call.word(2)});
  call.wrote_as({"SET", call.word(1), call.word(2), "PXAT", std::to_string(*expires)});
}

void do_setnx(CommandCall& call) {
  const bool is_new = call.keys.find(call.word(1), call.now_ms()) == nullptr;
  if (is_new) {
    put_string(call, call.word(2), Keyspace::kNever);
    call.wrote();
  }
  call.reply.integer(is_new ? 1 : 0);
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
