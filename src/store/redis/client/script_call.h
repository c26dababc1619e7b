// ScriptCall: a call of a script by its hash. If Redis does not know the script, after a restart or
// a failover, it has done nothing: the same call goes again, with the text.
//
// Thread rule: the core of its client. Tested by src/store/redis/strict/redis_store_test.cc and
// src/store/redis/fleet/fleet_beat_test.cc.

#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "store/redis/client/redis_client.h"

namespace weir {

class ScriptCall : public RedisCall {
 public:
  // Both outlive the call.
  ScriptCall(RedisClient& client, std::string_view text) : client_(client), text_(text) {}

  // As RedisClient::send(), but answered() follows in place of replied(). `words` begin with
  // EVALSHA and the hash, which the text may replace.
  [[nodiscard]] std::optional<RedisFailure> send(std::span<std::string_view> words,
                                                 std::uint16_t slot, Instant deadline, Instant now);
  // Redis did not know the script when it was last sent.
  bool was_unknown() const { return was_unknown_; }

  virtual void answered(const resp::Reply& reply, Instant now) noexcept = 0;

 protected:
  ~ScriptCall() = default;

 private:
  void replied(const resp::Reply& reply, Instant now) noexcept final;

  RedisClient& client_;
  const std::string_view text_;
  std::span<std::string_view> words_;
  std::uint16_t slot_ = 0;
  Instant deadline_;
  bool was_unknown_ = false;
};

}  // namespace weir
