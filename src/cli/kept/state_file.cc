#include "cli/kept/state_file.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <string_view>
#include <utility>

#include "engine/block_bytes.h"
#include "rulebook/replace_file.h"
#include "rulebook/rule_text.h"

namespace weir {
namespace {

// More than the longest file that Weir writes: every block has the longest texts.
constexpr std::size_t kTextsMax = 2 * Block::kKeyMax + Block::kByMax + Block::kWhyMax;
constexpr std::size_t kBytesMax = BlockList::kBlocksMax * (kTextsMax + 64);

constexpr SealedFile::Kind kKind{
    .name = "state", .mark = "weir state 3 ", .content = "blocks", .bytes_max = kBytesMax};

// In whole seconds: unless the clock is set, a block keeps the instant that other nodes know.
Duration lead_of(const StateFile::Moment& moment) {
  return std::chrono::round<std::chrono::seconds>(moment.wall_lead);
}

Fault not_kept(const Fault& reason) {
  return {"blocks cannot be kept: " + reason.message +
          "; name a file in a folder that weir may write to"};
}

}  // namespace

StateFile::StateFile(std::string path, BlockList& blocks)
    : file_(std::move(path), kKind), blocks_(blocks) {}

std::optional<Fault> StateFile::check(const std::string& path) {
  if (path.empty()) return std::nullopt;
  if (auto fault = SealedFile(path, kKind).check()) return fault;
  if (const auto fault = replacing_fault(path)) return not_kept(*fault);
  return std::nullopt;
}

std::optional<Fault> StateFile::load(const Moment& moment) {
  if (!is_used()) return std::nullopt;
  if (auto fault = check(file_.path())) return fault;
  const auto take = [&](std::string_view body) {
    auto blocks = blocks_in(body, BlockList::kBlocksMax);
    if (blocks) add(*std::move(blocks), moment);
    return blocks.has_value();
  };
  if (auto fault = file_.load(take)) return fault;
  if (const auto fault = write(moment)) return not_kept(*fault);
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
  spdlog::info("{}: {}, {} of them not over yet", file_.path(),
               count_of(static_cast<std::size_t>(found), "block"), blocks_.size());
}

void StateFile::save(const Moment& moment) {
  if (is_used() && blocks_.changes() != saved_changes_) write(moment);
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
  auto fault = file_.save(body);
  if (!fault) saved_changes_ = changes;
  return fault;
}

}  // namespace weir
