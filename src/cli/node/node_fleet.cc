#include "cli/node/node_fleet.h"

#include <spdlog/spdlog.h>

#include <cstring>
#include <utility>

namespace weir {

NodeFleet::NodeFleet(RedisFleetOptions options, std::size_t cores, const Shared& shared, Post post,
                     Instant now)
    : options_(std::move(options)),
      shared_(shared),
      post_(std::move(post)),
      state_(cores, now),
      members_(cores) {}

void NodeFleet::begin(std::size_t core, Engine& engine, EventLoop& loop, SocketDialer& dialer,
                      Instant now) {
  // Nodes and cores wait for a random time before they try again, each with its own seed.
  std::uint32_t seed = 0;
  std::memcpy(&seed, options_.secret.bytes.data(), sizeof(seed));
  seed += static_cast<std::uint32_t>(core);
  const RedisFleet::Core place{.number = core,
                               .surroundings = {.reactor = loop, .dialer = dialer, .seed = seed},
                               .blocks = shared_.blocks,
                               .traffic = shared_.traffic,
                               .switches = shared_.switches,
                               .rule_counts = shared_.rule_counts,
                               .keys = shared_.keys,
                               .state = state_,
                               .listener = *this,
                               .own_counters = engine.local()};
  Member& member = members_[core];
  member = {.engine = &engine,
            .fleet = std::make_unique<RedisFleet>(options_, place, now),
            .answers = loop.make_alarm([&engine](Instant then) { engine.go_on(then); })};
  engine.await_hasher();
  engine.join(*member.fleet, [&alarm = *member.answers] { alarm.set(Instant{}); });
}

void NodeFleet::end(std::size_t core) {
  members_[core].fleet.reset();
  members_[core].answers.reset();
}

SharedStoreFigures NodeFleet::figures() const {
  return state_.shown(options_.mode, *shared_.traffic.snapshot());
}

void NodeFleet::health_changed(const FleetHealth& health) {
  const auto level = health.is_healthy ? spdlog::level::info : spdlog::level::warn;
  spdlog::log(level, "redis: {}", to_text(health, options_.url.to_string()));
}

void NodeFleet::fleet_warned(const std::string& sentence) { spdlog::warn("redis: {}", sentence); }

// Runs on the first core. The hashers stay, since each core changes in its own time.
void NodeFleet::secret_found(const HashSecret& secret, Instant now) {
  const KeyHasher& hasher = hashers_.emplace_back(secret);
  for (std::size_t core = 0; core < members_.size(); ++core) {
    post_(core, [&member = members_[core], &hasher, now] {
      if (member.fleet == nullptr) return;
      member.engine->use_hasher(hasher);
      member.fleet->use_secret(hasher, now);
    });
  }
}

}  // namespace weir
