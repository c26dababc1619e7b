#include "proto/websocket/handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace weir::websocket {
namespace {

constexpr http1::Refusal kNoUpgrade{
    426, "This is a WebSocket: ask for it by GET, Upgrade: websocket and Connection: Upgrade."};
constexpr http1::Refusal kOtherVersion{426, "The version of WebSocket spoken here is 13."};
constexpr http1::Refusal kBadKey{
    400, "Sec-WebSocket-Key must be there once, and be 16 bytes in base64."};
constexpr http1::Refusal kHasBody{400, "A request for a WebSocket has no body."};

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kKeySize = 24;  // 16 bytes in base64

std::size_t count_of(std::span<const NameValue> fields, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      fields, [&](const NameValue& field) { return equal_ignoring_case(field.name, name); }));
}

// Whether one of the fields with that name lists the word.
bool lists(std::span<const NameValue> fields, std::string_view name, std::string_view word) {
  for (const NameValue& field : fields) {
    if (!equal_ignoring_case(field.name, name)) continue;
    std::string_view words = field.value;
    while (!words.empty()) {
      if (equal_ignoring_case(trim_blanks(take_until(words, ',')), word)) return true;
    }
  }
  return false;
}

// 22 digits, of which the last has only two bits, and two '='.
bool is_key(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() != kKeySize || !text.ends_with("==")) return false;
  text.remove_suffix(2);
  return text.find_first_not_of(kDigits) == std::string_view::npos &&
         kDigits.find(text.back()) % 16 == 0;
}

std::string accept_of(std::string_view key) {
  const std::string text = std::string(key) + std::string(kGuid);
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::array<unsigned char, 4 * ((SHA_DIGEST_LENGTH + 2) / 3) + 1> encoded{};
  const int size = ::EVP_EncodeBlock(encoded.data(), digest.data(), SHA_DIGEST_LENGTH);
  return {reinterpret_cast<const char*>(encoded.data()), static_cast<std::size_t>(size)};
}

}  // namespace

Handshake shake_hands(const http1::RequestHead& head, std::span<const NameValue> fields) {
  const bool asks = lists(fields, "upgrade", "websocket") && lists(fields, "connection", "upgrade");
  if (!asks || head.http_1_0 || head.method != http1::Method::kGet) return kNoUpgrade;
  if (head.content_length > 0 || head.chunked) return kHasBody;
  if (count_of(fields, "sec-websocket-version") != 1 ||
      find_header(fields, "sec-websocket-version") != "13") {
    return kOtherVersion;
  }
  const std::string_view key = find_header(fields, "sec-websocket-key").value_or("");
  if (count_of(fields, "sec-websocket-key") != 1 || !is_key(key)) return kBadKey;
  return accept_of(key);
}

}  // namespace weir::websocket
