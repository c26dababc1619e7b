// Scripts: what EVAL runs in a modelled Redis, on Lua 5.1.
//
// Redis's own Lua is 5.1 with changes that no script of ours can tell, but for errors, whose words
// are the same here. There are redis.call, pcall, error_reply, status_reply and sha1hex, and of
// struct what little-endian formats take. There is no clock, no chance, and no file.
//
// A thread has one Lua for all models, in which a text is compiled once. So a script that a model
// has forgotten, or that another one knows, costs nothing to load.
//
// Thread rule: the thread that has loaded the script runs it. Tested by redis_model_test.cc.

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

  // The hash by which it is known from now on; empty after an error that was answered.
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

// As Redis writes them: 40 small letters and digits.
std::string sha1_hex(std::string_view text);

}  // namespace weir::lab
