// StateFile: keeps a node's blocks over its restarts.
//
// The node reads it once at the start and writes it at once, so a place that cannot be written is
// an error then, not after the first block. From then on the node writes it every few seconds if
// blocks were added or lifted, and at the end. The file has the bytes of each block
// (engine/block_bytes.h). Its times are of the wall clock: the timeline of blocks ends with the
// process.
//
// Thread rule: one thread. Tested by state_file_test.cc and tests/e2e/rules_test.py.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fault.h"
#include "cli/kept/sealed_file.h"
#include "engine/block_list.h"
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
  StateFile(std::string path, BlockList& blocks);

  bool is_used() const { return file_.is_used(); }

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

  SealedFile file_;
  BlockList& blocks_;
  std::uint64_t saved_changes_ = 0;
};

}  // namespace weir
