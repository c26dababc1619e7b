// The log of commands that run until they are stopped: one line an event, on standard error.
//
// Thread rule: set up at the start, then any thread. Tested by tests/e2e/serve_test.py.

#pragma once

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace weir {

// UTC, so that the logs of machines in several places can be merged by sorting.
inline void set_up_log() {
  auto logger = spdlog::stderr_logger_mt("weir");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace weir
