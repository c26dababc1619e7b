#include <algorithm>
#include <limits>

#include "simulate/redis/commands.h"

namespace weir::lab {
namespace {

constexpr std::uint64_t kNumberMax = std::numeric_limits<std::uint64_t>::max();
constexpr StreamId kLastOfAll{kNumberMax, kNumberMax};
// `MAXLEN ~` removes whole nodes: Redis makes nodes of so many small entries.
constexpr std::size_t kNodeEntries = 100;

std::string text_of(StreamId id) {
  return std::to_string(id.ms) + "-" + std::to_string(id.sequence);
}

std::optional<StreamId> parse_id(std::string_view text, std::uint64_t missing_sequence) {
  const auto dash = text.find('-');
  const auto ms = parse_unsigned(text.substr(0, dash));
  if (!ms || text.starts_with('-')) return {};
  if (dash == std::string_view::npos) return StreamId{*ms, missing_sequence};
  const auto sequence = parse_unsigned(text.substr(dash + 1));
  if (!sequence) return {};
  return StreamId{*ms, *sequence};
}

// The words between XADD's key and the fields.
struct Addition {
  std::optional<std::int64_t> most{};
  bool is_about = false;  // ~: whole nodes only
  std::size_t id = 0;     // the number of its word
};

// nullopt if they are wrong, which is answered.
std::optional<Addition> read_addition(CommandCall& call) {
  Addition addition;
  std::size_t at = 2;
  if (equals_ignoring_case(call.word(at), "maxlen") && at + 1 < call.words.size()) {
    ++at;
    addition.is_about = call.word(at) == "~";
    if (addition.is_about || call.word(at) == "=") ++at;
    addition.most = at < call.words.size() ? parse_integer(call.word(at)) : std::nullopt;
    if (!addition.most) {
      return call.reply.error(kNotAnInteger), std::nullopt;
    }
    if (*addition.most < 0) {
      return call.reply.error("ERR The MAXLEN argument must be >= 0."), std::nullopt;
    }
    ++at;
  }
  addition.id = at;
  const bool has_id =
      at < call.words.size() && (call.word(at) == "*" || parse_id(call.word(at), 0));
  if (!has_id) {
    return call.reply.error("ERR Invalid stream ID specified as stream command argument"),
           std::nullopt;
  }
  const std::size_t fields = call.words.size() - at - 1;
  if (fields < 2 || fields % 2 == 1) {
    return call.reply.error(wrong_number("xadd")), std::nullopt;
  }
  return addition;
}

StreamId next_id(const StreamValue& stream, std::int64_t now_ms) {
  const auto ms = static_cast<std::uint64_t>(now_ms);
  if (ms > stream.last.ms) return {ms, 0};
  return {stream.last.ms, stream.last.sequence + 1};
}

void trim(StreamValue& stream, const Addition& addition) {
  const auto most = static_cast<std::size_t>(*addition.most);
  const std::size_t size = stream.entries.size();
  std::size_t gone = size > most ? size - most : 0;
  if (addition.is_about && most > 0) gone -= gone % kNodeEntries;
  stream.entries.erase(stream.entries.begin(),
                       stream.entries.begin() + static_cast<std::ptrdiff_t>(gone));
}

enum class End : std::uint8_t { kFirst, kLast };

// One end of a range, inclusive; nullopt if it is wrong, which is answered.
std::optional<StreamId> read_end(CommandCall& call, std::string_view text, End end) {
  const std::uint64_t missing = end == End::kFirst ? 0 : kNumberMax;
  if (text == "-") return StreamId{};
  if (text == "+") return kLastOfAll;
  const bool is_excluded = text.size() > 1 && text.front() == '(';
  const auto id = parse_id(text.substr(is_excluded ? 1 : 0), missing);
  if (!id) {
    return call.reply.error("ERR Invalid stream ID specified as stream command argument"),
           std::nullopt;
  }
  if (!is_excluded) return id;
  if (end == End::kFirst) {
    if (*id == kLastOfAll) {
      return call.reply.error("ERR invalid start ID for the interval"), std::nullopt;
    }
    return id->sequence == kNumberMax ? StreamId{id->ms + 1, 0}
                                      : StreamId{id->ms, id->sequence + 1};
  }
  if (*id == StreamId{}) {
    return call.reply.error("ERR invalid end ID for the interval"), std::nullopt;
  }
  return id->sequence == 0 ? StreamId{id->ms - 1, kNumberMax} : StreamId{id->ms, id->sequence - 1};
}

// The most entries; -1: all. nullopt if it is wrong, which is answered.
std::optional<std::int64_t> read_count(CommandCall& call) {
  std::int64_t count = -1;
  for (std::size_t i = 4; i < call.words.size(); i += 2) {
    const bool is_count = equals_ignoring_case(call.word(i), "count") && i + 1 < call.words.size();
    if (!is_count) return call.reply.error("ERR syntax error"), std::nullopt;
    const auto said = parse_integer(call.word(i + 1));
    if (!said) return call.reply.error(kNotAnInteger), std::nullopt;
    count = std::max<std::int64_t>(0, *said);
  }
  return count;
}

}  // namespace

void do_xadd(CommandCall& call) {
  const auto addition = read_addition(call);
  if (!addition) return;
  const bool is_automatic = call.word(addition->id) == "*";
  const auto given = is_automatic ? StreamId{} : *parse_id(call.word(addition->id), 0);
  if (!is_automatic && given == StreamId{}) {
    return call.reply.error("ERR The ID specified in XADD must be greater than 0-0");
  }
  const auto there = call.typed<StreamValue>(call.word(1));
  if (!there) return;
  const StreamId last = *there == nullptr ? StreamId{} : (*there)->last;
  if (last == kLastOfAll) {
    return call.reply.error(
        "ERR The stream has exhausted the last possible ID, unable to add more items");
  }
  if (!is_automatic && given <= last) {
    return call.reply.error(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item");
  }
  StreamValue& stream =
      *there != nullptr ? **there
                        : std::get<StreamValue>(call.keys.put(call.word(1), {StreamValue{}}).value);
  const StreamId id = is_automatic ? next_id(stream, call.now_ms()) : given;
  const Words fields = call.words.subspan(addition->id + 1);
  stream.entries.push_back({id, {fields.begin(), fields.end()}});
  stream.last = id;
  if (addition->most) trim(stream, *addition);
  call.wrote();
  if (call.is_told) call.effect[addition->id] = text_of(id);
  call.reply.bulk(text_of(id));
}

void do_xlen(CommandCall& call) {
  const auto stream = call.typed<StreamValue>(call.word(1));
  if (!stream) return;
  call.reply.integer(*stream == nullptr ? 0 : static_cast<std::int64_t>((*stream)->entries.size()));
}

void do_xrange(CommandCall& call) {
  const auto first = read_end(call, call.word(2), End::kFirst);
  if (!first) return;
  const auto last = read_end(call, call.word(3), End::kLast);
  if (!last) return;
  const auto count = read_count(call);
  if (!count) return;
  const auto stream = call.typed<StreamValue>(call.word(1));
  if (!stream) return;
  if (*stream == nullptr) return call.reply.array(0);
  if (*count == 0) return call.reply.null_array();
  const auto& entries = (*stream)->entries;
  const auto begin = std::ranges::lower_bound(entries, *first, {}, &StreamValue::Entry::id);
  const auto end = std::ranges::upper_bound(entries, *last, {}, &StreamValue::Entry::id);
  auto size = std::max<std::ptrdiff_t>(0, end - begin);
  if (*count > 0) size = std::min<std::ptrdiff_t>(size, *count);
  call.reply.array(static_cast<std::size_t>(size));
  for (auto entry = begin; entry != begin + size; ++entry) {
    call.reply.array(2);
    call.reply.bulk(text_of(entry->id));
    call.reply.array(entry->fields.size());
    for (const std::string& field : entry->fields) call.reply.bulk(field);
  }
}

}  // namespace weir::lab
