// StateFile: the blocks of a node, kept over its restarts.
//
//   weir state 3 8f3a96e1c0b2d754        the version, and XXH3's checksum of what follows
//   ...                                  the bytes of each block (engine/block_bytes.h)
//
// The node reads it once at the start and writes it at once, so a place that cannot be written is
// an error then, not after the first block. From then on the node writes it every few seconds if
// blocks were added or lifted, and at the end. Times in the file are of the wall clock, since the
// timeline of blocks ends with the process.
//
// Weir loads a file as a whole or not at all: one that is damaged, or of another version, is
// moved to PATH.broken. A file that is something else stays as it is, and the node does not
// start. Keys are in it as they are, so it is for its owner's eyes only.
//
// Thread rule: one thread. Tested by state_file_test.cc and tests/e2e/rules_test.py.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fault.h"
#include "engine/block_list.h"
#include "net/sockets/address.h"
#include "weir/time.h"

namespace weir {

class StateFile {
 public:
  static constexpr Duration kSaveEvery = std::chrono::seconds(5);

  // A moment of the node: on the timeline of blocks, and how far the wall clock is ahead.
  struct Moment {
    Instant now;
    Duration wall_lead{0};
  };

  // `blocks` must outlive this. No path: nothing is kept.
  StateFile(std::string path, BlockList& blocks) : path_(std::move(path)), blocks_(blocks) {}

  bool is_used() const { return !path_.empty(); }

  // Why blocks could not be kept in this file. Leaves it, and its folder, as they are.
  static std::optional<Fault> check(const std::string& path);

  // Adds the blocks of the file that have not ended, and writes it again. Logs what it found. An
  // error says why blocks could not be kept in this file.
  std::optional<Fault> load(const Moment& moment);

  // If anything has changed since the last time. Logs an error once.
  void save(const Moment& moment);

 private:
  std::optional<std::string> write(const Moment& moment);
  void add(std::vector<Block> blocks, const Moment& moment);
  std::optional<Fault> move_aside(const std::string& reason) const;

  const std::string path_;
  BlockList& blocks_;
  std::uint64_t saved_changes_ = 0;
  bool failed_ = false;  // the last time, which has been logged
};

}  // namespace weir
