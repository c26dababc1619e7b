#include "replay/progress.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace weir::lab {

Progress::Progress()
    : is_terminal_(::isatty(STDERR_FILENO) == 1), begin_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (is_drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::draw(double done, std::uint64_t requests) {
  constexpr std::size_t kColumns = 30;
  is_drawn_ = true;
  next_ = requests + kStride;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
  if (done <= 0) {
    fmt::print(stderr, "\r{} requests", requests);
    return;
  }
  const auto full = static_cast<std::size_t>(std::min(1.0, done) * kColumns);
  fmt::print(stderr, "\r[{}{}] {:3.0f} %, {} requests, {:.0f} s left\033[K", std::string(full, '#'),
             std::string(kColumns - full, ' '), 100 * done, requests,
             took.count() * (1 - done) / done);
}

}  // namespace weir::lab
