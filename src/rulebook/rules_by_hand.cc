#include "rulebook/rules_by_hand.h"

#include <xxhash.h>

#include <algorithm>
#include <cstddef>

#include "base/packed.h"
#include "rulebook/rule_text.h"

namespace weir {
namespace {

constexpr char kVersion = '6';

}  // namespace

std::uint64_t hash_of(std::span<const RuleSource> rules) {
  PackedWriter out;
  for (const RuleSource& rule : rules) out.text(rule.id).text(rule.json);
  const std::string bytes = out.take();
  return XXH3_64bits(bytes.data(), bytes.size());
}

RuleFiles RuleFiles::of(std::vector<RuleSource> rules) {
  const std::uint64_t hash = hash_of(rules);
  return {.hashes = {hash}, .alike = std::move(rules)};
}

void RuleFiles::add(const std::vector<RuleSource>& before, const std::vector<RuleSource>& after,
                    std::string_view id) {
  const std::uint64_t hash = hash_of(after);
  if (std::ranges::count(hashes, hash) > 0) return;
  if (before.size() > alike.size() + kApartMax) *this = of(before);
  if (hashes.size() == kMax) hashes.erase(hashes.begin());
  hashes.push_back(hash);
  std::erase_if(alike, [&](const RuleSource& rule) { return rule.id == id; });
}

std::string to_bytes(const RuleFiles& files, std::span<const RuleSource> in_force,
                     const RuleAuthor& author, RuleAuthors authors) {
  const TextsById alike = texts_by_id(files.alike);
  PackedWriter out;
  out.version(kVersion).number(files.hashes.size());
  for (const std::uint64_t hash : files.hashes) out.hash(hash);
  out.hash(hash_of(in_force)).number(in_force.size());
  for (const RuleSource& rule : in_force) {
    const auto found = alike.find(rule.id);
    const bool is_alike = found != alike.end() && found->second == rule.json;
    out.text(rule.id).text(is_alike ? std::string_view() : rule.json);
  }
  out.text(author.who).text(author.by).text(author.why);
  return out.number(static_cast<unsigned>(authors)).take();
}

std::optional<RulesByHand> rules_by_hand_in(std::string_view bytes) {
  PackedReader in(bytes);
  in.version(kVersion);
  RulesByHand read;
  for (std::uint64_t left = in.number(RuleFiles::kMax); left > 0; --left) {
    read.files.hashes.push_back(in.hash());
  }
  read.all = in.hash();
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
