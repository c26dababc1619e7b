#include "rulebook/rules_by_hand.h"

#include <xxhash.h>

#include <algorithm>
#include <cstddef>

#include "base/packed.h"
#include "rulebook/rule_text.h"

namespace weir {
namespace {

constexpr char kVersion = '7';

}  // namespace

std::uint64_t hash_of(std::span<const RuleSource> rules) {
  PackedWriter out;
  for (const RuleSource& rule : rules) out.text(rule.id).text(rule.json);
  const std::string bytes = out.take();
  return XXH3_64bits(bytes.data(), bytes.size());
}

RuleFiles RuleFiles::of(std::span<const RuleSource> rules) {
  RuleFiles files{.hashes = {hash_of(rules)}};
  for (const RuleSource& rule : rules) files.alike.insert(rule.id);
  return files;
}

void RuleFiles::add(std::uint64_t hash) {
  if (!hashes.empty() && hashes.front() == hash) return;
  std::erase(hashes, hash);
  if (hashes.size() == kMax) hashes.erase(hashes.begin() + 1);
  hashes.push_back(hash);
}

void RuleFiles::add(std::span<const RuleSource> before, std::span<const RuleSource> after,
                    const std::string& id) {
  const auto earlier = std::ranges::find(before, id, &RuleSource::id);
  const auto later = std::ranges::find(after, id, &RuleSource::id);
  const bool is_same = earlier != before.end() && later != after.end() && *earlier == *later;
  if (!is_same) alike.erase(id);
  std::size_t apart = 0;
  for (const RuleSource& rule : after) apart += alike.contains(rule.id) ? 0 : rule.json.size();
  if (apart > kApartBytesMax) {
    *this = of(before);
    alike.erase(id);
  }
  add(hash_of(after));
}

std::string to_bytes(const ChangesByHand& changes, std::span<const RuleSource> in_file,
                     std::span<const RuleSource> in_force) {
  const TextsById written = texts_by_id(in_file);
  auto removed = changes.files.alike;
  PackedWriter out;
  out.version(kVersion).number(changes.files.hashes.size());
  for (const std::uint64_t hash : changes.files.hashes) out.hash(hash);
  out.hash(hash_of(in_force)).number(in_force.size());
  for (const RuleSource& rule : in_force) {
    const bool is_alike = removed.erase(rule.id) > 0;
    const auto found = written.find(rule.id);
    const bool is_written = is_alike && found != written.end() && found->second == rule.json;
    out.text(rule.id).text(is_written ? std::string_view() : rule.json).number(is_alike ? 1 : 0);
  }
  out.number(removed.size());
  for (const std::string& id : removed) out.text(id);
  out.text(changes.author.who).text(changes.author.by).text(changes.author.why);
  return out.number(static_cast<unsigned>(changes.authors)).take();
}

std::optional<RulesByHand> rules_by_hand_in(std::string_view bytes) {
  PackedReader in(bytes);
  in.version(kVersion);
  RulesByHand read;
  auto& [files, author, authors] = read.changes;
  for (std::uint64_t left = in.number(RuleFiles::kMax); left > 0; --left) {
    files.hashes.push_back(in.hash());
  }
  read.all = in.hash();
  for (std::size_t left = in.items(); left > 0; --left) {
    auto& [id, json] = read.rules.emplace_back();
    id = in.text(bytes.size());
    json = in.text(bytes.size());
    if (in.number(1) == 1) files.alike.insert(id);
  }
  for (std::size_t left = in.items(); left > 0; --left) {
    files.alike.emplace(in.text(bytes.size()));
  }
  author.who = in.text(RuleAuthor::kWhoMax);
  author.by = in.text(RuleAuthor::kByMax);
  author.why = in.text(RuleAuthor::kWhyMax);
  authors = static_cast<RuleAuthors>(in.number(1));
  if (!in.is_whole()) return std::nullopt;
  return read;
}

}  // namespace weir
