// SortedLog: the requests of several logs in the order of their times.
//
// Servers write a line with its response, so a log is out of order. This sorts it within kWindow
// lines of a file, or kWindowBytes; it counts a line that comes later than that, and leaves it out.
// So a wrong date in the future holds up nothing: its line waits at the end of the window.
//
// Thread rule: one thread. Tested by sorted_log_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "logs/log_file.h"
#include "logs/log_format.h"
#include "logs/logged_request.h"

namespace weir::lab {

struct UnreadLine {
  std::string file;
  std::uint64_t number = 0;
  std::string reason;
  std::string beginning;
};

struct LogCounts {
  static constexpr std::size_t kShown = 10;

  std::uint64_t lines = 0;
  std::uint64_t unread = 0;         // lines that are no requests
  std::uint64_t late = 0;           // out of order beyond the window
  std::vector<UnreadLine> shown{};  // the first of the unread
  std::vector<std::string> faults{};
};

class SortedLog {
 public:
  static constexpr std::size_t kWindow = 8'192;
  static constexpr std::size_t kWindowBytes = std::size_t{32} << 20;

  // Lines with times after `latest` are unread: nobody can have written them.
  explicit SortedLog(Instant latest);
  ~SortedLog();
  SortedLog(const SortedLog&) = delete;
  SortedLog& operator=(const SortedLog&) = delete;

  // By the given log_format; empty: by that of its first lines. Returns what is wrong.
  std::string add(const std::string& path, const std::string& log_format);

  // The next request; null at the end. Valid until the next call.
  const LoggedRequest* next();

  // Facts that all files have; complete once some lines have been read.
  LogKnows knows() const;
  std::string format_names() const;
  const LogCounts& counts() const { return counts_; }
  // From 0 to 1; negative if unknown.
  double progress() const;

 private:
  class Stream;

  const Instant latest_;
  LogCounts counts_;
  std::vector<std::unique_ptr<Stream>> streams_;
  Stream* taken_ = nullptr;  // of the last request
};

}  // namespace weir::lab
