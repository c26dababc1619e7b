#include <algorithm>

#include "simulate/redis/commands.h"

namespace weir::lab {
namespace {

// `MAXLEN ~` removes whole nodes: Redis makes nodes of so many small entries.
constexpr std::size_t kNodeEntries = 100;
constexpr std::string_view kInvalidId =
    "ERR Invalid stream ID specified as stream command argument";

std::string text_of(StreamId id) {
  return std::to_string(id.ms) + "-" + std::to_string(id.sequence);
}

// Both parts of it, as Redis tells it.
std::optional<StreamId> parse_id(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  const auto ms = parse_integer(text.substr(0, dash));
  const auto sequence = parse_integer(text.substr(dash + 1));
  if (!ms || !sequence || *ms < 0 || *sequence < 0) return {};
  return StreamId{*ms, *sequence};
}

StreamId next_id(StreamId last, std::int64_t now_ms) {
  return now_ms > last.ms ? StreamId{now_ms, 0} : StreamId{last.ms, last.sequence + 1};
}

void trim(StreamValue& stream, std::size_t most) {
  const std::size_t size = stream.entries.size();
  std::size_t gone = size > most ? size - most : 0;
  gone -= gone % kNodeEntries;
  stream.entries.erase(stream.entries.begin(),
                       stream.entries.begin() + static_cast<std::ptrdiff_t>(gone));
}

}  // namespace

// XADD key MAXLEN ~ count *|id field value...
void do_xadd(CommandCall& call) {
  constexpr std::size_t kId = 5;
  if (call.word(2) != "MAXLEN" || call.word(3) != "~") return call.reply.error("ERR syntax error");
  const auto most = parse_integer(call.word(4));
  if (!most || *most < 1) return call.reply.error(kNotAnInteger);
  const bool is_automatic = call.word(kId) == "*";
  const auto given = is_automatic ? StreamId{} : parse_id(call.word(kId));
  if (!given) return call.reply.error(kInvalidId);
  const Words fields = call.words.subspan(kId + 1);
  if (fields.size() < 2 || fields.size() % 2 == 1) return call.reply.error(wrong_number("xadd"));
  const auto there = call.typed<StreamValue>(call.word(1));
  if (!there) return;
  const StreamId last = *there == nullptr ? StreamId{} : (*there)->last;
  const StreamId id = is_automatic ? next_id(last, call.now_ms()) : *given;
  if (id <= last) {
    return call.reply.error(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item");
  }
  StreamValue& stream =
      *there != nullptr ? **there
                        : std::get<StreamValue>(call.keys.put(call.word(1), {StreamValue{}}).value);
  stream.entries.push_back({id, {fields.begin(), fields.end()}});
  stream.last = id;
  trim(stream, static_cast<std::size_t>(*most));
  call.wrote();
  if (call.is_told) call.effect[kId] = text_of(id);
  call.reply.bulk(text_of(id));
}

// XRANGE key id + COUNT count
void do_xrange(CommandCall& call) {
  const auto first = parse_id(call.word(2));
  if (!first || call.word(3) != "+") return call.reply.error(kInvalidId);
  const std::size_t words = call.words.size();
  if (words < 6 || call.word(4) != "COUNT") return call.reply.error("ERR syntax error");
  const auto count = parse_integer(call.word(5));
  if (!count) return call.reply.error(kNotAnInteger);
  if (words > 6 || *count < 1) return call.reply.error("ERR syntax error");
  const auto stream = call.typed<StreamValue>(call.word(1));
  if (!stream) return;
  if (*stream == nullptr) return call.reply.array(0);
  const auto& entries = (*stream)->entries;
  const auto begin = std::ranges::lower_bound(entries, *first, {}, &StreamValue::Entry::id);
  const auto size = std::min<std::ptrdiff_t>(entries.end() - begin, *count);
  call.reply.array(static_cast<std::size_t>(size));
  for (auto entry = begin; entry != begin + size; ++entry) {
    call.reply.array(2);
    call.reply.bulk(text_of(entry->id));
    call.reply.array(entry->fields.size());
    for (const std::string& field : entry->fields) call.reply.bulk(field);
  }
}

}  // namespace weir::lab
