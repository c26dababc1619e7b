#include "rulebook/rules_by_hand.h"

#include <xxhash.h>

#include <algorithm>
#include <cstddef>

#include "base/packed.h"
#include "rulebook/rule_text.h"

namespace weir {
namespace {

constexpr char kVersion = '5';

}  // namespace

std::uint64_t hash_of(std::span<const RuleSource> rules) {
  PackedWriter out;
  for (const RuleSource& rule : rules) out.text(rule.id).text(rule.json);
  const std::string bytes = out.take();
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string to_bytes(std::span<const RuleSource> in_file, std::span<const RuleSource> in_force,
                     const RuleAuthor& author, RuleAuthors authors,
                     std::optional<std::uint64_t> left) {
  const TextsById written = texts_by_id(in_file);
  PackedWriter out;
  const std::uint64_t file = hash_of(in_file);
  out.version(kVersion).hash(file).hash(left.value_or(file)).hash(hash_of(in_force));
  out.number(in_force.size());
  for (const RuleSource& rule : in_force) {
    const auto found = written.find(rule.id);
    const bool is_written = found != written.end() && found->second == rule.json;
    out.text(rule.id).text(is_written ? std::string_view() : rule.json);
  }
  out.text(author.who).text(author.by).text(author.why);
  return out.number(static_cast<unsigned>(authors)).take();
}

std::optional<RulesByHand> rules_by_hand_in(std::string_view bytes) {
  PackedReader in(bytes);
  in.version(kVersion);
  RulesByHand read{.file = in.hash(), .left = in.hash(), .all = in.hash()};
  for (std::size_t left = in.items(); left > 0; --left) {
    const std::string_view id = in.text(bytes.size());
    read.rules.push_back({.id = std::string(id), .json = std::string(in.text(bytes.size()))});
  }
  read.author.who = in.text(RuleAuthor::kWhoMax);
  read.author.by = in.text(RuleAuthor::kByMax);
  read.author.why = in.text(RuleAuthor::kWhyMax);
  read.authors = static_cast<RuleAuthors>(in.number(1));
  if (!in.is_whole()) return std::nullopt;
  return read;
}

}  // namespace weir
