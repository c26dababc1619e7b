// A redis-server of the test's own, and a blocking connection to it.
//
// It listens on a Unix socket in a temporary folder, keeps nothing, and dies with the test.
//
// Thread rule: one thread. Tested by decide_script_test.cc, which uses it.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/resp/reply_reader.h"
#include "weir/time.h"

namespace weir::testing {

// The time of a redis-server: what set() says, and nothing moves it on.
class RedisClock {
 public:
  RedisClock();
  ~RedisClock();
  RedisClock(const RedisClock&) = delete;
  RedisClock& operator=(const RedisClock&) = delete;

  void set(Instant now) { *now_us_ = epoch_us(now); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  volatile std::int64_t* now_us_;
};

struct RedisServerOptions {
  std::vector<std::string> arguments{};
  const RedisClock* clock = nullptr;  // outlives the server; null: the machine's
};

class RedisServer {
 public:
  explicit RedisServer(const RedisServerOptions& options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  const std::string& socket_path() const { return socket_path_; }

 private:
  std::string folder_;
  std::string socket_path_;
  int pid_ = -1;
};

class RedisConnection {
 public:
  explicit RedisConnection(const RedisServer& server);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Waits in line; flush() sends the line, read() takes the replies in order.
  void put(std::span<const std::string_view> words);
  void flush();
  // Valid until the next call.
  const resp::Reply& read();
  // The bytes of what was read last.
  std::string_view bytes() const { return std::string_view(input_).substr(0, consumed_); }

  // All three for one command.
  const resp::Reply& call(const std::vector<std::string_view>& words);

 private:
  int fd_ = -1;
  std::string output_;
  std::string input_;
  std::size_t consumed_ = 0;
  resp::ReplyReader reader_;
};

}  // namespace weir::testing
