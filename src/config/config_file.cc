#include "config/config_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/unique_fd.h"
#include "config/yaml/yaml_text.h"

namespace weir {
namespace {

// A pipe whose writer is silent for as long, or comes in more pieces, is given up.
constexpr int kSilenceMaxMs = 10'000;
constexpr int kPiecesMax = 1'000;

class OpenFile {
 public:
  // A FIFO opens without a writer.
  explicit OpenFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}

  bool is_open() const { return fd_.is_open(); }

  // As read(2), but waits for a pipe.
  ssize_t read(char* at, std::size_t room) {
    for (;;) {
      const ssize_t got = ::read(fd_.get(), at, room);
      if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return got;
      pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (pieces_++ == kPiecesMax || ::poll(&ready, 1, kSilenceMaxMs) == 0) {
        errno = ETIMEDOUT;
        return -1;
      }
    }
  }

 private:
  const UniqueFd fd_;
  int pieces_ = 0;
};

std::error_code last_error() { return {errno, std::generic_category()}; }

}  // namespace

Result<std::string, std::error_code> read_file(const std::string& path, std::size_t bytes_max) {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  OpenFile file(path);
  if (!file.is_open()) return last_error();
  std::string text;
  while (text.size() <= bytes_max) {
    const std::size_t size = text.size();
    text.resize(std::min(size + kPiece, bytes_max + 1));
    const ssize_t got = file.read(text.data() + size, text.size() - size);
    if (got < 0) return last_error();
    text.resize(size + static_cast<std::size_t>(got));
    if (got == 0) break;
  }
  return text;
}

Result<std::string, ConfigErrors> read_config_file(const std::string& path) {
  auto text = read_file(path, kYamlBytesMax);
  if (!text) {
    return ConfigErrors{{.file = path, .message = "cannot be read: " + text.error().message()}};
  }
  return *std::move(text);
}

}  // namespace weir
