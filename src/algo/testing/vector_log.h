// VectorLog: a sliding log in a std::vector, for tests. Grows without bound.
//
// Thread rule: one thread. Tested by ../sliding_log_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algo/sliding_log.h"

namespace weir::algo::testing {

class VectorLog {
 public:
  std::size_t size() const { return entries_.size(); }
  LogEntry operator[](std::size_t index) const { return entries_[index]; }
  std::int64_t total() const { return total_; }

  void pop_front() {
    total_ -= entries_.front().units;
    entries_.erase(entries_.begin());
  }
  void push_back(LogEntry entry) {
    total_ += entry.units;
    entries_.push_back(entry);
  }
  void set(std::size_t index, LogEntry entry) {
    total_ += entry.units - entries_[index].units;
    entries_[index] = entry;
  }

  friend bool operator==(const VectorLog&, const VectorLog&) = default;

 private:
  std::vector<LogEntry> entries_;
  std::int64_t total_ = 0;
};

}  // namespace weir::algo::testing
