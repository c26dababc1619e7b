#include "cli/node/state_file.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <ranges>
#include <string_view>
#include <system_error>
#include <utility>

#include "config/config.h"
#include "engine/block_bytes.h"
#include "rulebook/replace_file.h"
#include "rulebook/rule_text.h"

namespace weir {
namespace {

constexpr std::string_view kName = "weir ";
constexpr std::string_view kVersion = "weir state 3 ";

// More than the longest file that Weir writes: every block has the longest texts.
constexpr std::size_t kTextsMax = 2 * Block::kKeyMax + Block::kByMax + Block::kWhyMax;
constexpr std::size_t kBytesMax = BlockList::kBlocksMax * (kTextsMax + 64);

// In whole seconds: unless the clock is set, a block keeps the instant that other nodes know.
Duration lead_of(const StateFile::Moment& moment) {
  return std::chrono::round<std::chrono::seconds>(moment.wall_lead);
}

std::string head_of(std::string_view body) {
  return fmt::format("{}{:016x}\n", kVersion, XXH3_64bits(body.data(), body.size()));
}

// The blocks, or why this cannot read them.
Result<std::vector<Block>, Fault> read_state(std::string_view text) {
  if (!text.starts_with(kVersion)) return Fault{"is damaged, or of another version"};
  const auto head = text.substr(0, text.find('\n') + 1);
  const auto body = text.substr(head.size());
  if (head != head_of(body)) return Fault{"is damaged"};
  auto blocks = blocks_in(body, BlockList::kBlocksMax);
  if (!blocks) return Fault{"is damaged"};
  return *std::move(blocks);
}

std::optional<Fault> unless_missing(const std::error_code& error, const std::string& path) {
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  return Fault{"cannot read the state file " + path + ": " + error.message()};
}

Fault not_kept(const std::string& reason) {
  return {"blocks cannot be kept: " + reason + "; name a file in a folder that weir may write to"};
}

}  // namespace

std::optional<Fault> StateFile::check(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const auto read = read_file(path, kName.size());
  if (!read) {
    if (auto failure = unless_missing(read.error(), path)) return failure;
  } else {
    const auto& begin = *read;
    // It may be the configuration, or a device, by mistake: this does not move it.
    std::error_code ignored;
    const bool is_file = std::filesystem::is_regular_file(path, ignored);
    if (!is_file || (!begin.empty() && !begin.starts_with(kName))) {
      return Fault{path + " is not a state file; name another file, or move this one"};
    }
  }
  if (const auto fault = replacing_fault(path)) return not_kept(fault->message);
  return std::nullopt;
}

std::optional<Fault> StateFile::load(const Moment& moment) {
  if (!is_used()) return std::nullopt;
  if (auto error = check(path_)) return error;
  const auto read = read_file(path_, kBytesMax);
  if (!read) {
    if (auto failure = unless_missing(read.error(), path_)) return failure;
    spdlog::info("{} is not there yet: nobody is blocked", path_);
  } else {
    auto blocks = read_state(*read);
    if (!blocks) {
      if (auto failure = move_aside(blocks.error().message)) return failure;
    } else {
      add(*std::move(blocks), moment);
    }
  }
  if (const auto fault = write(moment)) return not_kept(fault->message);
  return std::nullopt;
}

void StateFile::add(std::vector<Block> blocks, const Moment& moment) {
  const auto found = std::ranges::count_if(blocks, std::not_fn(is_lift));
  const Duration lead = lead_of(moment);
  for (auto& block : blocks) {
    // A clock that is behind must not make a block longer than it was. A block that had to be
    // newer than the act of a node whose clock is ahead does not tell its length.
    const Duration length = block.until - block.since;
    block.since -= lead;
    block.until -= lead;
    if (length > Duration{0}) block.until = std::min(block.until, moment.now + length);
  }
  std::erase_if(blocks, [&](const Block& block) { return block.until <= moment.now; });
  // If there are more blocks than the list takes, the longest stay. The list keeps the first that
  // come; then each new block replaces the one nearest to its end. So the longest come first here,
  // and after them the shortest.
  std::ranges::sort(blocks, std::ranges::greater(), &Block::until);
  for (const auto& block : blocks) blocks_.learn(block, std::nullopt, moment.now);
  for (const auto& block : std::views::reverse(blocks)) {
    blocks_.learn(block, std::nullopt, moment.now);
  }
  spdlog::info("{}: {}, {} of them not over yet", path_,
               count_of(static_cast<std::size_t>(found), "block"), blocks_.size());
}

std::optional<Fault> StateFile::move_aside(const std::string& reason) const {
  const auto aside = path_ + ".broken";
  if (std::rename(path_.c_str(), aside.c_str()) != 0) {
    return Fault{path_ + " " + reason + ", and cannot be moved to " + aside + ": " +
                 std::strerror(errno)};
  }
  spdlog::error("{} {}: starting without its blocks; it is now {}", path_, reason, aside);
  return std::nullopt;
}

void StateFile::save(const Moment& moment) {
  if (!is_used() || blocks_.changes() == saved_changes_) return;
  if (const auto fault = write(moment)) {
    if (!std::exchange(failed_, true)) spdlog::error("blocks are not kept: {}", fault->message);
  } else if (std::exchange(failed_, false)) {
    spdlog::info("blocks are kept in {} again", path_);
  }
}

std::optional<Fault> StateFile::write(const Moment& moment) {
  const auto changes = blocks_.changes();
  auto blocks = blocks_.list("", BlockList::kBlocksMax, moment.now);
  std::ranges::move(blocks_.lifts(moment.now), std::back_inserter(blocks));
  const Duration lead = lead_of(moment);
  std::string body;
  for (auto& block : blocks) {
    block.since += lead;
    block.until += lead;
    body += to_bytes(block);
  }
  auto fault = replace_file(path_, head_of(body) + body, kOwnerOnly);
  if (!fault) saved_changes_ = changes;
  return fault;
}

}  // namespace weir
