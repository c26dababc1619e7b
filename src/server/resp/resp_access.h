// What a client may do at the Redis door.
//
// Without a password every client may check and look. With one it must first say AUTH,
// or HELLO with AUTH. Resetting keys is for admins: on loopback without a token that is
// everybody; otherwise clients that authenticate with the admin token, which also stands for
// the password. The only user is "default".
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

// The trust in a client that has said nothing yet.
Trust initial_trust(const RespAccess& access);

// Nothing if these credentials are not right. Takes the same time whatever they are
// compared with. Where none are needed any are right, as in Redis.
std::optional<Trust> authenticate(const RespAccess& access, std::string_view user,
                                  std::string_view secret);

}  // namespace weir
