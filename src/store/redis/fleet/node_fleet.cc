#include "store/redis/fleet/node_fleet.h"

#include <cstring>
#include <string>
#include <utility>

namespace weir {
namespace {

// For resets and refunds in another place; only these wait.
constexpr Duration kWorldDeadline = std::chrono::seconds(1);

}  // namespace

NodeFleet::NodeFleet(RedisFleetOptions options, std::size_t cores, World world, Instant now)
    : options_(std::move(options)), world_(std::move(world)), state_(cores, now), members_(cores) {
  auto& found = world_.listener.secret_found;
  found = [this, then = std::move(found)](const HashSecret& secret, Instant at) {
    use_secret(secret, at);
    then(secret, at);
  };
}

void NodeFleet::begin(std::size_t core, Engine& engine, Reactor& reactor, Dialer& dialer,
                      Instant now) {
  // Each core waits for a random time before it tries again, so its seed differs.
  std::uint32_t seed = 0;
  std::memcpy(&seed, options_.secret.bytes.data(), sizeof(seed));
  seed += world_.salt + static_cast<std::uint32_t>(core);
  const RedisFleet::Core place{.number = core,
                               .surroundings = {.reactor = reactor, .dialer = dialer, .seed = seed},
                               .topics = world_.topics,
                               .state = state_,
                               .listener = world_.listener,
                               .own_counters = engine.local(),
                               .process = world_.salt,
                               .tokens = engine.holds,
                               .owed = world_.owed};
  Member& member = members_[core];
  member = {.engine = &engine,
            .fleet = std::make_unique<RedisFleet>(options_, place, now),
            .answers = reactor.make_alarm([&engine](Instant then) { engine.go_on(then); })};
  if (options_.mode == Mode::kWorld) {
    engine.world = member.fleet.get();
    return;
  }
  engine.await_hasher();
  engine.join(*member.fleet, [&alarm = *member.answers] { alarm.set(Instant{}); });
}

void NodeFleet::end(std::size_t core) {
  Engine* const engine = members_[core].engine;
  if (engine != nullptr && engine->world == members_[core].fleet.get()) engine->world = nullptr;
  members_[core].fleet.reset();
  members_[core].answers.reset();
}

SharedStoreFigures NodeFleet::figures() const {
  const RecentTraffic* const traffic = world_.topics.traffic;
  auto shown =
      state_.shown(options_.mode, traffic == nullptr ? TrafficSnapshot() : *traffic->snapshot());
  if (world_.topics.rules != nullptr) shown.rules = world_.topics.rules->hold();
  return shown;
}

// Runs on the first core. Old hashers stay, since each core changes in its own time.
void NodeFleet::use_secret(const HashSecret& secret, Instant now) {
  if (secret_ && secret_->bytes == secret.bytes) return;
  secret_ = secret;
  const KeyHasher& hasher = hashers_.emplace_back(secret);
  for (std::size_t core = 0; core < members_.size(); ++core) {
    world_.post(core, [&member = members_[core], &hasher, now] {
      if (member.fleet == nullptr) return;
      if (member.engine->world != member.fleet.get()) member.engine->use_hasher(hasher);
      member.fleet->use_secret(hasher, now);
    });
  }
}

Result<std::optional<RedisFleetOptions>, SettingMistake> fleet_settings(
    const SettingValues& values) {
  using Shared = std::optional<RedisFleetOptions>;
  const StoreSettings& store = values->store;
  if (store.redis.empty()) {
    if (!values.is_set<&StoreSettings::mode>()) return Shared();
    return SettingMistake{
        setting_name<&StoreSettings::mode>(),
        "--mode is about a store that is shared: give --redis, or 'store:' in the file"};
  }
  auto url = RedisUrl::parse(store.redis);
  if (!url) {
    return SettingMistake{setting_name<&StoreSettings::redis>(),
                          "the URL of the Redis: " + url.error().message};
  }
  return Shared({.url = *std::move(url),
                 .mode = store.mode,
                 .deadline = store.deadline,
                 .sync_interval = store.sync_interval,
                 .prefix = store.prefix,
                 .node = {},
                 .title = values->node_name,
                 .secret = {}});
}

// The prefix is another one, so that this may be the Redis of one of the places.
Result<std::optional<RedisFleetOptions>, SettingMistake> world_settings(
    const SettingValues& values) {
  using Shared = std::optional<RedisFleetOptions>;
  const StoreSettings& store = values->store;
  const std::string& name = setting_name<&StoreSettings::world>();
  if (store.world.empty()) return Shared();
  if (store.redis.empty()) {
    return SettingMistake{name,
                          "'world' is the Redis of all places, beside this place's own: give "
                          "--redis, or 'redis' in 'store:'"};
  }
  auto url = RedisUrl::parse(store.world);
  if (!url) {
    return SettingMistake{name, "the URL of the Redis of all places: " + url.error().message};
  }
  return Shared({.url = *std::move(url),
                 .mode = Mode::kWorld,
                 .deadline = kWorldDeadline,
                 .sync_interval = kWorldSyncInterval,
                 .prefix = store.prefix + "world:",
                 .node = {},
                 .title = values->node_name,
                 .secret = {}});
}

}  // namespace weir
