#include "simulate/node.h"

#include <algorithm>
#include <utility>

#include "rules/time/time_zone.h"

namespace weir::sim {
namespace {

constexpr std::size_t kSharedKeysMax = 16'384;
constexpr Duration kLookForSeconds = std::chrono::milliseconds(200);

HashSecret secret_of(Prng& chance) {
  HashSecret secret;
  for (std::byte& byte : secret.bytes) byte = static_cast<std::byte>(chance.next() >> 56);
  return secret;
}

MemoryStoreOptions memory_of(const ServerSettings& settings) {
  return {.max_keys = settings.max_keys, .precise_keys = settings.precise_keys};
}

}  // namespace

SimNode::SimNode(Setup setup)
    : setup_(std::move(setup)),
      written_(setup_.means.rules),
      tokens_(setup_.seed),
      secret_(secret_of(tokens_)),
      name_("node" + std::to_string(setup_.number) + "-" + std::to_string(setup_.life)),
      memory_(make_memory_store(memory_of(*setup_.means.settings), now())),
      holds_(*memory_, [this] { return secret_of(tokens_); }),
      hasher_(secret_),
      blocks_(hasher_),
      recent_(traffic_, now()),
      switches_(setup_.means.settings->switching, active_, [](const RuleSwitches::Change&) {}),
      engine_(*memory_, hasher_, traffic_.add_core()),
      pool_(engine_, blocks_, compiled(), DenialDoor::kHttp),
      reactor_(setup_.machine),
      dialer_(setup_.network, setup_.machine, setup_.number),
      posts_(reactor_.make_alarm([this](Instant) {
        for (auto& action : std::exchange(posted_, {})) action();
      })),
      seconds_(reactor_.make_alarm([this](Instant at) { follow_seconds(at); })) {
  engine_.holds = &holds_;
  engine_.follow(active_);
  seconds_->set(recent_.next_tick());
  if (std::ranges::any_of(written_, &Rule::has_tenants)) {
    tenants_ = std::make_unique<SimTenants>(secret_of(tokens_), engine_, reactor_, setup_.tenants);
  }
  join();
}

SimNode::~SimNode() {
  if (world_) world_->end(0);
  if (fleet_) fleet_->end(0);
}

void SimNode::use_zone(std::string_view zone, std::string_view rule) {
  for (Rule& each : written_) {
    if (rule.empty() || rule == each.id) each.calendar.zone = find_zone(std::string(zone));
  }
  reload();
}

RuleSetPtr SimNode::compiled() {
  std::vector<Rule> rules = written_;
  number_rules(rules, traffic_.rules());
  return std::make_shared<const RuleSet>(std::move(rules), setup_.means.sources);
}

void SimNode::join() {
  auto options = fleet_settings(setup_.means.settings);
  if (!options || !*options) return;
  auto world = world_settings(setup_.means.settings);
  if (setup_.place) (*options)->url = *RedisUrl::parse("redis://" + redis_of(*setup_.place));
  join(fleet_, **std::move(options),
       {.blocks = blocks_,
        .traffic = &recent_,
        .switches = &switches_,
        .keys = &keys_,
        .tenants = tenants_ ? &tenants_->shared() : nullptr},
       setup_.place ? nullptr : setup_.named);
  if (!setup_.place || !world || !*world) return;
  join(world_, **std::move(world), {.blocks = blocks_, .audience = BlockAudience::kWorld},
       setup_.named);
}

void SimNode::join(std::optional<NodeFleet>& fleet, RedisFleetOptions options, FleetTopics topics,
                   std::function<void()> named) {
  options.node = name_;
  options.secret = secret_;
  options.keys = std::min<std::size_t>(kSharedKeysMax, setup_.means.settings->max_keys);
  fleet.emplace(
      std::move(options), 1,
      NodeFleet::World{
          .topics = std::move(topics),
          .post = [this](std::size_t, std::function<void()> action) { post(std::move(action)); },
          .listener = {.say = [this](FleetListener::Severity,
                                     const std::string& sentence) { setup_.say(sentence); },
                       .secret_found =
                           [this, named = std::move(named)](const HashSecret&, Instant) {
                             if (named) post(named);
                           }}},
      now());
  fleet->begin(0, engine_, reactor_, dialer_, now());
}

void SimNode::post(std::function<void()> action) {
  posted_.push_back(std::move(action));
  posts_->set(Instant{});
}

// The fleet's seconds end between this node's seconds.
void SimNode::follow_seconds(Instant now) {
  recent_.tick(now);
  switches_.decide(*recent_.snapshot(), pool_.rules(), now);
  const Instant ended = std::max(recent_.next_tick(), now + kLookForSeconds / 10);
  seconds_->set(std::min(ended, fleet_ ? now + kLookForSeconds : Instant::max()));
}

}  // namespace weir::sim
