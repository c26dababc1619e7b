// weir gateway: nginx, with Weir in its workers, in front of an origin.

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/duration_text.h"
#include "base/joined.h"
#include "cli/commands.h"
#include "cli/gateway/nginx_config.h"
#include "cli/node/config_files.h"
#include "config/config.h"
#include "net/loop/file_watch.h"
#include "net/loop/gate.h"
#include "net/loop/signals.h"
#include "net/process_limits.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kExitNotStarted = 127;  // as a shell reports it

// An nginx that runs in the foreground, and ends when its owner does.
class NginxProcess {
 public:
  // The program, its folder and its configuration.
  struct Command {
    std::string program;
    std::string folder;
    std::string config;
  };

  // Starts it, out of reach of the terminal's Ctrl-C: the owner passes signals on. Throws
  // std::system_error if there can be no further process.
  explicit NginxProcess(const Command& command);
  NginxProcess(const NginxProcess&) = delete;
  NginxProcess& operator=(const NginxProcess&) = delete;
  ~NginxProcess();  // ends it

  // Does nothing once exit_code() has returned a code.
  void signal(int number) const;

  // The exit code of an nginx that has ended, with its workers; after a signal 128 and its number.
  std::optional<int> exit_code();

 private:
  void end_orphans() const;

  pid_t pid_ = -1;
};

// Runs in the child, with the signals that every program starts with.
[[noreturn]] void become(const NginxProcess::Command& command) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::setpgid(0, 0);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const auto words = std::array{command.program.c_str(),
                                "-p",
                                command.folder.c_str(),
                                "-c",
                                command.config.c_str(),
                                "-e",
                                "stderr",
                                static_cast<const char*>(nullptr)};
  ::execv(command.program.c_str(), const_cast<char* const*>(words.data()));
  ::_exit(kExitNotStarted);
}

NginxProcess::NginxProcess(const Command& command) : pid_(::fork()) {
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) become(command);
}

NginxProcess::~NginxProcess() {
  if (pid_ < 0) return;
  signal(SIGTERM);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void NginxProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);  // -1 would be all processes
}

std::optional<int> NginxProcess::exit_code() {
  end_orphans();
  int status = 0;
  if (pid_ < 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// nginx's workers outlive a killed master, and keep its port. Until this waits for the master, no
// other group of processes has its number.
void NginxProcess::end_orphans() const {
  siginfo_t ended{};
  const auto id = static_cast<id_t>(pid_);
  if (pid_ < 0 || ::waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return;
  if (ended.si_pid == pid_) ::kill(-pid_, SIGTERM);
}

constexpr int kExitFailed = 1;
constexpr Duration kQuiet = 200ms;               // files that have not changed for as long are read
constexpr Duration kDrain = 10s;                 // for requests under way at a stop
constexpr Duration kPatience = 24h;              // when there is nothing to do but wait
constexpr std::int64_t kMemoryMin = 1536 << 10;  // the module refuses less
constexpr const char* kModuleName = "ngx_http_weir_module.so";

struct CommandLine {
  GatewayOptions gateway;
  std::string nginx;
  std::string timeout = "60s";
  bool print = false;
};

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "weir: " << message << '\n';
  throw CLI::RuntimeError(kExitFailed);
}

// The first of these files that exists.
std::string first_of(const std::vector<fs::path>& files, const std::string& remedy) {
  for (const auto& file : files) {
    auto error = std::error_code();
    if (fs::exists(file, error)) return file;
  }
  fail("there is no " + joined(files) + "; " + remedy);
}

std::string find_nginx(const std::string& named) {
  if (!named.empty()) return first_of({fs::absolute(named)}, "name nginx with --nginx");
  return first_of({"/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"},
                  "install nginx, or name it with --nginx");
}

// Next to the program in a build, else in the folder of packages and `cmake --install`.
std::string find_module(const std::string& named) {
  if (!named.empty()) return first_of({fs::absolute(named)}, "name the module with --module");
  const auto here = fs::read_symlink("/proc/self/exe").parent_path();
  return first_of(
      {here / "nginx" / kModuleName, here.parent_path() / "lib/nginx/modules" / kModuleName,
       fs::path("/usr/lib/nginx/modules") / kModuleName},
      "install libnginx-mod-http-weir, or name the module with --module");
}

// A folder for nginx's own files, removed with its owner. Workers of another user may enter it.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "weir-gateway-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr || ::chmod(path_.c_str(), 0711) != 0) {
      fail("cannot make a folder " + path_ + ": " + std::generic_category().message(errno));
    }
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    auto error = std::error_code();
    fs::remove_all(path_, error);
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string config_text(const GatewayOptions& options) {
  auto text = nginx_config(options);
  if (!text) fail(text.error().message);
  return *std::move(text);
}

std::string nginx_file(const GatewayOptions& options) { return options.folder + "/nginx.conf"; }

std::string pid_file(const GatewayOptions& options) { return options.folder + "/nginx.pid"; }

void write_nginx_file(const GatewayOptions& options) {
  const auto text = config_text(options);
  std::ofstream(nginx_file(options)) << text;
}

// Trusts the same proxies as `weir serve`: this machine, unless the file says otherwise.
void use(const Config& config, GatewayOptions& options) {
  options.trusted_proxies = config.settings->trusted_proxies.value_or(Texts{"127.0.0.0/8", "::1"});
  options.awaits_responses =
      std::ranges::any_of(config.rules, [](const Rule& rule) { return rule.response.has_value(); });
}

// One run of nginx, from its start to its end.
class Gateway {
 public:
  // REQUIRES: nginx's configuration file is written
  Gateway(GatewayOptions options, const std::string& nginx)
      : options_(std::move(options)),
        files_(watched(options_)),
        watch_(files_),
        seen_(fingerprint(files_)),
        nginx_({.program = nginx, .folder = options_.folder, .config = nginx_file(options_)}) {}

  int run(const Signals& signals) {
    using Event = Signals::Event;
    for (;;) {
      const auto awaited = signals.wait(never_, watch_.fd(), patience());
      if (const auto code = nginx_.exit_code()) return *code;
      if (awaited.event == Event::kSignal) handle(awaited.signal);
      if (awaited.event == Event::kReadable) {
        watch_.drain();
        changing_ = true;
      }
      if (awaited.event == Event::kTime) look();
    }
  }

 private:
  static std::vector<std::string> watched(const GatewayOptions& options) {
    auto files = std::vector{options.config_file};
    if (!options.http_tls.empty()) files.insert(files.end(), {options.certificate, options.key});
    return files;
  }

  Duration patience() const {
    return changing_ || !is_told_ ? kQuiet : stopping_ ? kDrain : kPatience;
  }

  void handle(int signal) {
    if (signal == SIGCHLD) return;
    if (signal == SIGHUP) return reload();
    if (signal == SIGUSR1) return nginx_.signal(SIGUSR1);  // it opens its log again
    const bool again = std::exchange(stopping_, true);
    is_told_ = true;
    spdlog::info("{}", again ? "stopping at once" : "stopping, within 10s");
    nginx_.signal(again ? SIGTERM : SIGQUIT);
  }

  // nginx writes this file once it listens.
  void tell() {
    is_told_ = fs::exists(pid_file(options_));
    if (!is_told_) return;
    using Door = std::pair<const char*, const std::string&>;
    for (const auto& [scheme, address] :
         {Door("http", options_.http), Door("https", options_.http_tls)}) {
      if (!address.empty()) spdlog::info("listening on {}://{}", scheme, address);
    }
  }

  void look() {
    if (!is_told_) return tell();
    if (std::exchange(changing_, false)) {
      const auto seen = std::exchange(seen_, fingerprint(files_));
      if (seen != seen_ && !stopping_) reload();
    } else if (stopping_) {
      nginx_.signal(SIGTERM);
    }
  }

  // nginx reads all again, or keeps what it has if that fails. Our file's mistakes come first.
  void reload() {
    const auto loaded = load_whole_config(options_.config_file, ServedBy::kGateway);
    if (!loaded) {
      for (const auto& error : loaded.error()) spdlog::error("{}", error.to_string());
      return spdlog::error("{} not reloaded: the rules in force stay", options_.config_file);
    }
    use(*loaded, options_);
    write_nginx_file(options_);
    spdlog::info("nginx reads {} again", options_.config_file);
    nginx_.signal(SIGHUP);
  }

  GatewayOptions options_;
  const std::vector<std::string> files_;
  const Gate never_;
  FileWatch watch_;
  std::uint64_t seen_;
  bool is_told_ = false;  // the log says that nginx listens
  bool changing_ = false;
  bool stopping_ = false;
  NginxProcess nginx_;
};

// Reads the rules first: their mistakes come before nginx starts.
void use_rules(GatewayOptions& options) {
  use(value_or_refuse(load_whole_config(options.config_file, ServedBy::kGateway), std::cerr),
      options);
}

// Paths on the command line start from the current folder.
void make_absolute(GatewayOptions& options) {
  for (auto* file : {&options.config_file, &options.certificate, &options.key, &options.origin_ca,
                     &options.access_log, &options.folder}) {
    const bool is_switch = file == &options.access_log && *file == "off";
    if (!file->empty() && !is_switch) *file = fs::absolute(*file).lexically_normal();
  }
}

// nginx also opens its log itself, and appends: so must this, if both are one file.
void append_to_logs() {
  for (const int log : {STDOUT_FILENO, STDERR_FILENO}) {
    const int flags = ::fcntl(log, F_GETFL);
    if (flags >= 0) ::fcntl(log, F_SETFL, flags | O_APPEND);
  }
}

int run(const CommandLine& line, GatewayOptions options) {
  const auto nginx = find_nginx(line.nginx);
  auto folder = std::optional<Folder>();
  if (options.folder.empty()) options.folder = folder.emplace().path();
  write_nginx_file(options);
  fs::remove(pid_file(options));  // of a killed run

  append_to_logs();
  set_up_log();
  raise_open_files_limit();  // nginx's workers inherit it
  const auto signals = Signals({SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGCHLD});
  for (const auto& address : {options.http, options.http_tls}) {
    if (!address.empty()) spdlog::info("starting nginx for {} -> {}", address, options.origin);
  }
  return Gateway(std::move(options), nginx).run(signals);
}

void gateway(const CommandLine& line) {
  auto options = line.gateway;
  make_absolute(options);
  const auto timeout = parse_duration(line.timeout);
  if (!timeout || *timeout < 1ms) fail("--origin-timeout: write a duration such as 30s");
  options.origin_timeout = *timeout;
  if (options.http.empty() && options.http_tls.empty()) options.http = "127.0.0.1:8080";
  if (options.user.empty() && ::geteuid() == 0) options.user = "www-data";
  use_rules(options);
  options.module_file = find_module(options.module_file);
  if (!line.print) throw CLI::RuntimeError(run(line, options));
  std::cout << config_text(options);
}

}  // namespace

void add_gateway_command(CLI::App& app) {
  auto* command = app.add_subcommand("gateway", "Run nginx with Weir in it, in front of an origin");
  const auto line = std::make_shared<CommandLine>();
  auto& to = line->gateway;
  to.origin_ca = "/etc/ssl/certs/ca-certificates.crt";
  to.access_log = "/dev/stdout";
  to.body_max = 16 << 20;
  to.memory = 64 << 20;
  command->add_option("--origin", to.origin, "Whom it stands in front of: http[s]://HOST[:PORT]")
      ->required();
  command->add_option("--config", to.config_file, "YAML file with the rules")->required();
  command->add_option("--http", to.http, "HOST:PORT or unix:/path [127.0.0.1:8080]");
  command->add_option("--http-tls", to.http_tls, "The same under TLS, with HTTP/2");
  command->add_option("--tls-certificate", to.certificate, "PEM file of the certificate");
  command->add_option("--tls-key", to.key, "PEM file of its key");
  command->add_option("--origin-ca", to.origin_ca, "Authorities of an https origin")
      ->capture_default_str();
  command->add_option("--origin-timeout", line->timeout, "For each step of the origin")
      ->capture_default_str();
  command->add_option("--access-log", to.access_log, "A file, or off")->capture_default_str();
  command->add_option("--max-body", to.body_max, "Bytes of a request's body, or as in 16MiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--memory", to.memory, "Bytes for counters, for all workers, or as in 64MiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(kMemoryMin, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--workers", to.workers, "How many [one for each core]")
      ->check(CLI::Range(1, 256));
  command->add_option("--user", to.user, "Whom workers run as, if root starts it [www-data]");
  command
      ->add_option("--folder", to.folder,
                   "For nginx's own files [a temporary one; with --print, nginx's own places]")
      ->check(CLI::ExistingDirectory);
  command->add_option("--nginx", line->nginx, "The nginx to run");
  command->add_option("--module", to.module_file, "ngx_http_weir_module.so, built for that nginx");
  command->add_flag("--print", line->print, "Print nginx's configuration, and end");
  command->callback([line] { gateway(*line); });
}

}  // namespace weir
