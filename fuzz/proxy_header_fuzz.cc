// Feeds bytes to the reader of PROXY headers, whole and in every shorter piece: more
// bytes turn "incomplete" into something else, and never anything else into another.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/assert.h"
#include "proto/proxy_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weir::ProxyHeader;
  using Status = ProxyHeader::Status;
  constexpr std::size_t kPiecesMax = 300;  // beyond, only extensions follow
  auto before = ProxyHeader();
  for (std::size_t piece = 0; piece <= std::min(size, kPiecesMax); ++piece) {
    // In memory of its own, so that reading behind the end is noticed.
    const auto bytes = std::make_unique<char[]>(piece);
    std::copy_n(data, piece, bytes.get());
    const auto header = weir::parse_proxy_header({bytes.get(), piece});
    if (before.status != Status::kIncomplete) {
      WEIR_ASSERT(header.status == before.status && header.size == before.size);
      WEIR_ASSERT(header.source == before.source);
    } else if (header.status == Status::kComplete) {
      WEIR_ASSERT(header.size == piece);  // not a byte of what follows
    }
    before = header;
  }
  const auto whole = weir::parse_proxy_header({reinterpret_cast<const char*>(data), size});
  WEIR_ASSERT(whole.status != Status::kIncomplete || size < weir::kProxyHeaderMax);
  WEIR_ASSERT(whole.size <= std::min(size, weir::kProxyHeaderMax));
  return 0;
}
