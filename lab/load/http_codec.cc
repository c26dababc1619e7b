#include "load/http_codec.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <cstring>

#include "base/ascii.h"

namespace weir::load {
namespace {

// No reply to our requests has a longer head.
constexpr std::size_t kHeadMax = 16 * 1024;
// Far above any reply to a check; a bound keeps a length from overflowing.
constexpr std::size_t kBodyMax = std::size_t{1} << 30;

// The status of "HTTP/1.1 200"; nullopt unless it is a final status of HTTP/1.x.
std::optional<int> read_status(std::string_view bytes) noexcept {
  if (!bytes.starts_with("HTTP/1.") || bytes[8] != ' ') return {};
  int status = 0;
  const auto [end, error] = std::from_chars(bytes.data() + 9, bytes.data() + 12, status);
  if (error != std::errc{} || end != bytes.data() + 12 || status < 200) return {};
  return status;
}

enum class Header : std::uint8_t { kOther, kLength, kBad };

// `line` ends before its CR LF, or anywhere behind: a number ends by itself.
Header read_header(std::string_view line, std::size_t& length) noexcept {
  constexpr std::string_view kLength = "content-length:";
  if (!equal_ignoring_case(line.substr(0, kLength.size()), kLength)) return Header::kOther;
  line.remove_prefix(kLength.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), length);
  return error == std::errc{} && length <= kBodyMax ? Header::kLength : Header::kBad;
}

// Reads "allowed":true or false, with or without a space, in a JSON object.
std::optional<bool> read_allowed(std::string_view body) noexcept {
  constexpr std::string_view kName = "\"allowed\":";
  const void* found = ::memmem(body.data(), body.size(), kName.data(), kName.size());
  if (found == nullptr) return {};
  body.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - body.data()) +
                     kName.size());
  while (body.starts_with(' ')) body.remove_prefix(1);
  if (body.starts_with("true")) return true;
  if (body.starts_with("false")) return false;
  return {};
}

void count(const HttpReply& reply, Tally& tally) noexcept {
  ++tally.replies;
  const bool denied_by_status = reply.status == 429;
  if (reply.status >= 300 && !denied_by_status) {
    ++tally.failed;
    return;
  }
  const std::optional<bool> allowed = read_allowed(reply.body);
  if (allowed.value_or(false)) ++tally.allowed;
  if (allowed.has_value() ? !*allowed : denied_by_status) ++tally.denied;
}

}  // namespace

Request make_get(const Destination& to) {
  constexpr std::string_view kMethod = "GET ";
  std::string path(to.path);
  Request request;
  if (const std::size_t key = path.find(kKeyWord); key != std::string::npos) {
    path.replace(key, kKeyWord.size(), "k" + std::string(kKeyDigits, '0'));
    request.key_at = kMethod.size() + key + 1;
  }
  request.bytes = fmt::format("{}{} HTTP/1.1\r\nHost: {}\r\n\r\n", kMethod, path, to.authority);
  return request;
}

Request make_post(const Destination& to, std::string_view json) {
  std::string body(json);
  const std::size_t key = body.find(kKeyWord);
  if (key != std::string::npos)
    body.replace(key, kKeyWord.size(), "k" + std::string(kKeyDigits, '0'));
  Request request;
  request.bytes = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n\r\n",
      to.path, to.authority, body.size());
  if (key != std::string::npos) request.key_at = request.bytes.size() + key + 1;
  request.bytes.append(body);
  return request;
}

Framing frame_http_reply(std::string_view bytes, HttpReply& reply) noexcept {
  constexpr std::size_t kStatusEnd = 12;  // "HTTP/1.1 200"
  if (bytes.size() < kStatusEnd) return Framing::kPartial;
  const std::optional<int> status = read_status(bytes);
  if (!status) return Framing::kBroken;

  std::optional<std::size_t> length;
  if (*status == 204 || *status == 304) length = 0;
  std::size_t line_at = 0;
  for (;;) {
    const void* found = std::memchr(bytes.data() + line_at, '\n', bytes.size() - line_at);
    if (found == nullptr) return bytes.size() < kHeadMax ? Framing::kPartial : Framing::kBroken;
    const auto line_end = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
    const std::string_view line = bytes.substr(line_at, line_end - line_at);
    line_at = line_end + 1;
    if (line.empty() || line == "\r") break;
    std::size_t value = 0;
    const Header header = read_header(line, value);
    if (header == Header::kBad) return Framing::kBroken;
    if (header == Header::kLength) length = value;
  }
  if (!length) return Framing::kBroken;
  if (bytes.size() - line_at < *length) return Framing::kPartial;
  reply = {.status = *status, .body = bytes.substr(line_at, *length), .size = line_at + *length};
  return Framing::kComplete;
}

std::optional<std::size_t> HttpCodec::replies(std::string_view bytes, Tally& tally) {
  std::size_t used = 0;
  for (HttpReply reply; used < bytes.size(); used += reply.size) {
    const Framing framing = frame_http_reply(bytes.substr(used), reply);
    if (framing == Framing::kBroken) return {};
    if (framing == Framing::kPartial) break;
    count(reply, tally);
  }
  return used;
}

}  // namespace weir::load
