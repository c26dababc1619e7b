#include "logs/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/unique_fd.h"

namespace weir::lab {

class LogFile::Source {
 public:
  virtual ~Source() = default;
  // Returns how many bytes it has put there; 0 at the end, or after a fault.
  virtual std::size_t read(std::span<char> into) = 0;

  std::string fault;
  std::uint64_t bytes_read = 0;
};

namespace {

std::size_t read_some(int fd, std::span<char> into, std::string& fault) {
  while (true) {
    const ssize_t got = ::read(fd, into.data(), into.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    fault = std::strerror(errno);
    return 0;
  }
}

// The file's bytes. The first were read already, to detect the kind of file.
class PlainSource : public LogFile::Source {
 public:
  PlainSource(UniqueFd fd, std::string head) : fd_(std::move(fd)), head_(std::move(head)) {}

  std::size_t read(std::span<char> into) override {
    std::size_t size = std::min(head_.size(), into.size());
    if (size > 0) {
      std::memcpy(into.data(), head_.data(), size);
      head_.erase(0, size);
    } else {
      size = read_some(fd_.get(), into, fault);
    }
    bytes_read += size;
    return size;
  }

 private:
  UniqueFd fd_;
  std::string head_;
};

// A source that decompresses another: one or several streams in a row.
class PackedSource : public LogFile::Source {
 public:
  PackedSource(std::string name, std::unique_ptr<Source> packed)
      : name_(std::move(name)), packed_(std::move(packed)) {}

  std::size_t read(std::span<char> into) final {
    std::size_t made = 0;
    while (fault.empty() && made == 0) {
      if (rest_.empty() && !has_more_ && !take_input()) break;
      made = unpack(rest_, into);
      has_more_ = is_within_ && made == into.size();
    }
    return made;
  }

 protected:
  // Takes input, and returns how many bytes it has made. Calls damaged() if the input is.
  virtual std::size_t unpack(std::span<char>& input, std::span<char> into) = 0;
  void damaged() { fault = "the " + name_ + " is damaged"; }

  bool is_within_ = true;  // within a stream

 private:
  // False at the end.
  bool take_input() {
    rest_ = std::span(input_).first(packed_->read(input_));
    bytes_read = packed_->bytes_read;
    fault = packed_->fault;
    // A damaged file may end so, too.
    if (rest_.empty() && is_within_ && fault.empty()) {
      fault = "the " + name_ + " is truncated or damaged";
    }
    return !rest_.empty();
  }

  const std::string name_;
  const std::unique_ptr<Source> packed_;
  std::vector<char> input_ = std::vector<char>(128 * 1024);
  std::span<char> rest_;   // the unused part of it
  bool has_more_ = false;  // perhaps, from input that it has already taken
};

class GzipSource final : public PackedSource {
 public:
  explicit GzipSource(std::unique_ptr<Source> packed) : PackedSource("gzip", std::move(packed)) {
    inflateInit2(&stream_, 15 + 16);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 private:
  std::size_t unpack(std::span<char>& input, std::span<char> into) override {
    stream_.next_in = reinterpret_cast<Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(into.size());
    const int state = inflate(&stream_, Z_NO_FLUSH);
    is_within_ = state != Z_STREAM_END;
    if (!is_within_) inflateReset(&stream_);
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) damaged();
    input = input.last(stream_.avail_in);
    return into.size() - stream_.avail_out;
  }

  z_stream stream_{};
};

class ZstdSource final : public PackedSource {
 public:
  explicit ZstdSource(std::unique_ptr<Source> packed) : PackedSource("zstd", std::move(packed)) {}
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

 private:
  std::size_t unpack(std::span<char>& input, std::span<char> into) override {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_, &out, &in);
    if (ZSTD_isError(left) != 0) damaged();
    is_within_ = left != 0;
    input = input.subspan(in.pos);
    return out.pos;
  }

  ZSTD_DStream* const stream_ = ZSTD_createDStream();
};

std::unique_ptr<LogFile::Source> make_source(UniqueFd fd) {
  std::string head(4, '\0');
  std::string fault;
  std::size_t size = 0;
  while (size < head.size()) {
    const std::size_t got = read_some(fd.get(), std::span(head).subspan(size), fault);
    if (got == 0) break;
    size += got;
  }
  head.resize(size);
  const bool is_gzip = head.starts_with("\x1f\x8b");
  const bool is_zstd = head == "\x28\xb5\x2f\xfd";
  auto plain = std::make_unique<PlainSource>(std::move(fd), std::move(head));
  plain->fault = fault;
  if (is_gzip) return std::make_unique<GzipSource>(std::move(plain));
  if (is_zstd) return std::make_unique<ZstdSource>(std::move(plain));
  return plain;
}

}  // namespace

LogFile::LogFile(std::string path, std::unique_ptr<Source> source, std::uint64_t bytes)
    : path_(std::move(path)), source_(std::move(source)), bytes_(bytes), buffer_(kBlock) {}
LogFile::~LogFile() = default;

Result<std::unique_ptr<LogFile>, std::string> LogFile::open(const std::string& path) {
  UniqueFd fd(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd.is_open() || ::fstat(fd.get(), &info) != 0) return path + ": " + std::strerror(errno);
  if (S_ISDIR(info.st_mode)) return path + " is a folder";
  const auto bytes = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  std::unique_ptr<LogFile> file(new LogFile(path, make_source(std::move(fd)), bytes));
  file->skip_byte_order_mark();
  return file;
}

const std::string& LogFile::fault() const { return source_->fault; }
std::uint64_t LogFile::bytes_read() const { return source_->bytes_read; }

// False: the file has ended, or there is no room.
bool LogFile::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) return false;
  const std::size_t size = source_->read(std::span(buffer_).subspan(end_));
  end_ += size;
  return size > 0;
}

void LogFile::skip_byte_order_mark() {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  while (end_ < kMark.size() && fill()) {
  }
  if (std::string_view(buffer_.data(), end_).starts_with(kMark)) begin_ = kMark.size();
}

std::vector<std::string_view> LogFile::first_lines(std::size_t count) {
  std::vector<std::string_view> lines;
  const auto has_all = [&] {
    lines.clear();
    std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty() && line.size() <= kLineMax) lines.push_back(line);
      if (lines.size() == count) return true;
    }
    if (!rest.empty() && rest.size() <= kLineMax) lines.push_back(rest);
    return false;
  };
  while (!has_all() && fill()) {
  }
  return lines;
}

std::optional<LogFile::Line> LogFile::next() {
  std::size_t searched = 0;
  while (true) {
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    const auto end = rest.find('\n', searched);
    if (end != std::string_view::npos) return take(end);
    searched = rest.size();
    if (rest.size() > kLineMax) {
      skip_line();
      return Line{.text = {}, .is_too_long = true};
    }
    if (fill()) continue;
    if (begin_ == end_) return std::nullopt;
    return take(end_ - begin_);
  }
}

LogFile::Line LogFile::take(std::size_t size) {
  std::string_view text(buffer_.data() + begin_, size);
  begin_ = std::min(end_, begin_ + size + 1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return {.text = text, .is_too_long = text.size() > kLineMax};
}

void LogFile::skip_line() {
  while (true) {
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    const auto end = rest.find('\n');
    if (end != std::string_view::npos) {
      begin_ += end + 1;
      return;
    }
    begin_ = end_ = 0;
    if (!fill()) return;
  }
}

}  // namespace weir::lab
