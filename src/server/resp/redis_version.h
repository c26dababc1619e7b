// The version of Redis that clients are told they speak to: they decide by it which
// commands to send. The commands that we know behave as in 7.2.
//
// Thread rule: a constant. Tested by resp_client_commands_test.cc.

#pragma once

#include <string_view>

namespace weir::resp {

inline constexpr std::string_view kRedisVersion = "7.2.0";

}  // namespace weir::resp
