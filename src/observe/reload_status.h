// ReloadStatus: which rules are in force, and whether the file's last change took.
//
// A file that cannot be loaded leaves the rules as they were; this is how metrics and
// health say so. Written by whoever loads the file (src/cli), read by doors.
//
// Thread rule: any thread; each field stands for itself, so relaxed order suffices.
// Tested by tests/e2e/reload_test.py.

#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

struct ReloadStatus {
  // Successful loads, the one at start included; 0 without a configuration file.
  std::atomic<std::uint64_t> generation{0};
  // When the rules in force were loaded, in microseconds since the epoch; 0 if never.
  std::atomic<std::int64_t> last_success_us{0};
  // False from a failed load to the next successful one.
  std::atomic<bool> last_attempt_ok{true};
};

}  // namespace weir
