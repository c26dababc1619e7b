// FleetState: a node's knowledge of the nodes that share its Redis, and of how its cores fare with
// it.
//
// Thread rule: any thread. Tested by fleet_state_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/recent_traffic.h"
#include "observe/shared_store.h"
#include "rules/mode.h"
#include "rules/promise.h"
#include "store/redis/async/sync_peaks.h"
#include "store/redis/calls/redis_troubles.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

// Whether this node makes shared decisions.
struct FleetHealth {
  bool is_healthy = false;
  std::string reason{};  // why not, one sentence without its stop; no secrets
  Instant since{};
};

// For a log.
std::string to_text(const FleetHealth& health, const std::string& redis);

struct FleetFigures {
  FleetCounts counts{};
  FailureCounts failures{};
  SyncPeaks peaks{};
};

// A beat's news of the nodes.
struct NodesHeard {
  std::int64_t live = 1;    // this one included
  std::int64_t silent = 0;  // alive a short while ago, and now dead or cut off
  Instant since{};          // every node that is alive was heard since then
};

// A process that joins a fleet says here how it takes the news.
struct FleetListener {
  enum class Severity : std::uint8_t { kNotice, kWarning };
  using Say = std::function<void(Severity severity, const std::string& sentence)>;

  // For the log, once per change: one sentence without its stop. Changes of the node's health have
  // lasted for a moment; a warning is of a Redis that is not away.
  Say say = [](Severity, const std::string&) {};
  // All cores share their decisions now. On any core's thread.
  std::function<void()> reached = [] {};
  // Every core is to hash keys under it, and then calls use_secret().
  std::function<void(const HashSecret& secret, Instant now)> secret_found = [](const HashSecret&,
                                                                               Instant) {};
  // The node is about to tell the others what it has blocked.
  std::function<void(Instant now)> before_beat = [](Instant) {};

  void warn(const std::string& sentence) const { say(Severity::kWarning, sentence); }
  void warn_once(bool& has_warned, const std::string& sentence) const {
    if (!std::exchange(has_warned, true)) warn(sentence);
  }
};

class FleetState {
 public:
  FleetState(std::size_t cores, Instant now)
      : cores_(cores, {.health = {.reason = "not connected yet", .since = now}, .figures = {}}),
        waiting_since_(cores),
        started_(now),
        overall_(cores_.front().health) {
    for (auto& since : waiting_since_) since = Instant::max();
  }

  std::size_t cores() const { return cores_.size(); }

  // Nodes that are alive, this one included. While Redis is away: as of the last beat.
  std::int64_t live_nodes() const { return live_nodes_.load(std::memory_order_relaxed); }
  NodesHeard heard() const;
  void set_heard(const NodesHeard& heard, Instant now);

  // AsyncStoreOptions::waiting_since of a core.
  std::atomic<Instant>& waiting_since(std::size_t core) { return waiting_since_[core]; }
  // Lacks the facts that RedisFleet knows. Units that nodes admitted alone count for one more
  // window. The silence is Duration::max() as long as nothing was heard.
  SharingFacts sharing(const Quota& quota, Instant now) const;

  // A core's health has changed. A node is healthy if all its cores are. True if the node has just
  // become healthy.
  bool report(std::size_t core, FleetHealth health);
  FleetHealth health() const;

  // Why the node's beats do not get through; empty: they do. False if that is known already.
  bool set_beat_failure(std::string_view why);
  std::string beat_failure() const;

  // How long Redis took to answer a beat; the latest trips count most.
  void note_beat(Duration trip);
  // Redis has lost its data.
  void note_loss();
  // The other nodes' words on themselves.
  void set_others(std::vector<NodeAbout> others);

  // Whether to log it: it is the first of its kind, on all cores, for a minute.
  bool is_news(RedisFailure failure, Instant now);

  // A core's figures, now and then.
  void publish(std::size_t core, const FleetFigures& figures);
  // The sum over all cores.
  FleetFigures figures() const;

  // For pages and metrics of the doors. `mode`: of rules that name none.
  SharedStoreFigures shown(Mode mode, const TrafficSnapshot& traffic) const;

 private:
  void note_apart(Instant now);

  struct Core {
    FleetHealth health;
    FleetFigures figures;
  };

  std::atomic<std::int64_t> live_nodes_{1};
  mutable std::mutex mutex_;  // guards the fields below
  std::vector<Core> cores_;
  std::vector<std::atomic<Instant>> waiting_since_;  // not guarded
  const Instant started_;
  NodesHeard heard_;
  Instant apart_{};                  // until then nodes may have decided alone; 0: never
  std::int64_t apart_nodes_ = 0;     // the most nodes that there were then
  RecentMost<Duration, 1> silence_;  // when each beat was answered
  FleetHealth overall_;
  std::string beat_failure_;
  Duration beat_{0};
  std::uint64_t losses_ = 0;
  std::vector<NodeAbout> others_;
  std::array<Instant, kRedisFailures> named_{};
};

}  // namespace weir
