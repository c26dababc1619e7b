// Progress: a bar on a terminal, with the time that is left.
//
// Thread rule: one thread. Nothing is written where standard error is no terminal.

#pragma once

#include <chrono>
#include <cstdint>

namespace weir::lab {

class Progress {
 public:
  Progress();
  ~Progress();  // takes the bar away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done`: from 0 to 1; negative: nobody knows.
  void show(double done, std::uint64_t requests) {
    if (is_terminal_ && requests >= next_) draw(done, requests);
  }

 private:
  static constexpr std::uint64_t kStride = 65'536;

  void draw(double done, std::uint64_t requests);

  const bool is_terminal_;
  bool is_drawn_ = false;
  std::uint64_t next_ = kStride;  // when it is drawn again
  const std::chrono::steady_clock::time_point begin_;
};

}  // namespace weir::lab
