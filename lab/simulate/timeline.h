// Timeline: the events of a simulation, as lines of text with their times.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "base/duration_text.h"
#include "weir/time.h"

namespace weir::sim {

class Timeline {
 public:
  // Keeps the last lines.
  explicit Timeline(std::size_t lines_max) : lines_max_(lines_max) {}

  void add(Duration at, const std::string& line) {
    if (lines_.size() == lines_max_) {
      lines_.pop_front();
      ++dropped_;
    }
    lines_.push_back(format_duration(at) + "  " + line);
  }
  const std::deque<std::string>& lines() const { return lines_; }
  std::size_t dropped() const { return dropped_; }

 private:
  const std::size_t lines_max_;
  std::deque<std::string> lines_;
  std::size_t dropped_ = 0;
};

}  // namespace weir::sim
