#include "redis/redis_process.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace weir {
namespace {

// What the log says when it listens; a sentinel has words of its own.
constexpr std::array<std::string_view, 2> kReady = {"eady to accept connections", "Sentinel ID is"};
constexpr auto kPatience = std::chrono::seconds(20);

void wait_until_ready(int log) {
  std::string text;
  std::array<char, 1024> piece;
  while (text.find(kReady[0]) == std::string::npos && text.find(kReady[1]) == std::string::npos) {
    const auto size = ::read(log, piece.data(), piece.size());
    WEIR_ASSERT(size > 0);  // it has ended instead
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
}

[[noreturn]] void become_redis(const std::vector<std::string>& arguments, int log) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(log, STDOUT_FILENO);
  std::vector<char*> pointers;
  for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  ::execvp("redis-server", pointers.data());
  ::_exit(127);
}

}  // namespace

std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  WEIR_ASSERT(::bind(socket, generic, size) == 0);
  WEIR_ASSERT(::getsockname(socket, generic, &size) == 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

RedisProcess::RedisProcess(std::vector<std::string> options, const std::string& config)
    : options_(std::move(options)), port_(free_port()), is_sentinel_(!config.empty()) {
  auto folder = (std::filesystem::temp_directory_path() / "weir-redis-XXXXXX").string();
  WEIR_ASSERT(::mkdtemp(folder.data()) != nullptr);
  folder_ = folder;
  std::ofstream(folder_ + "/redis.conf") << config << '\n';
}

RedisProcess::~RedisProcess() {
  kill();
  std::filesystem::remove_all(folder_);
}

void RedisProcess::start() {
  std::vector<std::string> arguments = {
      "redis-server", folder_ + "/redis.conf", "--port", std::to_string(port_), "--dir", folder_};
  if (is_sentinel_) arguments.insert(arguments.begin() + 2, "--sentinel");
  if (!is_sentinel_) arguments.insert(arguments.end(), {"--save", ""});
  arguments.insert(arguments.end(), options_.begin(), options_.end());
  std::array<int, 2> log{};
  WEIR_ASSERT(::pipe2(log.data(), O_CLOEXEC) == 0);
  pid_ = ::fork();
  WEIR_ASSERT(pid_ >= 0);
  if (pid_ == 0) become_redis(arguments, log[1]);
  ::close(log[1]);
  log_ = log[0];  // stays open: a log that is not read would stop the server
  wait_until_ready(log_);
}

void RedisProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  ::close(log_);
}

void RedisProcess::send(int signal) { ::kill(pid_, signal); }

std::string RedisProcess::ask(const std::string& command) const {
  const auto line = "redis-cli -p " + std::to_string(port_) + " " + command + " 2>&1";
  auto* const pipe = ::popen(line.c_str(), "re");
  WEIR_ASSERT(pipe != nullptr);
  std::string said;
  std::array<char, 1024> piece;
  while (const auto size = std::fread(piece.data(), 1, piece.size(), pipe)) {
    said.append(piece.data(), size);
  }
  ::pclose(pipe);
  while (said.ends_with('\n')) said.pop_back();
  return said;
}

bool RedisProcess::comes_to_say(const std::string& command, const std::string& expected) const {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (ask(command).find(expected) != std::string::npos) return true;
  }
  return false;
}

}  // namespace weir
