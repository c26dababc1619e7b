// StateFile: the blocks of a node, kept over its restarts.
//
// Read once at the start; written every few seconds if blocks were added or lifted, and at
// the end. A file that is not whole is moved aside, and never keeps the node from starting.
// Keys are in it as they are, so it is for its owner's eyes only.
//
// Thread rule: one thread. Tested by state_file_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/block_list.h"
#include "weir/time.h"

namespace weir {

class StateFile {
 public:
  static constexpr Duration kSaveEvery = std::chrono::seconds(5);

  // `blocks` must outlive this. No path: nothing is kept.
  StateFile(std::string path, BlockList& blocks) : path_(std::move(path)), blocks_(blocks) {}

  bool is_used() const { return !path_.empty(); }

  // Blocks whom the file says, as far as they have not ended. Logs what it found.
  void load(Instant now);

  // If anything has changed since the last time.
  void save(Instant now);

 private:
  void move_aside() const;

  const std::string path_;
  BlockList& blocks_;
  std::uint64_t saved_changes_ = 0;
  bool failed_ = false;  // the last time, which has been logged
};

}  // namespace weir
