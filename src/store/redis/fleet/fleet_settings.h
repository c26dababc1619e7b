// What `store:` says: whether a node shares a Redis with others, and how.
//
// Thread rule: values. Tested by src/cli/node/settings_test.cc and src/nginx/gateway_test.cc.

#pragma once

#include <optional>

#include "config/setting_values.h"
#include "store/redis/fleet/redis_fleet.h"
#include "weir/result.h"

namespace weir {

// Nothing: it is alone. Neither its name nor its secret is among the settings.
Result<std::optional<RedisFleetOptions>, SettingMistake> fleet_settings(
    const SettingValues& values);

}  // namespace weir
