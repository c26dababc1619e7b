#include "engine/block_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/percent.h"

namespace weir {
namespace {

constexpr std::string_view kFirstLine = "weir blocks 1\n";
constexpr std::string_view kLastLine = "end ";

bool is_plain(char c) { return c > ' ' && c < '\x7f' && c != '%'; }

void append_encoded(std::string_view bytes, std::string& text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : bytes) {
    if (is_plain(c)) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text.append({'%', kHex[byte >> 4], kHex[byte & 15]});
  }
}

std::optional<std::string> decoded(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const auto encoded = percent_byte(text);
    if (!encoded && !is_plain(text.front())) return std::nullopt;
    bytes += encoded.value_or(text.front());
    text.remove_prefix(encoded ? 3 : 1);
  }
  return bytes;
}

// What stands before the first `end`, which is removed with it.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end ? std::optional(number) : std::nullopt;
}

std::optional<Block> block_in(std::string_view line) {
  const auto until = number_in<std::int64_t>(take_until(line, ' '));
  const auto since = number_in<std::int64_t>(take_until(line, ' '));
  const std::string_view reason = take_until(line, ' ');
  auto rule = decoded(take_until(line, ' '));
  auto key = decoded(line);
  if (!until || !since || !rule || !key || (reason != "denied" && reason != "manual")) {
    return std::nullopt;
  }
  // Whoever shows it subtracts these times from now, which does not fit with times far below 0.
  if (*since < 0 || *until < 0) return std::nullopt;
  return Block{.rule = *std::move(rule),
               .key = *std::move(key),
               .since = instant_from_epoch_us(*since),
               .until = instant_from_epoch_us(*until),
               .reason = reason == "manual" ? BlockReason::kManual : BlockReason::kDenied};
}

}  // namespace

std::string to_text(std::span<const Block> blocks) {
  std::string text(kFirstLine);
  for (const Block& block : blocks) {
    text +=
        std::to_string(epoch_us(block.until)) + " " + std::to_string(epoch_us(block.since)) + " ";
    text.append(reason_name(block.reason)).append(" ");
    append_encoded(block.rule, text);
    text += ' ';
    append_encoded(block.key, text);
    text += '\n';
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
          text.empty() && number_in<std::size_t>(line.substr(kLastLine.size())) == blocks.size();
      return is_whole ? std::optional(std::move(blocks)) : std::nullopt;
    }
    auto block = block_in(line);
    if (!block || blocks.size() == BlockList::kBlocksMax) return std::nullopt;
    blocks.push_back(*std::move(block));
  }
  return std::nullopt;
}

}  // namespace weir
