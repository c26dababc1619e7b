// Progress: a bar on a terminal, with the time that is left.
//
// Thread rule: one thread. Writes nothing if standard error is no terminal.

#pragma once

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace weir::lab {

class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {  // takes the bar away
    if (is_drawn_) std::fputs("\r\033[K", stderr);
  }

  // `done` returns a share from 0 to 1; negative: unknown. It is called seldom.
  template <typename Done>
  void show(std::uint64_t requests, Done done) {
    if (requests < next_) return;
    next_ = requests + kStride;
    if (::isatty(STDERR_FILENO) == 1) draw(done(), requests);
  }
  // For unknown numbers of requests.
  void show(double done) {
    if (::isatty(STDERR_FILENO) == 1) draw_bar(std::min(1.0, done), "");
  }

 private:
  static constexpr std::uint64_t kStride = 65'536;
  static constexpr std::size_t kColumns = 30;

  void draw(double done, std::uint64_t requests) {
    is_drawn_ = true;
    if (done <= 0) return fmt::print(stderr, "\r{} requests", requests);
    draw_bar(done, fmt::format(", {} requests", requests));
  }
  void draw_bar(double done, const std::string& requests) {
    is_drawn_ = true;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
    const auto full = static_cast<std::size_t>(std::min(1.0, done) * kColumns);
    fmt::print(stderr, "\r[{:<{}}] {:3.0f} %{}, {:.0f} s left\033[K", std::string(full, '#'),
               kColumns, 100 * done, requests, took.count() * (1 - done) / done);
  }

  bool is_drawn_ = false;
  std::uint64_t next_ = kStride;  // when it is drawn again
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace weir::lab
