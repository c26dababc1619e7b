// Scenario: the events of a simulation: rules, nodes, traffic, faults. docs/internals/simulator.md
// describes its file; draw_scenario() draws a random one.
//
// Rules and settings stay texts, as in a configuration: so a scenario can be written again, made
// smaller, and kept.
//
// Thread rule: values. Tested by simulate_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::sim {

// A source of requests.
struct TrafficSource {
  enum class Kind : std::uint8_t {
    kSteady,   // at random times, each independent of the others
    kBursts,   // many at once, then nothing for long
    kCron,     // all keys at the same moment, again and again
    kAttack,   // a flood of keys that nobody has seen
    kPatient,  // one client for each key, which comes back when it was told to
    kHasty,    // one client for each key: it comes back at once, sooner after each denial
    kWork,     // reserves units, and mostly commits others while they are held
  };

  Kind kind = Kind::kSteady;
  std::vector<std::string> rules{};  // their ids; several: all or nothing
  double rate = 10;                  // requests a second
  std::int64_t keys = 10;
  std::int64_t cost = 1;             // random, from 1 to so many units
  std::optional<std::int64_t> node;  // nullopt: a random one
  // Percentages of requests that look, give back, or count whether or not they fit.
  std::int64_t looks = 0;
  std::int64_t refunds = 0;
  std::int64_t charges = 0;
  Duration hold = std::chrono::seconds(1);  // of work: at most so long
  Duration from{0};
  std::optional<Duration> until{};
};

struct Fault {
  enum class Kind : std::uint8_t {
    kCut,        // the path between a node and Redis carries nothing
    kHalfCut,    // only a node's own bytes arrive
    kSlowPath,   // the path takes much longer
    kPause,      // Redis stands still
    kSlowRedis,  // each command takes long
    kRestart,    // Redis forgets everything
    kFailover,   // a replica takes over, which lacks the last writes
    kForget,     // Redis forgets its scripts
    kEvict,      // Redis drops some keys
    kReadOnly,   // Redis refuses to write
    kFull,       // Redis has no memory
    kHalfOpen,   // Redis forgets its connections, and says nothing
    kClock,      // the clock of Redis steps
    kClockBack,  // the same, backwards
    kKill,       // a node dies, and a new one takes its place
    kLeave,      // a node leaves in good order, and a new one takes its place
    kReload,     // a node gets its rules again
    kFreeze,     // a node stands still
    kBlock,      // a node blocks a key by hand
    kLift,       // a node lifts such a block
    kZone,       // a node gets rules whose calendars have another time zone
    kRows,       // a node gets rows of the table of tenants
  };

  Kind kind = Kind::kCut;
  Duration at{0};
  Duration length{0};                  // for how long, or by how much
  std::optional<std::int64_t> node{};  // nullopt: all
  std::string rule{};                  // of a block
  std::string key{};
  std::string zone{};
  std::int64_t rows = 0;   // for k0, k1 and so on, at once; 0: for the key
  std::int64_t limit = 0;  // of each; -2: the rows go
};

// One request, and its expected answer.
struct Question {
  Duration at{0};
  std::int64_t node = 0;
  std::string rule{};  // its id; empty: the first
  std::string key{};
  std::int64_t cost = 1;
  enum class Verb : std::uint8_t { kHit, kLook, kCharge } verb = Verb::kHit;
  std::optional<bool> allowed{};
  std::optional<std::int64_t> left{};
};

struct Scenario {
  std::string name;
  Instant begins = instant_from_epoch_us(1'700'000'040'000'000);  // as a minute does
  Duration length = std::chrono::seconds(10);
  std::int64_t nodes = 1;
  std::string settings = "{}";                        // JSON, as a configuration has them
  std::vector<std::string> rules{};                   // JSON
  Duration latency = std::chrono::microseconds(300);  // one way
  Duration jitter = std::chrono::microseconds(200);
  double loss = 0;         // of packets, in percent
  Duration skew{0};        // of clocks, at most
  std::int64_t drift = 0;  // of clocks in a second, at most: microseconds
  // Trips between each place and the Redis of all places. Nodes are spread over the places in turn,
  // and each place also has its own Redis. Empty: there is one place.
  std::vector<Duration> places{};
  std::vector<TrafficSource> traffic{};
  std::vector<Fault> faults{};
  std::vector<Question> questions{};
};

// A scenario's rules and settings, compiled.
struct Means {
  SettingValues settings;
  std::vector<Rule> rules;
  RequestSources sources;
};

inline constexpr std::string_view kRedisAddress = "redis:6379";
inline constexpr std::string_view kWorldAddress = "world:6379";

// A mistake has its line and column. `file` is only a name.
Result<Scenario, ConfigErrors> read_scenario(std::string_view text, const std::string& file);
Result<Means, ConfigErrors> means_of(const Scenario& scenario);

// A text that read_scenario() reads as the same scenario.
std::string to_yaml(const Scenario& scenario);

// The end of a calendar window, computed by other code, and the rule's fields for it.
struct Boundary {
  std::string_view fields;
  std::int64_t at_s;  // since 1970
};
std::span<const Boundary> boundaries();

// A random scenario: each feature is in some of them.
Scenario draw_scenario(std::uint64_t seed);

// The longest that a packet of any node needs to the Redis where rules count, and back.
Duration trip_max(const Scenario& scenario);

std::string_view name_of(Fault::Kind kind);
std::string_view name_of(TrafficSource::Kind kind);
bool is_about_redis(Fault::Kind kind);
// Whether the fault ends after its length. For others the length is how far a clock steps, how old
// a replica is, or how long a block holds.
bool lasts(Fault::Kind kind);
inline bool is_clock_step(const Fault& fault) {
  return fault.kind == Fault::Kind::kClock || fault.kind == Fault::Kind::kClockBack;
}

}  // namespace weir::sim
