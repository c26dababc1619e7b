// What a client may do at the Redis door.
//
// Without a password every client may check and look. With one, a client must first say AUTH, or
// HELLO with AUTH. Resetting keys is for admins: without a token, all clients on loopback; else
// clients that authenticate with the admin token, which also serves as the password. The only user
// is "default".
//
// Thread rule: pure. Tested by resp_access_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/session.h"

namespace weir {

struct RespAccess {
  Exposure exposure = Exposure::kLoopback;
  std::optional<std::string> password;
  std::optional<std::string> admin_token;
};

// In ascending order.
enum class Trust : std::uint8_t {
  kStranger,  // has to authenticate first
  kUser,      // may check
  kAdmin,     // may reset
};

// The trust in a client before its first command.
Trust initial_trust(const RespAccess& access);

// nullopt if these credentials are wrong. Takes the same time for all of them. If none are needed,
// all are right, as in Redis.
std::optional<Trust> authenticate(const RespAccess& access, std::string_view user,
                                  std::string_view secret);

}  // namespace weir
