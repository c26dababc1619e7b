// One connection to a modelled Redis, for tests: replies as bytes.
//
// Thread rule: one thread. Tested by redis_model_test.cc, which uses it.

#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "simulate/redis/redis_model.h"

namespace weir::lab {

struct ModelConnection {
  std::string ask(std::initializer_list<std::string_view> words) {
    return ask(std::span<const std::string_view>(words.begin(), words.size()));
  }
  std::string ask(std::span<const std::string_view> words) {
    OutputBuffer out;
    redis.execute(peer, words, now, out);
    return std::string(out.view());
  }

  RedisModel& redis;
  Instant now = instant_from_epoch_us(1'700'000'040'000'000);  // a minute begins
  RedisPeer peer{};
};

}  // namespace weir::lab
