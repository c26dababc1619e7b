// Scripts: what EVAL runs in a modelled Redis, on Lua 5.1.
//
// Redis's own Lua is 5.1 with changes that no script of ours can tell, but for errors, whose words
// are the same here. There are redis.call, pcall, error_reply, status_reply and sha1hex, and of
// struct what little-endian formats take. There is no clock, no chance, and no file.
//
// Thread rule: one thread. Tested by redis_model_test.cc.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "simulate/redis/commands.h"

struct lua_State;

namespace weir::lab {

class Scripts {
 public:
  // Carries out a command of a script, and answers in RESP2.
  using Carrier = std::function<void(Words words, OutputBuffer& reply)>;

  Scripts(Carrier carrier, int instructions_max);
  ~Scripts();

  // The hash by which it is known from now on; empty after an error that was answered.
  std::string load(std::string_view text, RedisReply& reply);
  bool has(std::string_view sha) const { return references_.contains(sha); }
  void forget();

  // REQUIRES: has(sha)
  void run(std::string_view sha, Words keys, Words arguments, RedisReply& reply);

 private:
  void open();
  void set_list(const char* name, Words words);
  void answer_failure(std::string_view sha, RedisReply& reply);

  struct Closer {
    void operator()(lua_State* lua) const;
  };
  const Carrier carrier_;
  const int instructions_max_;
  std::unique_ptr<lua_State, Closer> lua_;
  std::unordered_map<std::string, int, TextHash, std::equal_to<>> references_;  // by hash
};

// As Redis writes them: 40 small letters and digits.
std::string sha1_hex(std::string_view text);

}  // namespace weir::lab
