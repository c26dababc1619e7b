// NginxProcess: an nginx that runs in the foreground, and ends when its owner does.
//
// Thread rule: main's thread, before there are others. Tested by tests/e2e/gateway_test.py.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace weir {

class NginxProcess {
 public:
  // What to start, from which folder, by which configuration.
  struct Command {
    std::string program;
    std::string folder;
    std::string config;
  };

  // Starts it, out of reach of the terminal's Ctrl-C, which its owner passes on as it sees fit.
  // Throws std::system_error if there can be no further process.
  explicit NginxProcess(const Command& command);
  NginxProcess(const NginxProcess&) = delete;
  NginxProcess& operator=(const NginxProcess&) = delete;
  ~NginxProcess();  // ends it

  // Does nothing once exit_code() has returned one.
  void signal(int number) const;

  // The exit code of an nginx that has ended, workers too; after a signal 128 and its number.
  std::optional<int> exit_code();

 private:
  void end_orphans() const;

  pid_t pid_ = -1;
};

}  // namespace weir
