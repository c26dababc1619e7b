#include "engine/block.h"

#include <openssl/sha.h>

#include <algorithm>

namespace weir {

std::string_view reason_name(BlockReason reason) {
  if (reason == BlockReason::kLifted) return "lifted";
  return reason == BlockReason::kManual ? "manual" : "denied";
}

std::optional<IpPrefix> blocked_network(const Block& block) {
  return is_by_hand(block) ? network_to_block(block.key) : std::nullopt;
}

StoredKey::StoredKey(std::string_view key, Kind kind) noexcept : text_(key) {
  const bool is_secret = kind == Kind::kSecret;
  if (!is_secret && key.size() <= Block::kKeyMax) return;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  static_assert(2 * SHA256_DIGEST_LENGTH == kDigest);
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  char* end = short_.begin();
  if (!is_secret) end = std::ranges::copy(key.substr(0, kBegin), end).out;
  end = std::ranges::copy(is_secret ? kOfSecret : kMark, end).out;
  for (const unsigned char byte : digest) {
    *end++ = "0123456789abcdef"[byte >> 4];
    *end++ = "0123456789abcdef"[byte & 15];
  }
  text_ = {short_.begin(), end};
}

bool StoredKey::is_digest(std::string_view text) {
  return text.size() == kOfSecret.size() + kDigest && text.starts_with(kOfSecret) &&
         text.find_first_not_of("0123456789abcdef", kOfSecret.size()) == text.npos;
}

void shorten(Block& block) {
  const auto network = blocked_network(block);
  block.key = network ? network->short_text() : std::string(StoredKey(block.key));
  if (block.by.size() > Block::kByMax) block.by.resize(Block::kByMax);
  if (block.why.size() > Block::kWhyMax) block.why.resize(Block::kWhyMax);
}

}  // namespace weir
