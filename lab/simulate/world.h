// World: one simulation: runs a scenario with a seed.
//
// All events are in one queue and draw their chances from the seed. So the same scenario and seed
// give the same run, byte for byte, in every process.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "simulate/checks.h"
#include "simulate/network.h"
#include "simulate/node.h"
#include "simulate/redis_server.h"
#include "simulate/scenario.h"
#include "simulate/tally.h"
#include "simulate/timeline.h"

namespace weir::sim {

class Traffic;
class Faults;

// A promise that was broken.
struct Violation {
  std::string promise;
  std::string what;
  Duration at{0};  // since the beginning
};

class World {
 public:
  // REQUIRES: means_of(scenario) has no mistakes. All must outlive the world.
  World(const Scenario& scenario, const Means& means, std::uint64_t seed, Timeline* timeline);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Runs to its end, or until a promise is broken.
  void run();
  const std::optional<Violation>& violation() const { return violation_; }
  const Tally& tally() const { return tally_; }
  std::uint64_t events() const { return queue_.happened(); }

  // ---- for the parts of the simulation

  const Scenario& scenario() const { return scenario_; }
  // Calendar limits know the ends of windows around the beginning.
  const std::vector<Rule>& rules() const { return rules_; }
  // Rules of all places count in mode async: in the Redis of all places, which redis() then is.
  Mode mode_of(std::uint32_t rule) const;
  // Whether nodes name keys alike.
  bool has_one_secret() const;
  // How long a check may take. It never waits for another place.
  Duration patience() const { return has_places() ? Duration(0) : means_.settings->store.deadline; }
  Duration sync_interval() const {
    return has_places() ? kWorldSyncInterval : means_.settings->store.sync_interval;
  }
  bool has_places() const { return !scenario_.places.empty(); }
  // The node's place; nullopt: there is only one.
  std::optional<std::size_t> place_of(std::size_t node) const {
    return has_places() ? std::optional(node % scenario_.places.size()) : std::nullopt;
  }
  // A packet's time to redis(), without a slow path.
  Duration latency(std::size_t node) const;
  EventQueue& queue() { return queue_; }
  Network& network() { return network_; }
  RedisServer* redis() { return redis_ ? &*redis_ : nullptr; }
  Instant now() const { return queue_.now(); }
  Duration elapsed() const { return now() - start_; }
  Prng& chance() { return chance_; }

  std::size_t nodes() const { return hosts_.size(); }
  SimNode* node(std::size_t number) { return hosts_[number]->node.get(); }  // null: it is down
  std::size_t life(std::size_t number) const { return hosts_[number]->life; }
  Machine& machine(std::size_t number) { return hosts_[number]->machine; }
  void start_node(std::size_t number);
  void stop_node(std::size_t number);
  // It takes no more requests, and leaves in good order.
  void leave_node(std::size_t number);
  void act_on_block(std::size_t number, const Fault& fault);
  void change_rows(std::size_t number, const Fault& fault);
  // By Redis's script; nullopt if no node has shared.
  std::optional<std::int64_t> left_in_redis(
      std::uint32_t rule, std::uint32_t key,
      RedisServer::Script script = RedisServer::Script::kLoaded);
  // `loss` makes Redis forget data: the checks hear of each lost unit.
  void lose_in_redis(const std::function<void()>& loss);

  std::string key_text(std::uint32_t key);
  std::uint32_t key_of(const std::string& text);
  std::uint32_t keys() const { return static_cast<std::uint32_t>(keys_.size()); }

  // The node decides; `then` hears the answer, maybe later. Does nothing if the node is down.
  using Then = std::function<void(const Answered&)>;
  void ask(std::size_t node, std::size_t source, const std::vector<Part>& parts, Then then = {},
           const Work& work = {});

  // The path to Redis, the Redis and the nodes have all been in order for so long.
  bool is_whole_for(Duration time) const { return !is_broken() && now() - whole_since_ >= time; }
  bool is_broken() const { return faults_open_ > 0; }
  bool has_clock_steps() const { return std::ranges::any_of(scenario_.faults, is_clock_step); }
  bool has_fault(Fault::Kind kind) const {
    return std::ranges::find(scenario_.faults, kind, &Fault::kind) != scenario_.faults.end();
  }
  void fault_begins(const Fault& fault);
  void fault_ends();
  void lost(std::uint32_t rule, std::uint32_t key, std::int64_t units);

  void note(const std::string& line);
  void note_misjudged(std::uint32_t rule, std::int64_t over, std::int64_t under) {
    tally_.rules[rule].over += static_cast<std::uint64_t>(over);
    tally_.rules[rule].under += static_cast<std::uint64_t>(under);
  }
  bool is_noting() const { return timeline_ != nullptr; }
  void fail(std::string_view promise, const std::string& what);
  // Requests without an answer yet, at nodes that run.
  void each_waiting(const std::function<void(const Asked&)>& visit) const;

 private:
  class Request;
  struct Host {
    Host(EventQueue& queue, Duration ahead, std::int64_t drift) : machine(queue, ahead, drift) {}
    Machine machine;
    std::unique_ptr<SimNode> node;
    std::size_t life = 0;
    bool is_leaving = false;
    std::optional<std::uint64_t> secret{};  // one of secrets_
  };

  SimTenants::Listener listener_of(std::size_t number);
  Request& free_request();
  void finished(Request& request);
  void collect();
  void count(const Answered& answered);
  void look();
  void named(std::size_t number);
  void go_on_leaving();
  void remember_shared(const Part& part);

  const Scenario& scenario_;
  const Means& means_;
  const std::vector<Rule> rules_;
  Timeline* const timeline_;
  const Instant start_;
  EventQueue queue_;
  Prng chance_;
  Network network_;
  std::optional<RedisServer> redis_;
  std::deque<RedisServer> near_;  // one for each place
  std::vector<std::string> keys_;
  std::vector<std::uint64_t> secrets_;  // of fleets, in the order in which nodes took them up
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<Request*> spare_;
  std::vector<Request*> decided_;
  std::vector<Answer> answers_;
  Task collector_;
  Task looker_;
  Task leaver_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Check>> checks_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Faults> faults_;
  int faults_open_ = 0;
  Instant whole_since_{};
  Tally tally_;
  std::optional<Violation> violation_;
  std::uint64_t asked_ = 0;
  // Rules and keys that Redis may have, in the order of their first request.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shared_;
  std::vector<std::vector<bool>> is_shared_;  // the same by rule and key
  std::optional<KeyHasher> hasher_;  // of who came to share last: keys may be lost when nobody does
};

}  // namespace weir::sim
