#include "load/resp_codec.h"

#include <charconv>

namespace weir::load {
namespace {

// No line of a reply to what we ask is as long.
constexpr std::size_t kLineMax = 16 * 1024;
// A bound, so that a length cannot overflow.
constexpr std::int64_t kSizeMax = std::int64_t{1} << 30;

enum class Framing : std::uint8_t { kComplete, kPartial, kBroken };

// One value that is no array, at the front of `bytes`.
struct Value {
  char type = 0;
  std::int64_t number = 0;  // of an integer, or the length it announces
  std::size_t size = 0;     // with all that belongs to it, but elements
};

Framing frame_value(std::string_view bytes, Value& value) {
  const std::size_t end = bytes.substr(0, kLineMax).find('\n');
  if (end == std::string_view::npos) {
    return bytes.size() < kLineMax ? Framing::kPartial : Framing::kBroken;
  }
  if (end < 2) return Framing::kBroken;  // a type and a CR go before it
  value = {.type = bytes[0], .size = end + 1};
  if (value.type == '+' || value.type == '-') return Framing::kComplete;
  const char* const digits_end = bytes.data() + end - 1;  // the CR
  const auto [parsed, error] = std::from_chars(bytes.data() + 1, digits_end, value.number);
  if (error != std::errc() || parsed != digits_end) return Framing::kBroken;
  if (value.type == ':' || value.type == '*') return Framing::kComplete;
  if (value.type != '$' || value.number > kSizeMax) return Framing::kBroken;
  if (value.number >= 0) value.size += static_cast<std::size_t>(value.number) + 2;
  return bytes.size() < value.size ? Framing::kPartial : Framing::kComplete;
}

// A whole reply, arrays included. Counts it if it is complete.
Framing count_reply(std::string_view bytes, std::size_t& size, Tally& tally) {
  Value value;
  const Framing framing = frame_value(bytes, value);
  if (framing != Framing::kComplete) return framing;
  size = value.size;
  std::optional<std::int64_t> first;
  const bool is_error = value.type == '-';
  const std::int64_t elements = value.type == '*' ? value.number : 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    const Framing element = frame_value(bytes.substr(size), value);
    if (element != Framing::kComplete) return element;
    if (value.type == '*') return Framing::kBroken;
    if (i == 0 && value.type == ':') first = value.number;
    size += value.size;
  }
  ++tally.replies;
  if (is_error) ++tally.failed;
  if (first) ++(*first == 0 ? tally.allowed : tally.denied);
  return Framing::kComplete;
}

}  // namespace

Request make_command(std::span<const std::string> words) {
  Request request;
  request.bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    const bool is_key = word == kKeyWord;
    const std::string text = is_key ? "k" + std::string(kKeyDigits, '0') : word;
    request.bytes += "$" + std::to_string(text.size()) + "\r\n";
    if (is_key) request.key_at = request.bytes.size() + 1;
    request.bytes += text + "\r\n";
  }
  return request;
}

std::optional<std::size_t> RespCodec::replies(std::string_view bytes, Tally& tally) {
  std::size_t used = 0;
  for (std::size_t size = 0; used < bytes.size(); used += size) {
    const Framing framing = count_reply(bytes.substr(used), size, tally);
    if (framing == Framing::kBroken) return {};
    if (framing == Framing::kPartial) break;
  }
  return used;
}

}  // namespace weir::load
