#include "cli/node/node.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/if_memory.h"
#include "cli/node/http2_routes.h"
#include "console/assets.h"
#include "engine/engine.h"
#include "gate/header_settings.h"
#include "net/process_limits.h"
#include "proto/http2/http2_door.h"
#include "proto/sniffer.h"
#include "server/grpc/grpc_door.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/check/check_routes.h"
#include "server/http/http_door.h"
#include "server/resp/resp_door.h"
#include "store/memory/packing.h"
#include "weir/version.h"

namespace weir {
namespace {

// A connection costs about 100 bytes and the buffers that its peer fills, so this bounds memory as
// well as descriptors.
constexpr std::size_t kConnectionsMax = 100'000;

constexpr Duration kShedLogEvery = std::chrono::seconds(10);
constexpr Duration kLookForSeconds = std::chrono::milliseconds(200);

// How long a change of the rules waits for busy cores. A turn of a core takes a few milliseconds.
constexpr Duration kHandoverMax = std::chrono::seconds(1);

// The protocols that TLS may agree on at a door, best first.
std::vector<std::string> protocols_of(Door door) {
  if (door == Door::kResp) return {};
  if (door == Door::kGrpc) return {"h2"};
  return {"h2", "http/1.1"};
}

// 64 random bits in hexadecimal.
std::string node_name() {
  std::string name;
  const auto secret = HashSecret::random();
  for (const std::byte byte : std::span(secret.bytes).first(8)) {
    name += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return name;
}

std::array<std::byte, 32> chance() {
  const auto secret = HashSecret::random();
  std::array<std::byte, 32> bytes{};
  std::copy_n(secret.bytes.begin(), bytes.size(), bytes.begin());
  return bytes;
}

TrafficGuard::Options guard_options(const Settings& settings, const Secrets& secrets,
                                    const std::string& node) {
  using Scope = TrafficSnapshot::Scope;
  const Duration learn = settings.values->unusual_traffic.learn;
  auto options = TrafficGuard::Options{
      .watch = {.scope = settings.fleet ? Scope::kFleet : Scope::kNode,
                .learn_s = std::chrono::ceil<std::chrono::seconds>(learn).count()},
      .node = settings.fleet ? node : std::string(),
      .host = host_name()};
  if (settings.webhook) {
    options.webhook = {.url = *settings.webhook, .token = secrets.webhook_token};
  }
  return options;
}

KeyTexts key_texts(const Settings& settings) {
  return settings.values->show_keys ? KeyTexts::kShown : KeyTexts::kHidden;
}

// The id of no rule.
constexpr std::string_view kRulelessId;

void log_switch(const RuleSwitches::Change& change) {
  spdlog::info("{} now follow{} {} instead of {}: {}",
               change.rule.empty() ? "checks without a rule" : fmt::format("rule {}", change.rule),
               change.rule.empty() ? "" : "s", algorithm_name(change.to.active.algorithm),
               algorithm_name(change.from), figures_text(change.to.why));
}

// A switch in words, for consoles.
std::string switch_text(const RuleSwitch& to) {
  return fmt::format("now {}: {}", algorithm_name(to.active.algorithm), figures_text(to.why));
}

// The seed spreads the times at which doors close; they need not be secret.
Http2Options http2_options(const SettingValues& values, std::uint64_t seed) {
  return {.age_max = values->listen.http2_age_max, .seed = seed};
}

}  // namespace

struct Node::CoreParts {
  CoreParts(Node& node, const RuleSetPtr& rules_at_first, std::uint64_t seed)
      : rules(rules_at_first),
        engine(*node.store_, node.hasher_, node.traffic_.add_core()),
        http(node.http_, engine, node.blocks_, rules),
        grpc(node.grpc_, engine, node.blocks_, rules,
             {.envoy = node.settings_.values->envoy, .detailed_counts = &node.detailed_counts_}),
        grpc_alone(grpc, http2_options(node.settings_.values, seed)),
        routes(grpc, http),
        http2(routes, http2_options(node.settings_.values, seed)),
        any_http(http, http2),
        resp(node.resp_, engine, node.blocks_, rules) {
    engine.holds = &node.holds_;
    engine.notices = &node.notices_;
    engine.follow(node.active_algorithms_, node.traffic_.rules().number_of(kRulelessId));
    engine.use_unusual_rules(node.traffic_guard_.unusual_rules());
    add_routes(node);
  }

  // Frequent routes come first.
  void add_routes(Node& node) {
    HttpCore& core = http.core();
    add_check_routes(core, CheckRoutes::kAll);
    add_auth_route(core);
    add_json_route(core, grpc.service());
    add_node_pages(core, node.view_);
    add_explain_page(core, &node.switches_);
    add_block_page(core, [](const std::string& line) { spdlog::info("{}", line); });
    add_busiest_page(core, node.view_, node.settings_.fleet ? &node.fleet_keys_ : nullptr);
    add_rule_pages(core, node.rule_changer_, &node.switches_);
    add_tenant_pages(core, node.tenants_);
    add_event_page(core, node.traffic_guard_.events());
    add_denial_page(core, node.traffic_);
    add_openapi_page(core);
    add_console_routes(core, node.console_,
                       {.view = node.view_, .feed = node.live_, .consoles = consoles});
    add_index_route(core, node.console_);
  }

  SessionFactory& door(Door door) {
    switch (door) {
      case Door::kHttp: break;
      case Door::kGrpc: return grpc_alone;
      case Door::kResp: return resp;
    }
    return any_http;
  }

  void use_rules(const RuleSetPtr& others) {
    if (others == rules) return;
    http.use_rules(others);
    grpc.use_rules(others);
    resp.use_rules(others);
    rules = others;  // last, so that a core without memory tries again
  }

  RuleSetPtr rules;
  Engine engine;
  LiveConsoles consoles;
  HttpDoor http;
  GrpcDoor grpc;
  Http2Door grpc_alone;
  Http2Routes routes;
  Http2Door http2;
  SniffingFactory any_http;  // HTTP/1.1 or HTTP/2
  RespDoor resp;
  // Only while the core serves.
  std::optional<WallFollower> wall;
  std::unique_ptr<Alarm> seconds;  // of the first core
};

Result<std::unique_ptr<Node>, Fault> Node::make(const Settings& settings,
                                                const std::string& config_file,
                                                const Secrets& secrets, Config config) {
  try {
    auto node = std::unique_ptr<Node>(new Node(settings, config_file, secrets));
    node->rulebook_.load(std::move(config), node->clock_.now());
    if (auto error = node->listen()) return std::move(*error);
    return node;
  } catch (const std::bad_alloc&) {
    return Fault{"there is not enough memory for " + std::to_string(settings.values->max_keys) +
                 " keys; lower --max-keys, --precise-keys or --remember"};
  }
}

Node::Node(const Settings& settings, const std::string& config_file, const Secrets& secrets)
    : settings_(settings),
      store_(make_memory_store(settings.memory(), clock_.now())),
      holds_(*store_),
      secret_(HashSecret::random()),
      name_(node_name()),
      hasher_(secret_),
      blocks_(hasher_),
      fleet_keys_(key_texts(settings)),
      recent_traffic_(traffic_, clock_.now()),
      switches_(settings.values->switching, active_algorithms_,
                [this](const RuleSwitches::Change& change) {
                  log_switch(change);
                  live_.tell("switch", std::string(change.rule), switch_text(change.to));
                }),
      rulebook_(
          config_file,
          [this](std::vector<Rule> rules, RequestSources sources) {
            return compile(std::move(rules), std::move(sources));
          },
          [this] { announce_rules(); }),
      traffic_guard_(
          guard_options(settings, secrets, name_), recent_traffic_,
          [this](RuleNumber rule) { return id_of(rule); },
          [this](RuleNumber rule, std::string_view id) { return busiest_keys(rule, id); }),
      view_{.info = {.version = std::string(kVersion),
                     .started = clock_.now(),
                     .threads = static_cast<int>(settings.threads),
                     .max_keys = settings.values->max_keys,
                     .node = name_},
            .traffic = traffic_,
            .reloads = reloads_,
            .figures = [this] { return figures(); },
            .switches = &switches_,
            .unusual_rules = &traffic_guard_.unusual_rules(),
            .details = &detailed_counts_,
            .error_bar = &error_bar_},
      console_{.use = settings.values->console, .assets = console_assets()},
      live_(view_, traffic_guard_.events(), rule_changer_, blocks_,
            console_.use == ConsoleOptions::Use::kPublic ? LiveFeed::People::kHidden
                                                         : LiveFeed::People::kNamed),
      http_({.access = {.exposure = settings.exposure(), .admin_token = secrets.admin_token},
             .trusted_proxies = settings.trusted_proxies,
             .headers = header_settings(*settings.values),
             .logins = &logins_,
             .chance = chance}),
      resp_({.version = view_.info.version,
             .started = view_.info.started,
             .access = {.exposure = settings.exposure(),
                        .password = secrets.resp_password,
                        .admin_token = secrets.admin_token},
             .logins = &logins_},
            traffic_) {
  if (key_texts(settings) == KeyTexts::kShown) traffic_.keep_key_texts();
  if (const auto bytes = settings.remember_bytes; bytes > 0) {
    rule_changer_.remember_in(recent_asks_.emplace(bytes, settings.threads, clock_.now(),
                                                   settings.fleet ? nullptr : &hasher_),
                              settings.values->precise_keys);
  }
  switches_.count_ruleless_as(traffic_.rules().number_of(kRulelessId));
  traffic_guard_.start([this] { return notices_.take(clock_.now()); });
}

Node::~Node() {
  traffic_guard_.stop();
  rule_changer_.stop();  // it posts to the server
}

std::optional<Fault> Node::listen() {
  auto admission = make_admission(settings_);
  if (!admission) return std::move(admission.error());
  const auto seed = static_cast<std::uint64_t>(epoch_us(clock_.now()));
  for (std::size_t i = 0; i < settings_.threads; ++i) {
    cores_.push_back(std::make_unique<CoreParts>(*this, rulebook_.rules(), seed + i));
    Engine& engine = cores_.back()->engine;
    engine.error_bar = &error_bar_;
    if (settings_.values->precise_keys > 0) engine.may_be_precise = Packing::may_be_precise;
    if (recent_asks_) engine.remember_in(recent_asks_->core(i));
  }
  auto endpoints = std::vector<Endpoint>();
  for (const auto& listening : settings_.listening) {
    auto& endpoint = endpoints.emplace_back(Endpoint{.address = listening.address,
                                                     .factories = {},
                                                     .security = listening.option->security,
                                                     .alpn = protocols_of(listening.option->door),
                                                     .proxy_protocol = listening.proxy_protocol});
    for (auto& core : cores_) endpoint.factories.push_back(&core->door(listening.option->door));
  }
  auto options = server_options();
  options.admission = *std::move(admission);
  if (auto error = prepare_fleet(options)) return error;
  auto opened = Server::open(endpoints, options, clock_);
  if (!opened) return std::move(opened.error());
  server_ = std::move(*opened);
  return std::nullopt;
}

ServerOptions Node::server_options() {
  const auto possible = connections_possible(raise_open_files_limit(), settings_.threads);
  return {.connections_max = std::min(possible, kConnectionsMax),
          .buffered_max = settings_.max_buffered,
          .on_shed = [this](std::size_t count) { log_shed(count); },
          .admission = nullptr,
          .core_begins = [this](std::size_t core, EventLoop& loop,
                                SocketDialer& dialer) { begin_core(core, loop, dialer); },
          .core_ends = [this](std::size_t core) { end_core(core); }};
}

// All cores shed, perhaps again and again: one line each kShedLogEvery has the sum.
void Node::log_shed(std::size_t count) {
  const Instant now = clock_.now();
  const auto lock = std::scoped_lock(shed_mutex_);
  shed_unsaid_ += count;
  if (now < shed_said_ + kShedLogEvery) return;
  spdlog::warn("connections held more than max_buffered, {} bytes: reset {} that held most",
               settings_.max_buffered, std::exchange(shed_unsaid_, 0));
  shed_said_ = now;
}

// The denials of the second before the last, to which no core adds any more.
void Node::log_denials(Instant now) const {
  const auto most = settings_.values->log_denials;
  if (most == 0) return;
  const std::int64_t second = CoreDenials::second_of(now) - 2;
  has_memory_for([&] {
    std::vector<DenialRecord> denials;
    std::uint64_t forgotten = 0;
    traffic_.each_denial(second, second, [&](const DenialRecord& denial) {
      forgotten += denial.forgotten;
      denials.push_back(denial);
    });
    denials = added_up(std::move(denials));
    for (std::size_t i = 0; i < std::min(most, denials.size()); ++i) {
      spdlog::info("{}", to_text(denials[i], traffic_.rules().id_of(denials[i].rule)));
    }
    const std::size_t more = denials.size() - std::min(most, denials.size());
    if (more > 0) spdlog::info("denied: {} more like these", more);
    if (forgotten > 0) spdlog::info("denied: {} more, of which nothing is kept", forgotten);
  });
}

// Starts the users of the core's loop other than its clients.
void Node::begin_core(std::size_t core, EventLoop& loop, SocketDialer& dialer) {
  CoreParts& parts = *cores_[core];
  parts.wall.emplace(loop, wall_clock_, clock_, [this, &parts](Duration lead) {
    parts.engine.set_wall_lead(lead);
    parts.use_rules(rulebook_.rules());
    parts.engine.tenants = tenants_.view().table;
  });
  parts.http.core().use_post(
      [&loop](std::function<void()> action) { loop.post(std::move(action)); });
  parts.grpc.hold_slot().begin_serving(loop);
  if (core == 0) follow_seconds(parts, loop);
  if (fleets_ != nullptr) fleets_->begin(core, parts.engine, loop, dialer, clock_.now());
}

// The fleet's seconds end between this node's seconds.
void Node::follow_seconds(CoreParts& parts, EventLoop& loop) {
  parts.seconds = loop.make_alarm([this, &parts](Instant now) {
    const std::int64_t seconds_before = recent_traffic_.seconds();
    recent_traffic_.tick(now);
    switches_.decide(*recent_traffic_.snapshot(), parts.rules, now);
    if (recent_traffic_.seconds() != seconds_before) {
      show_second(parts, now);
      log_denials(now);
      const bool is_alone = recent_traffic_.snapshot()->scope == TrafficSnapshot::Scope::kNode;
      const bool is_away = settings_.fleet && (is_alone || !fleets_->is_healthy());
      rollouts_.look(is_away ? Rollouts::Others::kAway : Rollouts::Others::kHear, now);
    }
    // A tick still due has lacked memory.
    const Instant ended = std::max(recent_traffic_.next_tick(), now + kLookForSeconds / 10);
    const Instant next = fleets_ == nullptr ? Instant::max() : now + kLookForSeconds;
    parts.seconds->set(std::min(ended, next));
  });
  parts.seconds->set(recent_traffic_.next_tick());
  show_second(parts, clock_.now());
}

// To the listening consoles. A core without memory for the message skips this second.
void Node::show_second(CoreParts& parts, Instant now) {
  live_.tick(
      {.traffic = recent_traffic_.snapshot(), .rules = parts.rules, .wall_lead = wall_lead()}, now);
  if (live_.consoles() == 0) return;
  has_memory_for([&] {
    const LiveMessagePtr message = live_.message();
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      server_->post(i, [&core = *cores_[i], message, now] { core.consoles.publish(message, now); });
    }
  });
}

void Node::end_core(std::size_t core) {
  if (fleets_ != nullptr) fleets_->end(core);
  cores_[core]->grpc.hold_slot().end_serving();
  cores_[core]->wall.reset();
  cores_[core]->seconds.reset();
}

// Each core joins when it begins to serve, and leaves after its last client.
std::optional<Fault> Node::prepare_fleet(ServerOptions& options) {
  if (!settings_.fleet) return std::nullopt;
  auto trust = trust_of(settings_);
  if (!trust) return std::move(trust.error());
  options.trust = *std::move(trust);
  const FleetTopics topics{.blocks = blocks_,
                           .traffic = &recent_traffic_,
                           .switches = &switches_,
                           .keys = &fleet_keys_,
                           .rules = &shared_rules_,
                           .tenants = &shared_tenants_,
                           .about = [this] { return about(); },
                           .notices = &notices_};
  const auto post = [this](std::size_t core, std::function<void()> action) {
    server_->post(core, std::move(action));
  };
  fleets_ = std::make_unique<Fleets>(settings_,
                                     Fleets::Node{.name = name_,
                                                  .secret = secret_,
                                                  .cores = cores_.size(),
                                                  .topics = topics,
                                                  .post = post,
                                                  .reached = [this] { fleet_reached_.open(); }},
                                     clock_.now());
  options.core_leaves = [this](std::size_t core) {
    // Slots of ended calls go back before the node says goodbye.
    return cores_[core]->grpc.hold_slot().has_released_all() && fleets_->leave(core, clock_.now());
  };
  return std::nullopt;
}

NodeFigures Node::figures() {
  const auto posted = traffic_guard_.webhook_figures();
  return {.store = store_->stats(),
          .listeners = server_->connections(),
          .resp = resp_.counts().sum(),
          .logins = logins_.figures(),
          .shared = shared(),
          .world = fleets_ == nullptr ? std::nullopt : fleets_->world(),
          .about = about(),
          .events = traffic_guard_.events().figures(),
          .webhook = {.delivered = posted.delivered,
                      .failed = posted.failed,
                      .dropped = posted.dropped},
          .console = {.listening = live_.consoles(),
                      .dropped = live_.dropped(),
                      .sessions = http_.sessions().size()}};
}

std::vector<std::string> Node::urls() const {
  auto urls = std::vector<std::string>();
  for (std::size_t i = 0; i < settings_.listening.size(); ++i) {
    urls.push_back(settings_.listening[i].url(server_->address(i)));
  }
  return urls;
}

RuleSetPtr Node::compile(std::vector<Rule> rules, RequestSources sources) {
  number_rules(rules, traffic_.rules());
  return std::make_shared<const RuleSet>(std::move(rules), std::move(sources));
}

// A change of rules is answered when every core has them: they decide the next request on any
// connection. Before the server exists, cores have no rules to replace. A core that misses the
// message for lack of memory finds the rules within a second, when it looks at the wall clock.
void Node::announce_rules() noexcept {
  if (server_ == nullptr) return;
  const auto use_rules = [this](std::size_t core) { cores_[core]->use_rules(rulebook_.rules()); };
  bool have_all = false;
  has_memory_for([&] { have_all = server_->run_on_all(use_rules, kHandoverMax); });
  if (!have_all) spdlog::warn("a core is late with taking over the new rules; it will follow");
}

void Node::announce_tenants() noexcept {
  if (server_ == nullptr) return;
  bool have_all = false;
  has_memory_for([&] {
    const TenantTablePtr table = tenants_.view().table;
    const auto use = [this, table](std::size_t core) { cores_[core]->engine.tenants = table; };
    have_all = server_->run_on_all(use, kHandoverMax);
  });
  if (!have_all) spdlog::warn("a core is late with taking over the table of tenants");
}

// Empty if no rule in force has this number.
std::string Node::id_of(RuleNumber number) const {
  const RuleSetPtr rules = rulebook_.rules();
  const auto& all = rules->rules();
  const auto found = std::ranges::find(all, number, &Rule::number);
  return found == all.end() ? std::string() : found->id;
}

// This node's keys and, by the others' latest words, those of all nodes.
KeyReport Node::busiest_keys(RuleNumber number, std::string_view id) const {
  const Instant now = clock_.now();
  KeyReport sum = traffic_.rules().busiest_keys(number, KeysBy::kAsked, now);
  for (auto& other : fleet_keys_.of(id, KeysBy::kAsked, now)) sum.add(std::move(other.report));
  return sum;
}

void Node::drain(Duration patience) {
  http_.start_draining();
  grpc_.start_draining();
  server_->drain(patience);
}

}  // namespace weir
