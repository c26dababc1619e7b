#include "engine/block_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/percent.h"

namespace weir {
namespace {

constexpr std::string_view kFirstLine = "weir blocks 1\n";
constexpr std::string_view kLastLine = "end ";

bool is_plain(char c) { return c > ' ' && c < '\x7f' && c != '%'; }

// The year 9999: sums and differences of such times fit.
constexpr std::int64_t kTimeMaxUs = 253'402'300'800'000'000;

// Those of every block, and those that say whose it is and what for.
constexpr std::ptrdiff_t kFields = 5;
constexpr std::ptrdiff_t kMoreFields = 2;

std::optional<BlockReason> reason_in(std::string_view name) {
  using enum BlockReason;
  for (const BlockReason reason : {kDenied, kManual, kLifted}) {
    if (name == reason_name(reason)) return reason;
  }
  return std::nullopt;
}

std::optional<Block> block_in(std::string_view line) {
  const auto fields = std::ranges::count(line, ' ') + 1;
  if (fields != kFields && fields != kFields + kMoreFields) return std::nullopt;
  const auto until = read_decimal<std::int64_t>(take_until(line, ' '));
  const auto since = read_decimal<std::int64_t>(take_until(line, ' '));
  const auto reason = reason_in(take_until(line, ' '));
  auto rule = percent_decoded(take_until(line, ' '), is_plain);
  auto key = percent_decoded(take_until(line, ' '), is_plain);
  auto by = percent_decoded(take_until(line, ' '), is_plain);
  auto why = percent_decoded(line, is_plain);
  if (!until || !since || !reason || !rule || !key || !by || !why) return std::nullopt;
  const auto [earliest, latest] = std::minmax(*since, *until);
  if (earliest < 0 || latest > kTimeMaxUs) return std::nullopt;
  return Block{.rule = *std::move(rule),
               .key = *std::move(key),
               .since = instant_from_epoch_us(*since),
               .until = instant_from_epoch_us(*until),
               .reason = *reason,
               .by = *std::move(by),
               .why = *std::move(why)};
}

}  // namespace

std::string to_text(std::span<const Block> blocks) {
  std::string text(kFirstLine);
  for (const Block& block : blocks) {
    text +=
        std::to_string(epoch_us(block.until)) + " " + std::to_string(epoch_us(block.since)) + " ";
    text.append(reason_name(block.reason)).append(" ");
    text += percent_encoded(block.rule, is_plain) + " " + percent_encoded(block.key, is_plain);
    if (!block.by.empty() || !block.why.empty()) {
      text +=
          " " + percent_encoded(block.by, is_plain) + " " + percent_encoded(block.why, is_plain);
    }
    text += "\n";
  }
  return text.append(kLastLine).append(std::to_string(blocks.size())).append("\n");
}

std::optional<std::vector<Block>> blocks_from_text(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  std::vector<Block> blocks;
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    if (line.starts_with(kLastLine)) {
      const bool is_whole =
          text.empty() && read_decimal<std::size_t>(line.substr(kLastLine.size())) == blocks.size();
      return is_whole ? std::optional(std::move(blocks)) : std::nullopt;
    }
    auto block = block_in(line);
    if (!block || blocks.size() == BlockList::kBlocksMax) return std::nullopt;
    blocks.push_back(*std::move(block));
  }
  return std::nullopt;
}

}  // namespace weir
