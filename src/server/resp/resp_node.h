// RespNode: facts about this node that the Redis doors of all cores share and show.
//
// Thread rule: any thread; the options do not change.
// Tested by resp_commands_test.cc.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/login_guard.h"
#include "observe/resp_counts.h"
#include "observe/traffic.h"
#include "server/resp/resp_access.h"
#include "weir/time.h"

namespace weir {

class RespNode {
 public:
  struct Options {
    std::string version;
    Instant started{};
    RespAccess access;
    LoginGuard* logins = nullptr;  // outlives the node; null: nobody will say AUTH
  };

  // `traffic` must outlive the node.
  RespNode(Options options, const Traffic& traffic)
      : options_(std::move(options)), traffic_(traffic) {}

  const Options& options() const { return options_; }
  const Traffic& traffic() const { return traffic_; }
  RespCounts& counts() { return counts_; }

  // A new number for a connection. Relaxed: it orders nothing else.
  std::uint64_t next_client_id() { return 1 + clients_.fetch_add(1, std::memory_order_relaxed); }

 private:
  const Options options_;
  const Traffic& traffic_;
  RespCounts counts_;
  std::atomic<std::uint64_t> clients_{0};
};

}  // namespace weir
