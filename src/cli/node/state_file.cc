#include "cli/node/state_file.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "cli/node/replace_file.h"
#include "engine/block_text.h"

namespace weir {

void StateFile::load(Instant now) {
  if (!is_used()) return;
  auto stream = std::ifstream(path_, std::ios::binary);
  if (!stream) {
    if (errno == ENOENT) return spdlog::info("{} is not there yet: nobody is blocked", path_);
    return spdlog::error("cannot read {}: {}", path_, std::strerror(errno));
  }
  const auto text = std::string(std::istreambuf_iterator<char>(stream), {});
  auto blocks = blocks_from_text(text);
  if (!blocks) return move_aside();
  for (auto& block : *blocks) {
    if (block.until > now) blocks_.add(std::move(block), now);
  }
  spdlog::info("{}: {} blocks, {} of them not over yet", path_, blocks->size(), blocks_.size());
  saved_changes_ = blocks_.changes();
}

void StateFile::move_aside() const {
  const auto aside = path_ + ".broken";
  const bool moved = std::rename(path_.c_str(), aside.c_str()) == 0;
  spdlog::error("{} is not whole: starting without its blocks; it is now {}", path_,
                moved ? aside : path_);
}

void StateFile::save(Instant now) {
  const auto changes = blocks_.changes();
  if (!is_used() || changes == saved_changes_) return;
  const auto blocks = blocks_.list("", BlockList::kBlocksMax, now);
  if (const auto error = replace_file(path_, to_text(blocks), kOwnerOnly)) {
    if (!std::exchange(failed_, true)) spdlog::error("blocks are not kept: {}", *error);
    return;
  }
  if (std::exchange(failed_, false)) spdlog::info("blocks are kept in {} again", path_);
  saved_changes_ = changes;
}

}  // namespace weir
