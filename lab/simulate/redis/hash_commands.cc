#include <algorithm>

#include "simulate/redis/commands.h"

namespace weir::lab {
namespace {

// Null if the key has another type, which is answered.
HashValue* hash_to_write(CommandCall& call) {
  const auto there = call.typed<HashValue>(call.word(1));
  if (!there) return nullptr;
  if (*there != nullptr) return *there;
  return &std::get<HashValue>(call.keys.put(call.word(1), {HashValue{}}).value);
}

// True if the field is new.
bool set_field(const CommandCall& call, HashValue& hash, std::string_view name,
               std::string_view value) {
  const bool is_new = hash.set(name, value);
  hash.is_table = hash.is_table || hash.fields.size() > call.hash_entries_max ||
                  std::max(name.size(), value.size()) > call.hash_value_max;
  return is_new;
}

void answer_field(CommandCall& call, const HashValue* hash, std::string_view name) {
  const HashField* const field = hash == nullptr ? nullptr : hash->find(name);
  if (field == nullptr) return call.reply.null();
  call.reply.bulk(field->value);
}

// The fields that a scan from `cursor` returns, and where the next scan goes on; 0: at the end.
struct Scan {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t next = 0;
};

Scan scan_of(const HashValue& hash, std::size_t cursor, std::size_t count) {
  const std::size_t size = hash.fields.size();
  if (!hash.is_table) return {.first = 0, .end = size};
  const std::size_t first = std::min(cursor, size);
  const std::size_t end = first + std::min(size - first, count);
  return {.first = first, .end = end, .next = end == size ? 0 : end};
}

}  // namespace

void do_hget(CommandCall& call) {
  const auto hash = call.typed<HashValue>(call.word(1));
  if (hash) answer_field(call, *hash, call.word(2));
}

void do_hmget(CommandCall& call) {
  const auto hash = call.typed<HashValue>(call.word(1));
  if (!hash) return;
  call.reply.array(call.words.size() - 2);
  for (const std::string_view name : call.words.subspan(2)) answer_field(call, *hash, name);
}

void do_hgetall(CommandCall& call) {
  const auto hash = call.typed<HashValue>(call.word(1));
  if (!hash) return;
  if (*hash == nullptr) return call.reply.map(0);
  call.reply.map((*hash)->fields.size());
  for (const HashField& field : (*hash)->fields) {
    call.reply.bulk(field.name);
    call.reply.bulk(field.value);
  }
}

void do_hlen(CommandCall& call) {
  const auto hash = call.typed<HashValue>(call.word(1));
  if (!hash) return;
  call.reply.integer(*hash == nullptr ? 0 : static_cast<std::int64_t>((*hash)->fields.size()));
}

// HSCAN key cursor COUNT count
void do_hscan(CommandCall& call) {
  const auto cursor = parse_integer(call.word(2));
  if (!cursor || *cursor < 0) return call.reply.error("ERR invalid cursor");
  const auto hash = call.typed<HashValue>(call.word(1));
  if (!hash) return;
  Scan scan;
  if (*hash != nullptr) {
    const auto count = parse_integer(call.word(4));
    if (!count) return call.reply.error(kNotAnInteger);
    if (call.word(3) != "COUNT" || *count < 1) return call.reply.error("ERR syntax error");
    scan = scan_of(**hash, static_cast<std::size_t>(*cursor), static_cast<std::size_t>(*count));
  }
  call.reply.array(2);
  call.reply.bulk(std::to_string(scan.next));
  call.reply.array(2 * (scan.end - scan.first));
  if (*hash == nullptr) return;
  auto field = std::next((*hash)->fields.begin(), static_cast<std::ptrdiff_t>(scan.first));
  for (std::size_t i = scan.first; i < scan.end; ++i, ++field) {
    call.reply.bulk(field->name);
    call.reply.bulk(field->value);
  }
}

void do_hset(CommandCall& call) {
  if (call.words.size() % 2 == 1) {
    return call.reply.error(wrong_number("hset"));
  }
  HashValue* const hash = hash_to_write(call);
  if (hash == nullptr) return;
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.words.size(); i += 2) {
    if (set_field(call, *hash, call.word(i), call.word(i + 1))) ++added;
  }
  call.wrote();
  call.reply.integer(added);
}

void do_hsetnx(CommandCall& call) {
  HashValue* const hash = hash_to_write(call);
  if (hash == nullptr) return;
  if (hash->find(call.word(2)) != nullptr) return call.reply.integer(0);
  set_field(call, *hash, call.word(2), call.word(3));
  call.wrote();
  call.reply.integer(1);
}

void do_hdel(CommandCall& call) {
  const auto hash = call.typed<HashValue>(call.word(1));
  if (!hash) return;
  std::int64_t deleted = 0;
  for (const std::string_view name : call.words.subspan(2)) {
    if (*hash != nullptr && (*hash)->erase(name)) ++deleted;
  }
  if (deleted > 0) {
    if ((*hash)->fields.empty()) call.keys.erase(call.word(1));
    call.wrote();
  }
  call.reply.integer(deleted);
}

}  // namespace weir::lab
