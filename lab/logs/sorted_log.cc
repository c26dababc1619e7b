#include "logs/sorted_log.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weir::lab {
namespace {

constexpr std::size_t kSample = 64;           // lines that show a format
constexpr std::size_t kLongLinesMax = 1'000;  // that may come before these
constexpr std::size_t kSpareMax = 4096;       // a line with more memory is not used again
constexpr std::size_t kBeginningShown = 100;  // bytes of an unread line

}  // namespace

// The requests of one file, sorted.
class SortedLog::Stream {
 public:
  Stream(std::unique_ptr<LogFile> file, Instant latest, LogCounts& counts)
      : file_(std::move(file)), latest_(latest), counts_(counts) {}

  // Comes before all other calls. Returns what is wrong.
  std::string begin(const std::string& log_format) {
    auto format = log_format.empty() ? detected_format() : make_text_format(log_format);
    if (!format) return (log_format.empty() ? "" : "--log-format: ") + format.error();
    format_ = *std::move(format);
    if (!is_empty()) fill();
    return {};
  }

  bool is_empty() const { return format_ == nullptr; }
  const LogFile& file() const { return *file_; }
  const LogFormat& format() const { return *format_; }

  // Null at the end of the file.
  const LoggedRequest* first() const { return size_ == 0 ? nullptr : &at(0).line->request; }

  void drop_first() {
    newest_taken_ = at(0).time;
    bytes_ -= at(0).line->text.size();
    put_by(std::move(at(0).line));
    begin_ = (begin_ + 1) % kWindow;
    --size_;
    fill();
  }

 private:
  struct Held {
    Instant time{};
    std::unique_ptr<LogLine> line{};
  };

  Held& at(std::size_t index) { return window_[(begin_ + index) % kWindow]; }
  const Held& at(std::size_t index) const { return window_[(begin_ + index) % kWindow]; }

  void fill() {
    while (size_ < kWindow && bytes_ < kWindowBytes && !is_at_end_) {
      const auto line = file_->next();
      if (line) {
        take(*line);
      } else {
        is_at_end_ = true;
        if (!file_->fault().empty())
          counts_.faults.push_back(file_->path() + ": " + file_->fault());
      }
    }
  }

  // Drops lines before the ones that it looks at: they are empty, or too long. Null: all lines are
  // empty.
  Result<std::unique_ptr<LogFormat>, std::string> detected_format() {
    const std::uint64_t before = counts_.lines;
    auto lines = file_->first_lines(kSample);
    bool is_at_end = false;
    for (std::size_t i = 0; i < kLongLinesMax && lines.empty(); ++i) {
      const auto line = file_->next();
      is_at_end = !line;
      if (is_at_end) break;
      take(*line);
      lines = file_->first_lines(kSample);
    }
    auto format = detect_format(lines);
    const std::string& fault = file_->fault();
    const bool has_none = is_at_end && counts_.lines == before && fault.empty();
    if (format != nullptr || has_none) return format;
    return file_->path() + (fault.empty() ? ": none of its first lines is of a known format; say "
                                            "--log-format"
                                          : ": " + fault);
  }

  void take(const LogFile::Line& read) {
    ++number_;
    if (read.text.empty() && !read.is_too_long) return;
    ++counts_.lines;
    if (read.is_too_long) return refuse(read.text, "it is longer than 64 KiB");
    auto line = next_line();
    line->text.assign(read.text);
    std::string_view fault = format_->read(*line);
    const Instant time = line->request.time;
    if (fault.empty() && time > latest_) fault = "its time is in the future";
    if (!fault.empty()) {
      refuse(read.text, fault);
    } else if (time < newest_taken_) {
      ++counts_.late;
    } else {
      return insert(time, std::move(line));
    }
    put_by(std::move(line));
  }

  void put_by(std::unique_ptr<LogLine> line) {
    if (line->text.capacity() <= kSpareMax) spare_.push_back(std::move(line));
  }

  std::unique_ptr<LogLine> next_line() {
    if (spare_.empty()) return std::make_unique<LogLine>();
    auto line = std::move(spare_.back());
    spare_.pop_back();
    return line;
  }

  // Inserts it behind requests of the same time.
  void insert(Instant time, std::unique_ptr<LogLine> line) {
    std::size_t index = size_++;
    bytes_ += line->text.size();
    for (; index > 0 && at(index - 1).time > time; --index) at(index) = std::move(at(index - 1));
    at(index) = {time, std::move(line)};
  }

  void refuse(std::string_view text, std::string_view reason) {
    ++counts_.unread;
    if (counts_.shown.size() == LogCounts::kShown) return;
    counts_.shown.push_back({.file = file_->path(),
                             .number = number_,
                             .reason = std::string(reason),
                             .beginning = std::string(text.substr(0, kBeginningShown))});
  }

  static_assert(std::has_single_bit(kWindow));

  const std::unique_ptr<LogFile> file_;
  std::unique_ptr<LogFormat> format_;
  const Instant latest_;
  LogCounts& counts_;
  std::uint64_t number_ = 0;
  bool is_at_end_ = false;
  Instant newest_taken_{};
  std::vector<Held> window_ = std::vector<Held>(kWindow);
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;  // of its lines
  std::vector<std::unique_ptr<LogLine>> spare_;
};

SortedLog::SortedLog(Instant latest) : latest_(latest) {}
SortedLog::~SortedLog() = default;

std::string SortedLog::add(const std::string& path, const std::string& log_format) {
  auto file = LogFile::open(path);
  if (!file) return file.error();
  auto stream = std::make_unique<Stream>(*std::move(file), latest_, counts_);
  auto fault = stream->begin(log_format);
  if (!stream->is_empty()) streams_.push_back(std::move(stream));
  return fault;
}

const LoggedRequest* SortedLog::next() {
  if (taken_ != nullptr) taken_->drop_first();
  taken_ = nullptr;
  for (const auto& stream : streams_) {
    const LoggedRequest* const first = stream->first();
    if (first == nullptr) continue;
    if (taken_ == nullptr || first->time < taken_->first()->time) taken_ = stream.get();
  }
  return taken_ == nullptr ? nullptr : taken_->first();
}

LogKnows SortedLog::knows() const {
  if (streams_.empty()) return {};
  LogKnows knows = streams_.front()->format().knows();
  for (const auto& stream : streams_) knows.meet(stream->format().knows());
  return knows;
}

std::string SortedLog::format_names() const {
  std::string names;
  for (const auto& stream : streams_) {
    const std::string name(stream->format().name());
    if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

double SortedLog::progress() const {
  std::uint64_t all = 0;
  std::uint64_t read = 0;
  for (const auto& stream : streams_) {
    if (stream->file().bytes() == 0) return -1;
    all += stream->file().bytes();
    read += stream->file().bytes_read();
  }
  return all == 0 ? -1 : std::min(1.0, static_cast<double>(read) / static_cast<double>(all));
}

}  // namespace weir::lab
