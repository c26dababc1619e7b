#include "redis/redis_server.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/assert.h"

namespace weir::testing {
namespace {

[[noreturn]] void become_redis(const std::string& folder, const std::string& socket_path,
                               int log_fd, const RedisServerOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(log_fd, STDOUT_FILENO);
  if (options.clock != nullptr) {
    setenv("WEIR_REDIS_CLOCK", options.clock->path().c_str(), 1);
    setenv("LD_PRELOAD", getenv("WEIR_REDIS_CLOCK_LIBRARY"), 1);
  }
  std::vector<std::string> words = {"redis-server", "--port", "0",     "--unixsocket", socket_path,
                                    "--save",       "",       "--dir", folder};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp("redis-server", pointers.data());
  _exit(127);
}

// Its log says when it listens.
void wait_until_ready(int log_fd) {
  std::string log;
  std::array<char, 1024> piece;
  while (log.find("eady to accept connections") == std::string::npos) {
    const auto size = ::read(log_fd, piece.data(), piece.size());
    WEIR_ASSERT(size > 0);  // it has ended instead: is redis-server installed?
    log.append(piece.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

RedisClock::RedisClock()
    : path_((std::filesystem::temp_directory_path() / "weir-clock-XXXXXX").string()) {
  const int fd = mkstemp(path_.data());
  WEIR_ASSERT(fd >= 0 && ftruncate(fd, sizeof(*now_us_)) == 0);
  void* const page = mmap(nullptr, sizeof(*now_us_), PROT_WRITE, MAP_SHARED, fd, 0);
  WEIR_ASSERT(page != MAP_FAILED);
  close(fd);
  now_us_ = static_cast<std::int64_t*>(page);
}

RedisClock::~RedisClock() {
  munmap(const_cast<std::int64_t*>(now_us_), sizeof(*now_us_));
  std::filesystem::remove(path_);
}

RedisServer::RedisServer(const RedisServerOptions& options) {
  std::string folder = (std::filesystem::temp_directory_path() / "weir-redis-XXXXXX").string();
  WEIR_ASSERT(mkdtemp(folder.data()) != nullptr);
  folder_ = folder;
  socket_path_ = folder + "/redis.sock";
  std::array<int, 2> log{};
  WEIR_ASSERT(pipe(log.data()) == 0);
  pid_ = fork();
  WEIR_ASSERT(pid_ >= 0);
  if (pid_ == 0) become_redis(folder_, socket_path_, log[1], options);
  close(log[1]);
  wait_until_ready(log[0]);
  // The other end stays open: a log that is not read would stop the server.
}

RedisServer::~RedisServer() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  std::filesystem::remove_all(folder_);
}

RedisConnection::RedisConnection(const RedisServer& server) {
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  server.socket_path().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  WEIR_ASSERT(connect(fd_, generic, sizeof(address)) == 0);
}

RedisConnection::~RedisConnection() { close(fd_); }

void RedisConnection::put(std::span<const std::string_view> words) {
  output_ += "*" + std::to_string(words.size()) + "\r\n";
  for (const auto word : words) {
    output_ += "$" + std::to_string(word.size()) + "\r\n";
    output_.append(word).append("\r\n");
  }
}

void RedisConnection::flush() {
  for (std::size_t sent = 0; sent < output_.size();) {
    const auto size = ::send(fd_, output_.data() + sent, output_.size() - sent, MSG_NOSIGNAL);
    WEIR_ASSERT(size > 0);
    sent += static_cast<std::size_t>(size);
  }
  output_.clear();
}

const resp::Reply& RedisConnection::read() {
  input_.erase(0, consumed_);
  consumed_ = 0;
  std::array<char, 16'384> piece;
  for (;;) {
    const auto status = reader_.read(input_);
    WEIR_ASSERT(status != resp::ReplyReader::Status::kBroken);
    if (status == resp::ReplyReader::Status::kReply) break;
    const auto size = ::recv(fd_, piece.data(), piece.size(), 0);
    WEIR_ASSERT(size > 0);
    input_.append(piece.data(), static_cast<std::size_t>(size));
  }
  consumed_ = reader_.size();
  return reader_.reply();
}

const resp::Reply& RedisConnection::call(const std::vector<std::string_view>& words) {
  put(words);
  flush();
  return read();
}

}  // namespace weir::testing
