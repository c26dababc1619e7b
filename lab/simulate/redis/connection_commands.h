// Commands about a connection and about the Redis as a whole: HELLO, AUTH, CLIENT, SELECT, ROLE.
//
// Thread rule: the model's. Tested by redis_model_test.cc.

#pragma once

#include <cstdint>
#include <string_view>

#include "simulate/redis/commands.h"
#include "simulate/redis/redis_model.h"

namespace weir::lab {

inline constexpr int kDatabases = 16;

struct ConnectionCall {
  RedisPeer& peer;
  Words words;
  const RedisModelOptions& options;
  std::string_view role;  // "master" or "replica"; a sentinel has none
  std::uint64_t position;
  RedisReply& reply;
};

// `name`: one of these, in lower case.
void serve_connection(std::string_view name, const ConnectionCall& call);

inline resp::Protocol protocol_of(const RedisPeer& peer) {
  return peer.protocol == 3 ? resp::Protocol::kResp3 : resp::Protocol::kResp2;
}

}  // namespace weir::lab
