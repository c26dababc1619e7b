// Parses any text as the URL of a Redis. A URL that it accepts is complete and can be shown.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "store/redis/client/redis_url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weir::RedisUrl;
  const auto result = RedisUrl::parse({reinterpret_cast<const char*>(data), size});
  if (!result) {
    WEIR_ASSERT(!result.error().message.empty());
    return 0;
  }
  WEIR_ASSERT(!result->destinations.empty() && result->destinations.size() <= RedisUrl::kHostsMax);
  for (const auto& destination : result->destinations) {
    WEIR_ASSERT(destination.is_unix() ? !destination.path.empty() : destination.port != 0);
  }
  WEIR_ASSERT(!result->to_string().empty());
  return 0;
}
