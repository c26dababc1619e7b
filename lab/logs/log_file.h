// LogFile: the lines of a log, which may be compressed by gzip or zstd, a pipe, or standard input.
//
// It holds one block, so memory does not grow with the file. It reads a growing file to its current
// end. If something keeps the rest from being read, such as a truncated gzip, fault() says so, and
// the lines before count.
//
// Thread rule: one thread. Tested by log_file_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::lab {

class LogFile {
 public:
  static constexpr std::size_t kLineMax = 64 * 1024;
  static constexpr std::size_t kBlock = 512 * 1024;

  class Source;  // of bytes, as in the file or decompressed

  // "-": standard input. Fails with a sentence.
  static Result<std::unique_ptr<LogFile>, std::string> open(const std::string& path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // The first lines, up to `count`, which next() will still return.
  std::vector<std::string_view> first_lines(std::size_t count);

  struct Line {
    std::string_view text;  // without its end, until the next call
    bool is_too_long = false;
  };
  // nullopt at the end.
  std::optional<Line> next();

  const std::string& path() const { return path_; }
  const std::string& fault() const;
  std::uint64_t bytes_read() const;               // of the file itself, compressed or not
  std::uint64_t bytes() const { return bytes_; }  // when it was opened; 0: unknown

 private:
  LogFile(std::string path, std::unique_ptr<Source> source, std::uint64_t bytes);

  void skip_byte_order_mark();  // which editors put before a text
  bool fill();
  void skip_line();
  Line take(std::size_t size);

  const std::string path_;
  const std::unique_ptr<Source> source_;
  const std::uint64_t bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of the bytes that were not taken yet
  std::size_t end_ = 0;
};

}  // namespace weir::lab
