// FleetBeat: a node's word to the others, every interval and at least every kIntervalMax. The word
// says that the node is alive, which keys it has blocked, and which rules somebody has changed
// there. Once a second it says what the node has counted, and now and then which keys are busiest.
// In the same trip the node learns how many nodes are alive, the fleet's secret, and the others'
// words. A beat carries fields (beat_fields.h).
//
// All nodes hash keys under the first node's secret. So all find a key under the same name, and
// only those who read that Redis can say which key it is.
//
// If a beat cannot take all words, the rest follows at once. After a loss of data Redis gets the
// secret from the first node that comes, or an older secret later, and the blocks from all nodes.
//
// Thread rule: one core of the node. Tested by fleet_beat_test.cc, redis_fleet_test.cc and
// tests/e2e.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/block_list.h"
#include "engine/switching/rule_switches.h"
#include "observe/keys/fleet_keys.h"
#include "observe/recent_traffic.h"
#include "proto/reactor.h"
#include "store/redis/client/script_call.h"
#include "store/redis/fleet/about_field.h"
#include "store/redis/fleet/beat_fields.h"
#include "store/redis/fleet/busiest_field.h"
#include "store/redis/fleet/fleet_state.h"
#include "store/redis/fleet/limits_field.h"
#include "store/redis/fleet/switches_field.h"
#include "store/redis/fleet/traffic_field.h"
#include "weir/key.h"

namespace weir {

// The topics that the nodes of a fleet tell each other about: blocks, and those that are not null.
// All outlive the fleet.
struct FleetTopics {
  BlockList& blocks;
  BlockAudience audience = BlockAudience::kFleet;  // that hears of the blocks
  RecentTraffic* traffic = nullptr;
  RuleSwitches* switches = nullptr;
  FleetKeys* keys = nullptr;           // the others' busiest keys; REQUIRES: traffic
  SharedRules* rules = nullptr;        // null: this node takes no rules of others
  SharedTenants* tenants = nullptr;    // null: this node takes no tenants of others
  std::function<NodeAbout()> about{};  // what this node says of itself; empty: nothing
  LimitNotices* notices = nullptr;     // null: this node tells of no keys near their limits
};

class FleetBeat final : ScriptCall {
 public:
  // A node that is alive beats several times within NodesField::kAliveMax.
  static constexpr Duration kIntervalMax = std::chrono::seconds(1);
  static constexpr Duration kAnswerMax = std::chrono::seconds(1);
  // For each node of a large fleet: all together beat 2,000 times a second, or each node every
  // kIntervalMax.
  static constexpr Duration kTurn = std::chrono::microseconds(500);

  struct Options {
    std::string prefix;
    Duration interval;
    std::string node;   // its name, like no other's
    HashSecret secret;  // to bring, if the fleet has none yet
    // Where this node stopped to read the others' blocks.
    std::string blocks_read{BlocksField::kFromTheStart};
  };

  // The objects that a beat uses and changes. All must outlive it.
  struct World {
    RedisClient& client;
    Reactor& reactor;
    FleetTopics topics;
    FleetState& state;              // which nodes are alive
    const FleetListener& listener;  // of a new secret and of failures
  };

  // Beats from the first interval on.
  FleetBeat(const Options& options, const World& world, Instant now);
  ~FleetBeat();

  // The last beat: takes the node out of the count, and sends its last blocks. True when Redis has
  // answered it, or is away; else the caller calls again.
  bool leave(Instant now);

  // The other nodes have been told of all blocks that this node knows.
  const std::string& blocks_read() const { return blocks_.last_read(); }
  bool has_told_blocks() const { return blocks_.is_idle(); }

 private:
  void answered(const resp::Reply& reply, Instant now) noexcept override;
  void failed(RedisFailure why, Instant now) noexcept override;

  struct Speaker {
    BeatField* field;
    std::vector<std::string> words{};
    bool is_answered = false;  // the last answer was in order
    bool is_said = false;      // in the last beat
    bool waits = false;        // for news, in the last beat
  };

  void note_failure() noexcept;
  bool is_connected() const;
  Duration turns() const;
  std::optional<Instant> due(const BeatField& field) const;
  Instant next_beat(Instant now) const;
  std::optional<Instant> more_due(Instant now) const;
  std::vector<Speaker*> let_speak(Instant now);
  void beat(Instant now);
  void ask(Instant now);
  void take(const resp::Reply& reply, Instant now);
  void use_secret(Instant now);
  void complain(std::string_view why);

  const Duration interval_;
  const World world_;
  const std::string tag_;  // of all keys: the prefix and {fleet}
  const double place_;     // of its turn among the turns of all nodes, from 0 to 1
  NodesField nodes_;
  NewsField news_;
  SecretField secret_;
  BlocksField blocks_;
  std::optional<TrafficField> traffic_;
  std::optional<SwitchesField> switches_;
  std::optional<BusiestField> busiest_;
  std::optional<RulesField> rules_;
  std::optional<TenantsField> tenants_;
  std::optional<AboutField> about_;
  std::optional<LimitsField> limits_;
  std::vector<Speaker> speakers_{{&nodes_}, {&secret_}, {&blocks_}};
  Speaker news_speaker_{&news_};
  bool is_asking_ = false;
  Instant asked_{};
  enum class Phase : std::uint8_t { kAlive, kLeaving, kGone } phase_ = Phase::kAlive;
  std::vector<std::string> said_;  // by all fields
  std::vector<std::string_view> words_;
  std::unique_ptr<Alarm> alarm_;
};

}  // namespace weir
