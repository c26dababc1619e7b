// Node: all the parts of one running weir, put together.
//
//   clock -> store -> (engine, doors) for each core -> server
//
// Thread rule: one thread makes, starts, drains and destroys it.
// Tested by tests/e2e.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fault.h"
#include "cli/node/about.h"
#include "cli/node/fleets.h"
#include "cli/node/rollouts.h"
#include "cli/node/rule_changer.h"
#include "cli/node/settings.h"
#include "cli/node/tenant_keeper.h"
#include "cli/node/traffic_guard.h"
#include "engine/asks/error_bar.h"
#include "engine/asks/limit_notices.h"
#include "engine/block_list.h"
#include "engine/login_guard.h"
#include "engine/shared/shared_rules.h"
#include "engine/switching/active_algorithms.h"
#include "engine/switching/rule_switches.h"
#include "engine/tenants/shared_tenants.h"
#include "net/loop/gate.h"
#include "net/loop/wall_clock.h"
#include "net/server.h"
#include "observe/detailed_counts.h"
#include "observe/keys/fleet_keys.h"
#include "observe/keys/recent_asks.h"
#include "observe/recent_traffic.h"
#include "observe/traffic.h"
#include "rulebook/rulebook.h"
#include "rules/rule_set.h"
#include "server/grpc/health.h"
#include "server/http/console/console_routes.h"
#include "server/http/http_node.h"
#include "server/http/node_view.h"
#include "server/resp/resp_node.h"
#include "weir/clock.h"
#include "weir/holding_store.h"
#include "weir/key.h"
#include "weir/memory_store.h"
#include "weir/result.h"

namespace weir {

// check:allow(methods): what starts, serves and ends shares all parts
class Node {
 public:
  // Reserves the memory and listens. Clients get no answer until server().open_doors(). An empty
  // `config_file`: there is none.
  static Result<std::unique_ptr<Node>, Fault> make(const Settings& settings,
                                                   const std::string& config_file,
                                                   const Secrets& secrets, Config config);

  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Server& server() { return *server_; }
  // Open once the node shares its limits; null if its configuration makes it a node alone.
  const Gate* fleet_reached() const { return fleets_ == nullptr ? nullptr : &fleet_reached_; }
  // Where each door listens, as in settings.listening.
  std::vector<std::string> urls() const;
  Exposure exposure() const { return http_.options().access.exposure; }
  MemoryStoreStats store_stats() const { return store_->stats(); }

  // Puts other rules in force, on every core, before it returns, unless a core takes more than a
  // second for that; a request keeps the rules it began with. Only work that rule_changer() runs
  // may change it.
  Rulebook& rulebook() { return rulebook_; }
  RuleChanger& rule_changer() { return rule_changer_; }

  // For new connections; open ones stay as they are.
  void use_admission(std::shared_ptr<const Admission> admission) noexcept {
    server_->use_admission(std::move(admission));
  }
  void accepted_reload(const Rulebook::Loaded& loaded) {
    reloads_.succeeded(clock_.now());
    if (loaded.is_same) reloads_.found_same(clock_.now());
  }
  bool was_reload_refused() const { return !reloads_.figures().succeeded; }
  BlockList& blocks() { return blocks_; }
  TenantKeeper& tenants() { return tenants_; }
  Instant now() const { return clock_.now(); }
  // How far the wall clock is ahead of now().
  Duration wall_lead() const { return wall_clock_.now() - clock_.now(); }
  void refused_reload() { reloads_.failed(clock_.now()); }

  // From now on /health says that the node stops, and every session finishes.
  void drain(Duration patience);

 private:
  struct CoreParts;

  Node(const Settings& settings, const std::string& config_file, const Secrets& secrets);
  RuleSetPtr compile(std::vector<Rule> rules, RequestSources sources);
  void announce_rules() noexcept;
  void announce_tenants() noexcept;
  std::string id_of(RuleNumber rule) const;
  KeyReport busiest_keys(RuleNumber rule, std::string_view id) const;
  std::optional<Fault> listen();
  ServerOptions server_options();
  std::optional<Fault> prepare_fleet(ServerOptions& options);
  void begin_core(std::size_t core, EventLoop& loop, SocketDialer& dialer);
  void end_core(std::size_t core);
  void follow_seconds(CoreParts& parts, EventLoop& loop);
  void show_second(CoreParts& parts, Instant now);
  std::optional<SharedStoreFigures> shared() const {
    return fleets_ == nullptr ? std::nullopt : std::optional(fleets_->place());
  }
  NodeAbout about() const {
    return about_node(settings_, *server_, shared(), reloads_.figures(),
                      {.traffic = recent_traffic_.snapshot(), .wall_lead = wall_lead()});
  }
  NodeFigures figures();
  void log_shed(std::size_t count);
  void log_denials(Instant now) const;

  const Settings settings_;
  // Each uses those above it, and is destroyed before them.
  SystemClock clock_;
  WallClock wall_clock_;
  std::unique_ptr<MemoryStore> store_;
  HoldingStore holds_;
  const HashSecret secret_;  // becomes the fleet's, if that has none yet
  const std::string name_;   // in the fleet, like no other node's
  KeyHasher hasher_;
  LoginGuard logins_{hasher_};
  BlockList blocks_;
  ActiveAlgorithms active_algorithms_;
  Traffic traffic_;
  std::unique_ptr<MemoryStore> error_logs_{make_memory_store(ErrorBar::kLogs, clock_.now())};
  ErrorBar error_bar_{*error_logs_, clock_.now()};
  std::optional<RecentAsks> recent_asks_;  // nullopt: nothing is remembered
  FleetKeys fleet_keys_;
  RecentTraffic recent_traffic_;
  LimitNotices notices_{settings_.values->show_keys ? KeyTexts::kShown : KeyTexts::kHidden,
                        clock_.now()};
  RuleSwitches switches_;
  DetailedCounts detailed_counts_;
  Rulebook rulebook_;
  SharedRules shared_rules_{name_, [this](Instant now) { rule_changer_.follow_fleet(now); }};
  RuleChanger rule_changer_{rulebook_, settings_.fleet ? &shared_rules_ : nullptr,
                            title_of(settings_)};
  SharedTenants shared_tenants_{[this](Instant) { tenants_.follow_fleet(); }};
  TenantKeeper tenants_{
      {.changer = rule_changer_,
       .rules = [this] { return rulebook_.rules(); },
       .apply = [this] { announce_tenants(); },
       .now = [this] { return clock_.now(); },
       .tell = [this](TrafficEvent event) { traffic_guard_.tell(std::move(event)); },
       .fleet = settings_.fleet ? &shared_tenants_ : nullptr},
      HashSecret::random()};
  TrafficGuard traffic_guard_;
  Rollouts rollouts_{
      {.traffic = traffic_, .desk = rule_changer_, .tell = [this](TrafficEvent event) {
         traffic_guard_.tell(std::move(event));
       }}};
  Reloads reloads_{clock_.now()};
  const NodeView view_;
  const ConsoleOptions console_;
  LiveFeed live_;
  HttpNode http_;
  GrpcNode grpc_;
  RespNode resp_;
  std::vector<std::unique_ptr<CoreParts>> cores_;
  Gate fleet_reached_;
  std::unique_ptr<Fleets> fleets_;  // null: alone
  std::mutex shed_mutex_;           // guards the two below
  std::size_t shed_unsaid_ = 0;     // connections that the log has not counted yet
  Instant shed_said_{};
  std::unique_ptr<Server> server_;
};

}  // namespace weir
