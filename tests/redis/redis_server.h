// A redis-server of the test's own, and a blocking connection to it.
//
// It listens on a Unix socket in a temporary folder, keeps nothing, and dies with the test.
//
// Thread rule: one thread. Tested by decide_script_test.cc, which uses it.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/resp/reply_reader.h"

namespace weir::testing {

class RedisServer {
 public:
  RedisServer();
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
