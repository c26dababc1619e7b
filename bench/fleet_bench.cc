// Many nodes' beats on one Redis: how late a node learns what another has blocked.
//
//   fleet_bench REDIS NODES SECONDS
//
// says "settled" when the nodes know of each other, and so many seconds later, in which nothing
// happens, "blocks". Then one node after the other blocks a key. It prints as JSON how many
// milliseconds it took until half and until all of the nodes knew a block: the medians of all
// blocks. Also the fewest nodes that any of them counts.
//
// A node here is what beats, and no more: FleetBeat itself, without keys near their limits, and a
// connection of its own, a word about itself, 20 rules that count. All count in the same counters,
// which take megabytes. No doors and no stores. One thread runs them all.
// bench/suites/scale.py starts it, and asks Redis what it cost.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "engine/switching/active_algorithms.h"
#include "net/loop/event_loop.h"
#include "net/process_limits.h"
#include "net/socket_dialer.h"
#include "observe/traffic.h"
#include "store/redis/client/redis_url.h"
#include "store/redis/fleet/fleet_beat.h"
#include "weir/clock.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr int kRules = 20;
constexpr Duration kLookEvery = 5ms;
// Until nodes know how many they are, and beat accordingly: at least, and for each node.
constexpr Duration kSettles = 6s;
constexpr Duration kSettlesEach = 15ms;
constexpr Duration kLearnMax = 10s;
// A dialer is for one core. A node has a connection to each master of a cluster, and one more.
constexpr std::size_t kNodesOfDialer = 100;

std::string rule_id(int number) { return "rule-" + std::to_string(number); }

class Member final : RedisListener {
 public:
  Member(std::size_t number, const RedisUrl& url, EventLoop& loop, Dialer& dialer,
         const Traffic& traffic)
      : loop_(loop), name_("node-" + std::to_string(number)), recent_(traffic, loop.now()) {
    RedisListener& listener = *this;
    client_ = make_redis_client(
        url, {.reactor = loop, .dialer = dialer, .seed = static_cast<std::uint32_t>(number)},
        listener, loop.now());
  }

  std::int64_t live_nodes() const { return state_.live_nodes(); }
  void block(const std::string& key) {
    blocks_.add({.rule = rule_id(0), .key = key, .since = loop_.now(), .until = loop_.now() + 1min},
                loop_.now());
  }
  bool knows(const std::string& key) const {
    return blocks_.until(rule_id(0), key, loop_.now()).has_value();
  }

  void beat(Instant now) {
    if (!beat_) {
      beat_.emplace(FleetBeat::Options{.prefix = "weir:", .interval = 100ms, .node = name_},
                    FleetBeat::World{*client_,
                                     loop_,
                                     {.blocks = blocks_,
                                      .traffic = &recent_,
                                      .switches = &switches_,
                                      .keys = &keys_,
                                      .rules = &rules_,
                                      .tenants = &tenants_,
                                      .about = [this] { return NodeAbout{.title = name_}; }},
                                     state_,
                                     fleet_},
                    now);
    }
    recent_.tick(now);
  }

 private:
  const FleetListener fleet_;
  EventLoop& loop_;
  const std::string name_;
  KeyHasher hasher_{HashSecret{}};
  BlockList blocks_{hasher_};
  RecentTraffic recent_;
  ActiveAlgorithms active_;
  RuleSwitches switches_{SwitchThresholds(), active_, [](const RuleSwitches::Change&) {}};
  FleetKeys keys_{KeyTexts::kHidden};
  SharedRules rules_{name_, [](Instant) {}};
  SharedTenants tenants_{[](Instant) {}};
  FleetState state_{1, loop_.now()};
  std::unique_ptr<RedisClient> client_;
  std::optional<FleetBeat> beat_;
};

class Fleet {
 public:
  Fleet(const RedisUrl& url, std::size_t nodes) {
    for (std::size_t i = 0; i < nodes; ++i) {
      if (i % kNodesOfDialer == 0) dialers_.emplace_back(loop_);
      members_.emplace_back(i, url, loop_, dialers_.back(), traffic_);
    }
  }

  // Each node begins to beat at a time of its own.
  void run(Duration time) {
    for (const Instant end = loop_.now() + time; loop_.now() < end;) turn();
  }

  // How long until each of the nodes knows a block of one of them, the first to know first.
  std::vector<Duration> block() {
    const std::string key = "key-" + std::to_string(blocks_++);
    Member& first = members_[chance_.next() % members_.size()];
    const Instant began = loop_.now();
    first.block(key);
    std::vector<const Member*> waiting;
    for (const Member& member : members_) waiting.push_back(&member);
    std::vector<Duration> took;
    while (!waiting.empty() && loop_.now() < began + kLearnMax) {
      run(kLookEvery);
      std::erase_if(waiting, [&](const Member* member) {
        if (!member->knows(key)) return false;
        took.push_back(loop_.now() - began);
        return true;
      });
    }
    took.resize(members_.size(), kLearnMax);
    return took;
  }

  Instant now() const { return loop_.now(); }
  std::int64_t fewest_seen() const {
    return std::ranges::min_element(members_, {}, &Member::live_nodes)->live_nodes();
  }

 private:
  // Each rule.
  void count() {
    for (int i = 0; i < kRules; ++i) {
      core_.record({}, Algorithm::kFixedWindow, loop_.now());
      core_.record_rule(traffic_.rules().number_of(rule_id(i)), RuleOutcome::kAllowed, 1,
                        loop_.now());
    }
  }
  void turn() {
    const auto place = (loop_.now().time_since_epoch() % Duration(1s)) * members_.size() / 1s;
    for (auto at = static_cast<std::size_t>(place); next_ != at;
         next_ = (next_ + 1) % members_.size()) {
      count();
      members_[next_].beat(loop_.now());
    }
    loop_.turn(1ms);
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  std::deque<SocketDialer> dialers_;
  Traffic traffic_;
  CoreTraffic& core_ = traffic_.add_core();
  std::deque<Member> members_;
  std::size_t next_ = 0;  // of those that go in this second
  std::size_t blocks_ = 0;
  Prng chance_{1};
};

double ms(std::vector<Duration>& of_blocks) {
  std::ranges::sort(of_blocks);
  return static_cast<double>(of_blocks[of_blocks.size() / 2].count()) / 1000;
}

void say(const char* word) {
  std::puts(word);
  std::fflush(stdout);
}

int run(const char* redis, std::size_t nodes, Duration time) {
  raise_open_files_limit();
  const auto url = RedisUrl::parse(redis);
  if (!url || nodes == 0) return 1;
  Fleet fleet(*url, nodes);
  fleet.run(std::max<Duration>(kSettles, nodes * kSettlesEach));
  say("settled");
  fleet.run(time);
  say("blocks");
  std::vector<Duration> half, all;
  for (const Instant end = fleet.now() + time; fleet.now() < end;) {
    const auto took = fleet.block();
    half.push_back(took[took.size() / 2]);
    all.push_back(took.back());
  }
  std::printf("{\"blocks\": %zu, \"half_ms\": %.0f, \"all_ms\": %.0f, \"seen\": %lld}\n",
              all.size(), ms(half), ms(all), static_cast<long long>(fleet.fewest_seen()));
  return 0;
}

}  // namespace
}  // namespace weir

int main(int count, char** words) {
  if (count != 4) {
    std::fputs("fleet_bench REDIS NODES SECONDS\n", stderr);
    return 1;
  }
  return weir::run(words[1], std::strtoul(words[2], nullptr, 10),
                   std::chrono::seconds(std::strtol(words[3], nullptr, 10)));
}
