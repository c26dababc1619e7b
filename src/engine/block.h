// Block: a key or a network that is denied until a known instant, or that somebody has let go.
//
// Thread rule: values. Tested by block_list_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/blocked_networks.h"
#include "weir/time.h"

namespace weir {

enum class BlockReason : std::uint8_t {
  kDenied,  // the rule blocks who exceeds it
  kManual,  // somebody said so
  kLifted,  // it is none any more: somebody said so
  kEnded,   // likewise, by its time alone
};
std::string_view reason_name(BlockReason reason);  // "denied", "manual", "lifted", "ended"

struct Block {
  // Bytes of a key that a list keeps. A longer one is blocked by a digest of it.
  static constexpr std::size_t kKeyMax = 1'024;
  // Likewise of the other texts.
  static constexpr std::size_t kByMax = 64;
  static constexpr std::size_t kWhyMax = 256;

  std::string rule;  // empty: all rules, and limits without one
  std::string key;
  Instant since{};
  Instant until{};  // when a lift is forgotten
  BlockReason reason = BlockReason::kDenied;
  // Whose a hand is, and what its block is for, if it said so.
  std::string by{};
  std::string why{};
  // When that was by this node's clock. `since` orders acts, and may be of another node's clock.
  Instant began{};
};

inline bool is_by_hand(const Block& block) { return block.reason != BlockReason::kDenied; }
inline bool is_lift(const Block& block) { return block.reason >= BlockReason::kLifted; }
// A key that a hand blocks or lifts is a network, if it reads as one.
std::optional<BlockedNetwork> blocked_network(const Block& block);

// A key as a list keeps it, and as files and other nodes read it. A long one becomes its
// beginning, for people, and a digest of all of it, which needs no secret, so that all agree. A key
// that is a secret itself becomes the digest alone.
class StoredKey {
 public:
  enum class Kind : std::uint8_t { kPlain, kSecret };
  explicit StoredKey(std::string_view key, Kind kind = Kind::kPlain) noexcept;
  StoredKey(const StoredKey&) = delete;
  StoredKey& operator=(const StoredKey&) = delete;

  operator std::string_view() const { return text_; }
  // Whether a text reads as what becomes of a secret.
  static bool is_digest(std::string_view text);

 private:
  static constexpr std::size_t kBegin = 128;
  static constexpr std::string_view kMark = "...sha256:";
  static constexpr std::string_view kOfSecret = kMark.substr(3);
  static constexpr std::size_t kDigest = 64;  // signs

  std::array<char, kBegin + kMark.size() + kDigest> short_;
  std::string_view text_;
};

// Makes its texts as long as a list keeps them at most, and writes a network in one way.
void shorten(Block& block);

}  // namespace weir
