// BlockNews: which audience has not heard yet of which blocks and lifts.
//
// Thread rule: under the lock of the list. Tested by block_list_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace weir {

// The list tells three audiences what is new: other nodes, other processes of this node, and the
// nodes of all places. If another node of this place told the news, it also tells all places. In
// case it cannot, this node keeps the news as kWorldLate, and tells them later.
enum class BlockAudience : std::uint8_t { kFleet, kProcesses, kWorld, kWorldLate };

class BlockNews {
 public:
  static constexpr std::array kAudiences = {BlockAudience::kFleet, BlockAudience::kProcesses,
                                            BlockAudience::kWorld, BlockAudience::kWorldLate};
  // A block's number for each audience; 0: told.
  using Numbers = std::array<std::uint64_t, kAudiences.size()>;
  using Tags = std::map<std::uint64_t, std::uint64_t>;  // by numbers

  // From now on news are kept for the audience. False if they were already.
  bool begin(BlockAudience audience) {
    if (audience == BlockAudience::kWorld) of(BlockAudience::kWorldLate).is_kept = true;
    return !std::exchange(of(audience).is_kept, true);
  }
  // REQUIRES: untold() is empty; not kWorld
  void end(BlockAudience audience) { of(audience).is_kept = false; }

  // The block is news for all audiences but `except`.
  void tell(std::uint64_t tag, Numbers& numbers, std::optional<BlockAudience> except) {
    const auto world =
        except == BlockAudience::kFleet ? BlockAudience::kWorldLate : BlockAudience::kWorld;
    for (const BlockAudience audience : {BlockAudience::kFleet, BlockAudience::kProcesses, world}) {
      if (audience != except && of(audience).is_kept) mark(audience, tag, numbers);
    }
  }
  // The audience knows the block.
  void hear(BlockAudience audience, Numbers& numbers) {
    unmark(audience, numbers);
    if (audience == BlockAudience::kWorld) unmark(BlockAudience::kWorldLate, numbers);
  }
  // The audience has not heard of the block.
  void mark(BlockAudience audience, std::uint64_t tag, Numbers& numbers) {
    std::uint64_t& number = numbers[static_cast<std::size_t>(audience)];
    if (number != 0) return;
    of(audience).tags.emplace(last_ + 1, tag);
    number = ++last_;
  }
  void unmark(BlockAudience audience, Numbers& numbers) {
    std::uint64_t& number = numbers[static_cast<std::size_t>(audience)];
    if (number != 0) of(audience).tags.erase(std::exchange(number, 0));
  }
  bool is_kept(BlockAudience audience) const {
    return audiences_[static_cast<std::size_t>(audience)].is_kept;
  }
  // The number of the newest news.
  std::uint64_t last() const { return last_; }
  // The newest news come last.
  const Tags& untold(BlockAudience audience) const {
    return audiences_[static_cast<std::size_t>(audience)].tags;
  }

 private:
  struct Audience {
    bool is_kept = false;
    Tags tags;
  };
  Audience& of(BlockAudience audience) { return audiences_[static_cast<std::size_t>(audience)]; }

  std::array<Audience, kAudiences.size()> audiences_;
  std::uint64_t last_ = 0;
};

}  // namespace weir
