// Scripts: EVAL in a modelled Redis, on Lua 5.1.
//
// Redis's Lua is 5.1 with changes that none of our scripts can tell, except for errors, whose words
// are the same here. There are redis.call, pcall and sha1hex, and struct for little-endian formats.
// There is no clock, no randomness, and no file.
//
// A thread has one Lua for all models, which compiles a text once. So loading a script that a model
// has forgotten, or that another model knows, costs nothing.
//
// Thread rule: the thread that loaded a script runs it. Tested by redis_model_test.cc.

#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "simulate/redis/commands.h"

namespace weir::lab {

class Scripts {
 public:
  // Carries out a command of a script, and answers in RESP2.
  using Carrier = std::function<void(Words words, OutputBuffer& reply)>;

  Scripts(Carrier carrier, int instructions_max)
      : carrier_(std::move(carrier)), instructions_max_(instructions_max) {}

  // The hash that names it from now on; empty after an error that was answered.
  std::string load(std::string_view text, RedisReply& reply);
  bool has(std::string_view sha) const { return known_.contains(sha); }
  void forget() { known_.clear(); }

  // REQUIRES: has(sha)
  void run(std::string_view sha, Words keys, Words arguments, RedisReply& reply);

 private:
  const Carrier carrier_;
  const int instructions_max_;
  std::set<std::string, std::less<>> known_;  // by hash
};

// In Redis's form: 40 lower-case letters and digits.
std::string sha1_hex(std::string_view text);

}  // namespace weir::lab
