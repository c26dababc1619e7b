// A redis-server of the test's own that listens on a port, and can be stopped, killed and
// started again: a server that stands alone, a sentinel, or a node of a cluster.
//
// Thread rule: one thread. Tested by redis_clients_test.cc, which uses it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

// A port that no process listens on.
std::uint16_t free_port();

class RedisProcess {
 public:
  // `options` as on its command line. Runs from start() on. With `config`, the lines of the
  // file that a sentinel wants to write to.
  explicit RedisProcess(std::vector<std::string> options, const std::string& config = {});
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  // Returns when it can be connected to.
  void start();
  void kill();            // at once
  void send(int signal);  // SIGSTOP, SIGCONT

  std::uint16_t port() const { return port_; }
  const std::string& folder() const { return folder_; }

  // What redis-cli prints, without the last line's end.
  std::string ask(const std::string& command) const;
  // Until that is, or contains, `expected`. Gives up after 20 s: false.
  bool comes_to_say(const std::string& command, const std::string& expected) const;

 private:
  std::vector<std::string> options_;
  std::uint16_t port_;
  std::string folder_;
  bool is_sentinel_;
  int pid_ = -1;
  int log_ = -1;
};

}  // namespace weir
