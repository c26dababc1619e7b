#include "load/grpc_codec.h"

#include <envoy/service/ratelimit/v3/rls.pb.h>

#include <algorithm>

#include "base/assert.h"

namespace weir::load {
namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;

enum class Type : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoaway = 7,
  kWindowUpdate = 8,
};
constexpr std::uint8_t kEndStream = 1;
constexpr std::uint8_t kAck = 1;
constexpr std::uint8_t kEndHeaders = 4;
constexpr std::size_t kFrameHead = 9;
// The largest frame that a server may send us.
constexpr std::size_t kPayloadMax = 16'384;
constexpr std::uint32_t kWindowMax = 0x7fff'ffff;
constexpr std::uint32_t kWindowAtFirst = 65'535;
constexpr std::uint64_t kWindowLow = 1U << 30;

constexpr std::string_view kPath = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

// As wide as a key; no sensible request has this text.
constexpr std::string_view kHole = "\x01\x02key\x02\x01\x01";
static_assert(kHole.size() == kKeyDigits);

void put_32(std::uint32_t number, char* at) {
  for (int shift = 24; shift >= 0; shift -= 8) *at++ = static_cast<char>(number >> shift & 0xff);
}

std::uint32_t get_32(const char* at) {
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(at[i]);
  return number;
}

std::string text_of(std::uint32_t number) {
  std::string text(4, '\0');
  put_32(number, text.data());
  return text;
}

std::string frame(Type type, std::uint8_t flags, std::string_view payload) {
  std::string bytes = text_of(static_cast<std::uint32_t>(payload.size())).substr(1);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  return bytes.append(4, '\0').append(payload);  // the stream is filled in later
}

void set_stream(char* frame, std::uint32_t stream) { put_32(stream, frame + 5); }

// A text in HPACK without Huffman's code: its length in seven bits, the excess in seven bits a
// byte, and its bytes.
std::string literal(std::string_view text) {
  constexpr std::size_t kPrefixMax = 127;
  std::string bytes(1, static_cast<char>(std::min(text.size(), kPrefixMax)));
  if (text.size() >= kPrefixMax) {
    std::size_t rest = text.size() - kPrefixMax;
    for (; rest >= 128; rest >>= 7) bytes += static_cast<char>(rest % 128 + 128);
    bytes += static_cast<char>(rest);
  }
  return bytes.append(text);
}

// Two fields of every table, and four that go into the server's table in this order: their numbers
// there are then 65, 64, 63 and 62.
std::string first_head(const std::string& authority) {
  return "\x83\x86"  // :method POST, :scheme http
         "\x44" +
         literal(kPath) +                        // :path
         "\x41" + literal(authority) +           // :authority
         "\x5f" + literal("application/grpc") +  // content-type
         "\x40" + literal("te") + literal("trailers");
}
constexpr std::string_view kNextHead = "\x83\x86\xc1\xc0\xbf\xbe";

std::string message_of(const CallSpec& spec) {
  RateLimitRequest request;
  request.set_domain(spec.domain);
  auto& descriptor = *request.add_descriptors();
  for (const auto& [key, value] : spec.entries) {
    auto& entry = *descriptor.add_entries();
    entry.set_key(key);
    std::string text = value;
    if (const auto at = text.find(kKeyWord); at != std::string::npos) {
      text.replace(at, kKeyWord.size(), kHole);
    }
    entry.set_value(text);
  }
  return request.SerializeAsString();
}

}  // namespace

struct GrpcCodec::Frame {
  Type type;
  std::uint8_t flags;
  std::uint32_t stream;
  std::string_view payload;
};

Call make_call(const CallSpec& spec) {
  const std::string message = message_of(spec);
  std::string framed(1, '\0');
  framed.append(text_of(static_cast<std::uint32_t>(message.size()))).append(message);
  Call call{.first_head = frame(Type::kHeaders, kEndHeaders, first_head(spec.authority))};
  call.request.bytes = frame(Type::kHeaders, kEndHeaders, kNextHead);
  call.data_at = call.request.bytes.size();
  call.request.bytes.append(frame(Type::kData, kEndStream, framed));
  const auto hole = call.request.bytes.find(kHole);
  if (hole != std::string::npos) call.request.key_at = hole;
  return call;
}

GrpcCodec::GrpcCodec(const Call& call, std::size_t depth)
    : call_(call), batch_(call.request, depth) {
  WEIR_ASSERT(depth <= kCallsMax);
  // SETTINGS: no table for fields that the server sends (1 is 0), no pushes (2 is 0).
  control_ = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
             frame(Type::kSettings, 0, std::string_view("\0\1\0\0\0\0\0\2\0\0\0\0", 12)) +
             frame(Type::kWindowUpdate, 0, text_of(kWindowMax - kWindowAtFirst));
}

std::string_view GrpcCodec::requests(std::span<const std::uint32_t> keys) {
  out_.swap(control_);
  control_.clear();
  std::string_view calls = batch_.with(keys);
  const std::size_t size = call_.request.bytes.size();
  for (std::size_t i = 0; i < keys.size(); ++i, next_stream_ += 2) {
    const std::string_view call = calls.substr(i * size, size);
    const bool is_first = next_stream_ == 1;
    const std::size_t head_at = out_.size();
    out_.append(is_first ? std::string_view(call_.first_head) : call.substr(0, call_.data_at));
    const std::size_t data_at = out_.size();
    out_.append(call.substr(call_.data_at));
    set_stream(out_.data() + head_at, next_stream_);
    set_stream(out_.data() + data_at, next_stream_);
  }
  return out_;
}

std::optional<std::size_t> GrpcCodec::replies(std::string_view bytes, Tally& tally) {
  std::size_t used = 0;
  while (bytes.size() - used >= kFrameHead) {
    const char* const head = bytes.data() + used;
    const std::size_t size = get_32(head) >> 8;
    if (size > kPayloadMax) return std::nullopt;
    if (bytes.size() - used - kFrameHead < size) break;
    const Frame frame{.type = static_cast<Type>(head[3]),
                      .flags = static_cast<std::uint8_t>(head[4]),
                      .stream = get_32(head + 5),
                      .payload = bytes.substr(used + kFrameHead, size)};
    if (frame.type == Type::kGoaway) return std::nullopt;
    take(frame, tally);
    used += kFrameHead + size;
  }
  return used;
}

void GrpcCodec::take(const Frame& frame, Tally& tally) {
  const bool is_ack = (frame.flags & kAck) != 0;
  switch (frame.type) {
    case Type::kSettings:
      if (!is_ack) control_ += load::frame(Type::kSettings, kAck, {});
      break;
    case Type::kPing:
      if (!is_ack) control_ += load::frame(Type::kPing, kAck, frame.payload);
      break;
    case Type::kData: take_data(frame); break;
    case Type::kHeaders:
      if ((frame.flags & kEndStream) != 0) count(frame.stream, tally);
      break;
    case Type::kReset: count(frame.stream, tally); break;
    case Type::kGoaway:
    case Type::kWindowUpdate: break;
  }
}

void GrpcCodec::take_data(const Frame& frame) {
  taken_ += frame.payload.size();
  if (taken_ > kWindowLow) {
    control_ += load::frame(Type::kWindowUpdate, 0, text_of(static_cast<std::uint32_t>(taken_)));
    taken_ = 0;
  }
  // A prefix of five bytes, then field 1: the code for the whole request.
  const bool has_code = frame.payload.size() >= 7 && frame.payload[5] == 8;
  if (has_code) answers_.emplace_back(frame.stream, frame.payload[6] == RateLimitResponse::OK);
}

void GrpcCodec::count(std::uint32_t stream, Tally& tally) {
  ++tally.replies;
  const auto answer = std::ranges::find(answers_, stream, &Answer::first);
  if (answer == answers_.end()) {
    ++tally.failed;
    return;
  }
  ++(answer->second ? tally.allowed : tally.denied);
  *answer = answers_.back();
  answers_.pop_back();
}

}  // namespace weir::load
