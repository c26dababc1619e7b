// weir serve: the server.

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/duration_text.h"
#include "cli/commands.h"
#include "cli/kept/state_file.h"
#include "cli/node/config_files.h"
#include "cli/node/node.h"
#include "cli/node/settings.h"
#include "config/config.h"
#include "net/loop/file_watch.h"
#include "net/loop/signals.h"
#include "net/sockets/service_manager.h"
#include "rulebook/rule_text.h"
#include "weir/version.h"

namespace weir {
namespace {

constexpr int kExitFailed = 1;

// A watch reads files only after they have not changed for so long.
constexpr Duration kQuiet = std::chrono::milliseconds(200);
constexpr Duration kReportEvery = std::chrono::minutes(1);
// How long a node that starts waits for its Redis.
constexpr Duration kReachMax = std::chrono::seconds(1);

// Ends the command: it cannot run before the operator does something. The page says more.
[[noreturn]] void fail(const std::string& message,
                       std::string_view page = "reference/log-messages.md") {
  spdlog::error("{}; see " WEIR_DOCS "{}", message, page);
  throw CLI::RuntimeError(kExitFailed);
}

template <typename Value>
Value value_or_fail(Result<Value, Fault> result) {
  if (!result) fail(result.error().message);
  return *std::move(result);
}

// REQUIRES: load() has accepted the values
Settings settled(const SettingValues& values) { return *settle(values); }

// Logs each error.
Result<Config, ConfigErrors> load(const ServeOptions& options) {
  auto loaded = load_config_files(options);
  if (!loaded)
    for (const auto& error : loaded.error()) spdlog::error("{}", error.to_string());
  return loaded;
}

// One run of the server, from a checked configuration to the end of the drain.
class Serve {
 public:
  Serve(const ServeOptions& options, Config config)
      : options_(options),
        settings_(settled(config.settings)),
        files_(describe_config_files(options, config.settings)) {
    const auto secrets = value_or_fail(read_secrets(options, *settings_.values));
    has_token_ = secrets.admin_token.has_value();
    node_ = value_or_fail(Node::make(settings_, options.config_file, secrets, std::move(config)));
    state_.emplace(settings_.values->state_file, node_->blocks());
    if (const auto error = state_->load(moment())) fail(error->message);
    const std::string& path = settings_.values->state_file;
    if (const auto error = node_->tenants().keep_in(path.empty() ? path : path + ".tenants")) {
      fail(error->message);
    }
    watch_files();
  }

  // From here on the process reserves no memory and opens only connections.
  void run(const Signals& signals) {
    node_->server().start();
    wait_for_fleet(signals);
    if (!draining_) let_clients_in();
    using Event = Signals::Event;
    for (;;) {
      const auto awaited = signals.wait(node_->server().stopped(), watch_fd(), patience());
      if (awaited.event == Event::kGateOpen) break;
      if (awaited.event == Event::kSignal) handle(awaited.signal);
      if (awaited.event == Event::kReadable) note_change();
      if (awaited.event == Event::kTime) look_after_files();
    }
    node_->rule_changer().stop();
    state_->save(moment());
    node_->tenants().save();
    say_goodbye();
  }

 private:
  void let_clients_in() {
    node_->server().open_doors();
    announce();
    notify_service_manager(ServiceState::kReady);
  }

  // Before the node reaches Redis, no other node would hear of its decisions.
  void wait_for_fleet(const Signals& signals) {
    if (node_->fleet_reached() == nullptr) return;
    const auto until = node_->now() + kReachMax;
    for (auto now = node_->now(); now < until && !draining_; now = node_->now()) {
      const auto awaited = signals.wait(*node_->fleet_reached(), -1, until - now);
      if (awaited.event == Signals::Event::kGateOpen) return;
      if (awaited.event == Signals::Event::kSignal) handle(awaited.signal);
    }
    if (draining_) return;
    spdlog::warn("redis: not reached within {}; starting without it", format_duration(kReachMax));
  }

  StateFile::Moment moment() const {
    return {.now = node_->now(), .wall_lead = node_->wall_lead()};
  }

  void handle(int signal) {
    if (signal != SIGHUP) return stop(signal);
    if (files_.empty() && !settings_.needs_tls()) {
      return spdlog::warn("SIGHUP: there is no configuration file to reload");
    }
    if (draining_) return spdlog::warn("SIGHUP: not reloading, stopping");
    watch_files();
    change_rules([this] {
      can_be_put_back_ = false;
      return reload();
    });
  }

  int watch_fd() const { return watch_ ? watch_->fd() : -1; }

  // Until look_after_files() has something to do.
  Duration patience() const {
    return changing_ ? kQuiet : state_->is_used() ? StateFile::kSaveEvery : kReportEvery;
  }

  // Editors and tools change files in several steps: this waits until nothing happens any more.
  void note_change() {
    watch_->drain();
    changing_ = true;
  }

  // Says at most once a minute that memory has forgotten keys or blocks that it should have kept.
  void report_full_memory() {
    const auto now = node_->now();
    if (now - reported_ < kReportEvery) return;
    reported_ = now;
    const auto store = node_->store_stats();
    const auto lost = std::array{store.freed, store.refused, node_->blocks().dropped()};
    const auto before = std::exchange(lost_, lost);
    if (lost == before) return;
    spdlog::warn(
        "memory is full: {} keys with nothing left of their limits were forgotten, {} new keys "
        "denied, {} blocks dropped",
        lost[0] - before[0], lost[1] - before[1], lost[2] - before[2]);
  }

  void look_after_files() {
    state_->save(moment());
    node_->tenants().save();
    report_full_memory();
    if (!std::exchange(changing_, false) || draining_) return;
    const auto seen = seen_;
    watch_files();  // a link may now lead elsewhere, to the same text
    if (seen_ == seen) return;
    change_rules([this] {
      if (is_in_force()) return put_back();
      const bool was_fine = can_be_put_back_ || !node_->was_reload_refused();
      const RuleReply reply = reload();
      can_be_put_back_ = was_fine && is_refusal(reply.outcome);
      return reply;
    });
  }

  bool is_in_force() const {
    return !node_->rulebook().file_has_changed() && envoy_files().empty();
  }

  // This node has written the file itself, or somebody has put back what it read last. Then changes
  // by request stay, as they did while the file was refused.
  RuleReply put_back() {
    if (!can_be_put_back_ || !read_again()) return {};
    can_be_put_back_ = false;
    node_->accepted_reload({.is_same = true});
    spdlog::info("{} says again what is in force", files_);
    return {};
  }

  // On another thread, so that signals do not wait for thousands of rules.
  void change_rules(RuleChanger::Work work) {
    node_->rule_changer().run(std::move(work), [this](const RuleReply& reply) {
      if (!is_refusal(reply.outcome)) return;
      if (!reply.detail.empty()) spdlog::error("{}", reply.detail);
      node_->refused_reload();
      log_what_stays();
    });
  }

  const std::string& envoy_files() const { return settings_.values->envoy.config; }

  std::vector<std::string> watched_files() const {
    auto files = std::vector<std::string>();
    for (const auto& file : {options_.config_file, envoy_files()}) {
      if (!file.empty()) files.push_back(file);
    }
    return files;
  }

  // Watches first, then looks, then reads, so that it misses no change.
  void watch_files() {
    if (!settings_.values->watch || files_.empty()) return;
    try {
      watch_ = FileWatch(watched_files());
    } catch (const std::system_error& error) {
      if (!watch_) throw;
      spdlog::error("still watching as before: {}", error.what());
    }
    seen_ = fingerprint(watched_files());
  }

  void announce() const {
    const auto stats = node_->store_stats();
    spdlog::info("weir {}", kVersion);
    spdlog::info("memory store: {} keys in {} bytes", stats.capacity, stats.bytes);
    spdlog::info("threads: {}, connections: at most {}", settings_.threads,
                 node_->server().connections().max);
    if (files_.empty()) {
      spdlog::info("no configuration file: each check brings its own limit");
    } else {
      spdlog::info("{} from {}", count_of(node_->rulebook().rules()->rules()), files_);
    }
    if (node_->exposure() == Exposure::kNetwork && !has_token_) {
      spdlog::warn(
          "listening beyond this machine without an admin token: weir refuses admin pages and "
          "resets; set one with --admin-token-file or WEIR_ADMIN_TOKEN");
    }
    for (const auto& url : node_->urls()) spdlog::info("listening on {}", url);
  }

  // The settings and rules that a reload puts in force.
  struct Wanted {
    Settings settings;
    Config config;
    std::shared_ptr<const Admission> admission;
  };

  // Reads the files again. Logs mistakes.
  std::optional<Wanted> read_again() const {
    auto loaded = load(options_);
    if (!loaded) return std::nullopt;
    auto settings = settled(loaded->settings);
    // Addresses under TLS listen so until a restart, and need their certificate.
    if (settings.tls.certificate.empty()) settings.tls = settings_.tls;
    auto in_force = settings;
    in_force.listening = settings_.listening;
    in_force.trusted_proxies = settings_.trusted_proxies;  // as in the doors: until a restart
    auto admission = make_admission(in_force);
    if (!admission) return log_refusal(admission.error());
    return Wanted{.settings = std::move(settings),
                  .config = *std::move(loaded),
                  .admission = *std::move(admission)};
  }

  static std::nullopt_t log_refusal(const Fault& error) {
    spdlog::error("{}", error.message);
    return std::nullopt;
  }

  // Runs on the thread that changes rules, as do the functions above and below.
  RuleReply reload() {
    auto wanted = read_again();
    if (!wanted) return {.outcome = ChangeOutcome::kMalformed};
    const auto loaded = node_->rule_changer().load(std::move(wanted->config), node_->now());
    node_->use_admission(std::move(wanted->admission));  // cannot fail: all is in force, or nothing
    node_->accepted_reload(loaded);
    if (!files_.empty()) log_changes(loaded.changes, wanted->settings);
    for (const auto& id : loaded.lost) {
      spdlog::warn("the change of rule {} by request was not in the file, and is gone", id);
    }
    for (const auto& line : loaded.kept) {
      spdlog::warn("unlike the file, by request: {}", line);
    }
    if (settings_.needs_tls()) {
      spdlog::info("certificate {} reloaded", wanted->settings.tls.certificate);
    }
    return {};
  }

  void log_what_stays() const {
    if (files_.empty()) {
      return spdlog::error("certificate not reloaded: the one in force stays");
    }
    spdlog::error("{} not reloaded: the {} in force stay", files_,
                  count_of(node_->rulebook().rules()->rules()));
  }

  void log_changes(const std::vector<std::string>& changes, const Settings& wanted) const {
    spdlog::info("{} reloaded: {}, {}", files_, count_of(node_->rulebook().rules()->rules()),
                 count_of(changes.size(), "change"));
    for (const auto& change : changes) spdlog::info("{}", change);
    for (const auto& sentence : needs_restart(settings_, wanted)) {
      spdlog::warn("{}", sentence);
    }
  }

  void stop(int signal) {
    if (std::exchange(draining_, true)) {
      spdlog::warn("second signal: stopping at once");
      std::_Exit(128 + signal);  // as a shell reports a death by this signal
    }
    const auto patience = settings_.values->drain_timeout;
    notify_service_manager(ServiceState::kStopping);
    spdlog::info("stopping, within {}; open connections: {}", format_duration(patience),
                 node_->server().connections().open);
    node_->drain(patience);
  }

  void say_goodbye() const {
    if (const auto cut_off = node_->server().cut_off(); cut_off > 0) {
      spdlog::warn("stopped; connections cut off: {}", cut_off);
    } else {
      spdlog::info("stopped");
    }
  }

  const ServeOptions& options_;
  const Settings settings_;
  const std::string files_;  // their names in the log; empty: there are none
  bool has_token_ = false;
  bool draining_ = false;
  std::unique_ptr<Node> node_;
  std::optional<StateFile> state_;
  std::optional<FileWatch> watch_;
  std::uint64_t seen_ = 0;  // the fingerprint of the watched files
  bool changing_ = false;
  bool can_be_put_back_ = false;  // all was fine until a watched file was; on the changer's thread
  Instant reported_{};            // when memory was last found full
  std::array<std::uint64_t, 3> lost_{};  // keys forgotten, keys denied and blocks dropped by then
};

void serve(const ServeOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed log or socket is an error to handle, not a death
  const auto waiting = Signals({SIGHUP});  // until the file is read; SIGTERM may end that
  set_up_log();
  auto config = load(options);
  if (!config) fail("not starting: the configuration has errors", "reference/settings.md#mistakes");
  const auto signals = Signals({SIGTERM, SIGINT, SIGHUP});  // before there are threads
  Serve(options, *std::move(config)).run(signals);
}

}  // namespace

// UTC, so that the logs of machines in several places can be merged by sorting.
void set_up_log() {
  auto logger = spdlog::stderr_logger_mt("weir");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(logger));
}

void add_serve_command(CLI::App& app) {
  auto* command = app.add_subcommand("serve", "Run the server");
  const auto options = std::make_shared<ServeOptions>();
  add_setting_options(*command, options->settings);
  command->add_option("--config", options->config_file,
                      "YAML file with rules and settings; options win over it");
  command->add_option("--admin-token-file", options->admin_token_file,
                      "File with the token of the admin routes; else WEIR_ADMIN_TOKEN");
  command->add_option("--resp-password-file", options->resp_password_file,
                      "File with the password of Redis clients; else WEIR_RESP_PASSWORD");
  command->callback([options] { serve(*options); });
}

}  // namespace weir
