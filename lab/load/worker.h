// Worker: one thread of a load run, its connections and its epoll.
//
// Thread rule: constructed by one thread, run by one.
// Tested by load_test.cc.

#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "load/connection.h"
#include "load/load.h"
#include "load/pace.h"

namespace weir::load {

class Worker {
 public:
  // Connects. `target` and `codec` must outlive the worker. Throws LoadError.
  Worker(const Target& target, const LoadPlan& plan, const CodecFactory& codec);

  LoadResult run(Time start);

 private:
  std::unique_ptr<Connection> connect();
  void watch(std::size_t index, int operation, std::uint32_t events);
  void poll(Time now);
  int longest_wait_ms(Time now) const;
  void handle(std::size_t index, std::uint32_t events);
  void refill(std::size_t index);
  void feed_due(Time now);
  void ask(std::size_t index, std::size_t count, Time now);
  void settle(std::size_t index, Connection::Io io);
  void replace(std::size_t index);
  void finish(Time now);

  bool may_send(Time now) const { return now < end_ && sent_ < plan_.requests_max; }
  bool outstanding() const { return sent_ > result_.outcome.tally.replies + result_.lost; }
  bool over(Time now) const;

  const Target& target_;
  LoadPlan plan_;
  const CodecFactory& codec_;
  KeyPicker keys_;
  std::unique_ptr<Pace> pace_;  // null: closed loop
  Time end_{};

  const UniqueFd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  std::vector<std::unique_ptr<Connection>> connections_;  // null: broken for good
  std::vector<bool> blocked_;                             // epoll tells when it can write
  std::size_t alive_ = 0;
  std::size_t turn_ = 0;  // the next connection's turn, in an open loop
  std::uint64_t sent_ = 0;
  std::vector<char> buffer_;
  std::vector<std::uint32_t> batch_keys_;
  std::vector<Time> batch_times_;
  LoadResult result_;
};

}  // namespace weir::load
