// Parses any text as the URL of a Redis. A URL that it accepts is complete and can be shown.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/assert.h"
#include "store/redis/client/redis_url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weir::RedisUrl;
  const auto result = RedisUrl::parse({reinterpret_cast<const char*>(data), size});
  const auto* const url = std::get_if<RedisUrl>(&result);
  if (url == nullptr) {
    WEIR_ASSERT(!std::get<weir::RedisUrlError>(result).message.empty());
    return 0;
  }
  WEIR_ASSERT(!url->destinations.empty() && url->destinations.size() <= RedisUrl::kHostsMax);
  for (const auto& destination : url->destinations) {
    WEIR_ASSERT(destination.is_unix() ? !destination.path.empty() : destination.port != 0);
  }
  WEIR_ASSERT(!url->to_string().empty());
  return 0;
}
