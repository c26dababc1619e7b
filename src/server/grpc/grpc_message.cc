#include "server/grpc/grpc_message.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/decimal.h"
#include "base/percent.h"

namespace weir::grpc {
namespace {

constexpr Http2Field kContentType = {.name = "content-type", .value = "application/grpc"};
constexpr Http2Field kAcceptEncoding = {.name = "grpc-accept-encoding", .value = "identity"};
constexpr std::string_view kStatusName = "grpc-status";
constexpr std::string_view kMessageName = "grpc-message";

constexpr Status kCompressedMessage = {
    .code = Code::kUnimplemented,
    .message = "compressed messages are not read; grpc-accept-encoding says which are"};
constexpr Status kLongMessage = {.code = Code::kResourceExhausted,
                                 .message = "the message is longer than the method takes"};
constexpr Status kTruncatedMessage = {.code = Code::kInternal,
                                      .message = "the request ends within a message"};

std::string_view code_text(Code code) {
  constexpr std::array<std::string_view, 17> kTexts = {
      "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};
  return kTexts[static_cast<std::size_t>(code)];
}

std::optional<std::int64_t> unit_us(char unit, std::int64_t count) {
  switch (unit) {
    case 'H': return count * 3'600'000'000;
    case 'M': return count * 60'000'000;
    case 'S': return count * 1'000'000;
    case 'm': return count * 1'000;
    case 'u': return count;
    case 'n': return count / 1'000;
    default: return std::nullopt;
  }
}

}  // namespace

Message find_message(std::span<const char> bytes) {
  if (bytes.size() < kPrefixSize) return {};
  if (bytes[0] != 0) return {.framing = Framing::kCompressed};
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefixSize; ++i) {
    size = size << 8 | static_cast<unsigned char>(bytes[i]);
  }
  if (size > kMessageMax) return {.framing = Framing::kTooLong};
  if (bytes.size() - kPrefixSize < size) return {};
  return {.framing = Framing::kComplete, .payload = {bytes.data() + kPrefixSize, size}};
}

std::optional<Duration> parse_timeout(std::string_view text) {
  constexpr std::size_t kDigitsMax = 8;
  if (text.size() < 2 || text.size() > kDigitsMax + 1) return std::nullopt;
  const auto count = read_decimal<std::uint32_t>(text.substr(0, text.size() - 1));
  if (!count) return std::nullopt;
  const auto us = unit_us(text.back(), *count);
  if (!us) return std::nullopt;
  return std::min(Duration(*us), Duration(std::chrono::hours(24 * 365)));
}

bool is_grpc(std::string_view content_type) {
  constexpr std::string_view kName = "application/grpc";
  if (!content_type.starts_with(kName)) return false;
  const std::string_view rest = content_type.substr(kName.size());
  return rest.empty() || rest.starts_with(';') || rest == "+proto" || rest.starts_with("+proto;");
}

std::string percent_encode(std::string_view message) {
  return percent_encoded(message, [](char c) { return c >= ' ' && c <= '~' && c != '%'; });
}

void begin_reply(Http2Stream& stream) { stream.begin(200, {&kContentType, 1}); }

void append_message(Http2Stream& stream, const google::protobuf::MessageLite& message) {
  const std::size_t size = message.ByteSizeLong();
  WEIR_ASSERT(size <= kMessageMax);  // our own messages are short
  char* const at = stream.append(kPrefixSize + size);
  const std::array<std::size_t, kPrefixSize> prefix = {0, size >> 24, size >> 16, size >> 8, size};
  std::ranges::transform(prefix, at, [](std::size_t byte) { return static_cast<char>(byte); });
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(at + kPrefixSize));
}

void end_reply(Http2Stream& stream, const Status& status) {
  WEIR_ASSERT(percent_encode(status.message) == status.message);
  const std::array<Http2Field, 2> trailers = {
      Http2Field{.name = kStatusName, .value = code_text(status.code)},
      Http2Field{.name = kMessageName, .value = status.message}};
  stream.finish({trailers.data(), status.message.empty() ? 1U : 2U});
}

void refuse(Http2Stream& stream, const Status& status) {
  const std::string message = percent_encode(status.message);
  const std::array<Http2Field, 4> fields = {
      kContentType, Http2Field{.name = kStatusName, .value = code_text(status.code)},
      Http2Field{.name = kMessageName, .value = message}, kAcceptEncoding};
  stream.answer(200, fields, {});
}

void refuse_message(Http2Stream& stream, Framing framing) {
  WEIR_ASSERT(framing != Framing::kComplete);
  const Status& status = framing == Framing::kCompressed ? kCompressedMessage
                         : framing == Framing::kTooLong  ? kLongMessage
                                                         : kTruncatedMessage;
  return stream.is_begun() ? end_reply(stream, status) : refuse(stream, status);
}

}  // namespace weir::grpc
