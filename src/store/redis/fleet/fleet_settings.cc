#include "store/redis/fleet/fleet_settings.h"

#include <string>
#include <utility>

#include "rules/mode.h"

namespace weir {

std::variant<std::optional<RedisFleetOptions>, SettingMistake> fleet_settings(
    const SettingValues& values) {
  if (!values.is_set("store.redis")) {
    if (!values.is_set("store.mode")) return std::nullopt;
    return SettingMistake{
        "store.mode",
        "--mode is about a store that is shared: give --redis, or 'store:' in the file"};
  }
  auto url = RedisUrl::parse(values.get<std::string>("store.redis"));
  if (const auto* error = std::get_if<RedisUrlError>(&url)) {
    return SettingMistake{"store.redis", "the URL of the Redis: " + error->message};
  }
  return RedisFleetOptions{.url = std::get<RedisUrl>(std::move(url)),
                           .mode = *mode_from_name(values.get<std::string>("store.mode")),
                           .deadline = values.get<Duration>("store.deadline"),
                           .sync_interval = values.get<Duration>("store.sync_interval"),
                           .prefix = values.get<std::string>("store.prefix"),
                           .node = {},
                           .secret = {}};
}

}  // namespace weir
