// StateFile: keeps a node's blocks over its restarts.
//
//   weir state 3 8f3a96e1c0b2d754        the version, and XXH3's checksum of the rest
//   ...                                  the bytes of each block (engine/block_bytes.h)
//
// The node reads it once at the start and writes it at once, so a place that cannot be written is
// an error then, not after the first block. From then on the node writes it every few seconds if
// blocks were added or lifted, and at the end. Times in the file are of the wall clock, since the
// timeline of blocks ends with the process.
//
// Weir loads a whole file or none: it moves a file that is damaged, or of another version, to
// PATH.broken. If the file is something else, it stays, and the node does not start. The file has
// plain keys, so only its owner may read it.
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

  // A moment of the node: by the timeline of blocks, and how far the wall clock is ahead of that.
  struct Moment {
    Instant now;
    Duration wall_lead{0};
  };

  // `blocks` must outlive this. Without a path nothing is kept.
  StateFile(std::string path, BlockList& blocks) : path_(std::move(path)), blocks_(blocks) {}

  bool is_used() const { return !path_.empty(); }

  // Why this file could not keep blocks. Leaves it, and its folder, as they are.
  static std::optional<Fault> check(const std::string& path);

  // Adds the file's blocks that have not ended, and writes the file again. Logs the result. The
  // fault says why this file could not keep blocks.
  std::optional<Fault> load(const Moment& moment);

  // Saves if anything has changed since the last time. Logs an error once.
  void save(const Moment& moment);

 private:
  std::optional<Fault> write(const Moment& moment);
  void add(std::vector<Block> blocks, const Moment& moment);
  std::optional<Fault> move_aside(const std::string& reason) const;

  const std::string path_;
  BlockList& blocks_;
  std::uint64_t saved_changes_ = 0;
  bool failed_ = false;  // to save the last time; the log has it
};

}  // namespace weir
