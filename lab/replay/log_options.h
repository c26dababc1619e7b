// LogOptions: the logs that a command reads, and how each command reads all their requests.
//
// Thread rule: main's thread. Tested by tests/lab.

#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "logs/sorted_log.h"
#include "replay/progress.h"

namespace weir::lab {

inline constexpr int kExitUsage = 2;

struct LogSpan {
  std::uint64_t requests = 0;
  Instant first{};
  Instant last{};
  bool is_exact = false;  // some time is finer than a second
};

struct LogOptions {
  std::string command;
  std::vector<std::string> logs{};
  std::string log_format{};

  CLI::Option* add_to(CLI::App& app, const std::string& what) {
    app.add_option("--log-format", log_format, "How lines look, as nginx's log_format says it");
    return app.add_option("LOG", logs, what);
  }

  [[noreturn]] void fail(const std::string& message) const {
    std::cerr << "weir-lab " << command << ": " << message << '\n';
    throw CLI::RuntimeError(kExitUsage);
  }

  // Calls `visit` with each request, in the order of their times.
  template <typename Visit>
  LogSpan read(SortedLog& log, Visit visit) const {
    for (const std::string& path : logs) {
      if (const auto fault = log.add(path, log_format); !fault.empty()) fail(fault);
    }
    LogSpan span;
    Progress progress;
    while (const LoggedRequest* const request = log.next()) {
      if (span.requests++ == 0) span.first = request->time;
      span.last = request->time;
      span.is_exact = span.is_exact || epoch_us(request->time) % 1'000'000 != 0;
      visit(*request);
      progress.show(span.requests, [&] { return log.progress(); });
    }
    if (span.requests == 0) fail("there is no request in the log");
    return span;
  }
};

// No request can have a later time in a log.
inline Instant a_day_from_now() {
  const auto then = std::chrono::system_clock::now().time_since_epoch() + std::chrono::hours(24);
  return Instant(std::chrono::duration_cast<Duration>(then));
}

}  // namespace weir::lab
