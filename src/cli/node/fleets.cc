#include "cli/node/fleets.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "cli/node/about.h"

namespace weir {
namespace {

bool is_encrypted(const RedisUrl& url) {
  return std::ranges::any_of(url.destinations, [](const Destination& destination) {
    return destination.encryption != Encryption::kNone;
  });
}

auto log_of(std::string_view whose) {
  return [whose](FleetListener::Severity severity, const std::string& sentence) {
    const bool is_notice = severity == FleetListener::Severity::kNotice;
    spdlog::log(is_notice ? spdlog::level::info : spdlog::level::warn, "{}: {}", whose, sentence);
  };
}

RedisFleetOptions of_node(RedisFleetOptions options, const Fleets::Node& node) {
  options.node = node.name;
  options.secret = node.secret;
  return options;
}

}  // namespace

Result<std::shared_ptr<const TlsTrust>, Fault> trust_of(const Settings& settings) {
  const RedisUrl& place = settings.fleet->url;
  if (!settings.world || !is_encrypted(settings.world->url)) return TlsTrust::load(place.tls);
  const TlsTrustFiles& world = settings.world->url.tls;
  if (is_encrypted(place) && place.tls != world) {
    return Fault{
        "a node trusts the Redis of its place and that of all places by the same files: write the "
        "same options behind '?' of both URLs"};
  }
  return TlsTrust::load(world);
}

// Places tell each other only of blocks, and how long Redis takes to answer those.
Fleets::Fleets(const Settings& settings, const Node& node, Instant now) {
  place_.emplace(of_node(*settings.fleet, node), node.cores,
                 NodeFleet::World{.topics = node.topics,
                                  .post = node.post,
                                  .listener = {.say = log_of("redis"), .reached = node.reached}},
                 now);
  if (!settings.world) return;
  const auto about = [this, title = title_of(settings)] {
    NodeAbout said{.title = title};
    add_shared(said, world_->figures());
    return said;
  };
  world_.emplace(of_node(*settings.world, node), node.cores,
                 NodeFleet::World{.topics = {.blocks = node.topics.blocks,
                                             .audience = BlockAudience::kWorld,
                                             .about = about},
                                  .post = node.post,
                                  .listener = {.say = log_of("all places")}},
                 now);
}

void Fleets::begin(std::size_t core, Engine& engine, Reactor& reactor, Dialer& dialer,
                   Instant now) {
  place_->begin(core, engine, reactor, dialer, now);
  if (world_) world_->begin(core, engine, reactor, dialer, now);
}

void Fleets::end(std::size_t core) {
  if (world_) world_->end(core);
  place_->end(core);
}

bool Fleets::leave(std::size_t core, Instant now) {
  const bool has_left_world = !world_ || world_->leave(core, now);
  return place_->leave(core, now) && has_left_world;
}

}  // namespace weir
