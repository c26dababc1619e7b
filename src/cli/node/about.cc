#include "cli/node/about.h"

#include <string>

#include "net/process_limits.h"
#include "weir/version.h"

namespace weir {
namespace {

// An address where a browser surely finds the console. A node that listens at all addresses does
// not know which of them others can reach.
std::string console_address(const Settings& settings, const Server& server) {
  if (settings.values->console == ConsoleUse::kOff) return {};
  if (const auto& said = settings.values->advertise; !said.empty()) return said;
  for (std::size_t i = 0; i < settings.listening.size(); ++i) {
    const Listening& place = settings.listening[i];
    const Address bound = server.address(i);
    const bool is_browsers = place.option->door == Door::kHttp && !bound.is_unix() &&
                             !bound.is_any() && place.proxy_protocol == ProxyProtocol::kNone;
    if (is_browsers) return place.url(bound);
  }
  return {};
}

}  // namespace

std::string title_of(const Settings& settings) {
  const std::string& name = settings.values->node_name;
  return name.empty() ? host_name() : name;
}

NodeAbout about_node(const Settings& settings, const Server& server,
                     const std::optional<SharedStoreFigures>& shared,
                     const Reloads::Figures& reload, const Clocks& clocks) {
  NodeAbout about{.title = title_of(settings),
                  .address = console_address(settings, server),
                  .version = std::string(kVersion),
                  .mode = "local",
                  .memory = resident_memory()};
  if (shared) add_shared(about, *shared);
  const bool is_heard = clocks.traffic->scope == TrafficSnapshot::Scope::kFleet;
  if (is_heard) about.clock_lead = clocks.wall_lead - clocks.traffic->lead;
  if (!reload.succeeded && about.degraded.empty()) {
    about.degraded = "its new configuration was refused, and the one before is in force";
    about.since = reload.first_failure;
  }
  return about;
}

}  // namespace weir
