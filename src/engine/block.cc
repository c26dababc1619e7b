#include "engine/block.h"

#include <openssl/sha.h>

#include <algorithm>

namespace weir {

std::string_view reason_name(BlockReason reason) {
  if (reason == BlockReason::kLifted) return "lifted";
  return reason == BlockReason::kManual ? "manual" : "denied";
}

std::optional<BlockedNetwork> blocked_network(const Block& block) {
  return is_by_hand(block) ? BlockedNetwork::parse(block.key) : std::nullopt;
}

StoredKey::StoredKey(std::string_view key) noexcept : text_(key) {
  if (key.size() <= Block::kKeyMax) return;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  static_assert(2 * SHA256_DIGEST_LENGTH == kDigest);
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  char* end = std::ranges::copy(key.substr(0, kBegin), short_.begin()).out;
  end = std::ranges::copy(kMark, end).out;
  for (const unsigned char byte : digest) {
    *end++ = "0123456789abcdef"[byte >> 4];
    *end++ = "0123456789abcdef"[byte & 15];
  }
  text_ = {short_.begin(), end};
}

void shorten(Block& block) {
  const auto network = blocked_network(block);
  block.key = network ? network->to_string() : std::string(StoredKey(block.key));
  if (block.by.size() > Block::kByMax) block.by.resize(Block::kByMax);
  if (block.why.size() > Block::kWhyMax) block.why.resize(Block::kWhyMax);
}

}  // namespace weir
