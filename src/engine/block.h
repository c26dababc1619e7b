// Block: denies a key or a network until a known instant; or a lift, which ends a block.
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
  kDenied,  // a rule blocked a key that exceeded it
  kManual,  // a person blocked the key
  kLifted,  // a person lifted the block
  kEnded,   // a person's block whose time ran out
};
std::string_view reason_name(BlockReason reason);  // "denied", "manual", "lifted", "ended"

struct Block {
  // The longest key in bytes that a list keeps. A longer one is blocked by its digest.
  static constexpr std::size_t kKeyMax = 1'024;
  // The longest of the other texts, in bytes.
  static constexpr std::size_t kByMax = 64;
  static constexpr std::size_t kWhyMax = 256;

  std::string rule;  // empty: all rules, and limits without one
  std::string key;
  Instant since{};
  Instant until{};  // a lift: when it is forgotten
  BlockReason reason = BlockReason::kDenied;
  // Who acted by hand, and why, if given.
  std::string by{};
  std::string why{};
  // When it happened, by this node's clock. `since` orders acts, maybe by another node's clock.
  Instant began{};
};

inline bool is_by_hand(const Block& block) { return block.reason != BlockReason::kDenied; }
inline bool is_lift(const Block& block) { return block.reason >= BlockReason::kLifted; }
// The network that the key of a block or lift by hand names, if it reads like one.
std::optional<IpPrefix> blocked_network(const Block& block);

// A key as a list keeps it, and as files and other nodes read it. A long key becomes its beginning,
// for people, and its digest. The digest needs no secret, so all nodes agree. A key that is a
// secret itself becomes only the digest.
class StoredKey {
 public:
  enum class Kind : std::uint8_t { kPlain, kSecret };
  explicit StoredKey(std::string_view key, Kind kind = Kind::kPlain) noexcept;
  StoredKey(const StoredKey&) = delete;
  StoredKey& operator=(const StoredKey&) = delete;

  operator std::string_view() const { return text_; }
  // Whether a text looks like the digest of a secret.
  static bool is_digest(std::string_view text);

 private:
  static constexpr std::size_t kBegin = 128;
  static constexpr std::string_view kMark = "...sha256:";
  static constexpr std::string_view kOfSecret = kMark.substr(3);
  static constexpr std::size_t kDigest = 64;  // characters

  std::array<char, kBegin + kMark.size() + kDigest> short_;
  std::string_view text_;
};

// Cuts the texts to the length that a list keeps, and writes a network in its one form.
void shorten(Block& block);

}  // namespace weir
