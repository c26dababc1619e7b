#include "store/redis/fleet/fleet_settings.h"

#include <string>
#include <utility>

namespace weir {

Result<std::optional<RedisFleetOptions>, SettingMistake> fleet_settings(
    const SettingValues& values) {
  using Shared = std::optional<RedisFleetOptions>;
  const StoreSettings& store = values->store;
  if (store.redis.empty()) {
    if (!values.is_set<&StoreSettings::mode>()) return Shared();
    return SettingMistake{
        setting_name<&StoreSettings::mode>(),
        "--mode is about a store that is shared: give --redis, or 'store:' in the file"};
  }
  auto url = RedisUrl::parse(store.redis);
  if (!url) {
    return SettingMistake{setting_name<&StoreSettings::redis>(),
                          "the URL of the Redis: " + url.error().message};
  }
  return Shared({.url = *std::move(url),
                 .mode = store.mode,
                 .deadline = store.deadline,
                 .sync_interval = store.sync_interval,
                 .prefix = store.prefix,
                 .node = {},
                 .secret = {}});
}

}  // namespace weir
