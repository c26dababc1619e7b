#include "proto/resp/command_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/percent.h"

namespace weir::resp {
namespace {

constexpr std::size_t kNumberLineMax = 32;  // bytes; no valid number is so long

enum class LineStatus : std::uint8_t { kNeedMore, kNumber, kBroken };

struct NumberLine {
  LineStatus status = LineStatus::kNeedMore;
  std::int64_t number = 0;
  std::size_t size = 0;  // with its CR LF
};

bool is_line_end(const char* at) { return std::memcmp(at, "\r\n", 2) == 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads "-1" and "10", but not "", "+1", "01" or "-0".
std::optional<std::int64_t> strict_number(std::string_view text) {
  constexpr std::size_t kDigitsMax = 18;  // any such number fits
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool plain = text == "0" ? !negative : !text.empty() && text[0] != '0';
  if (!plain || text.size() > kDigitsMax) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    number = 10 * number + (c - '0');
  }
  return negative ? -number : number;
}

// Reads the rest of a line after its first character.
NumberLine number_line(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && end < kNumberLineMax && text[end] != '\r') ++end;
  if (end == kNumberLineMax) return {.status = LineStatus::kBroken};
  if (text.size() < end + 2) return {};
  const auto number = strict_number(text.substr(0, end));
  if (!number || text[end + 1] != '\n') return {.status = LineStatus::kBroken};
  return {.status = LineStatus::kNumber, .number = *number, .size = end + 2};
}

std::string wrong_type(char got) {
  return std::string("expected '$', got '") + (got == '\r' || got == '\n' ? ' ' : got) + "'";
}

// ---- inline commands: one line, split into words as Redis does ----
//
//   echo "a key"         words are separated by spaces
//   "\n\r\t\b\a\x41\""   escapes within double quotes; \' within single quotes
//
// A quoted word ends at its closing quote, which a space or the end of the line follows.

enum class SplitStatus : std::uint8_t { kSplit, kUnbalanced, kTooMany };

struct SplitLine {
  SplitStatus status = SplitStatus::kSplit;
  std::size_t words = 0;
};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

char escaped(char c) {
  switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return c;
  }
}

// Reads ahead of where it writes: undone text is never longer.
class Splitter {
 public:
  explicit Splitter(std::span<char> line) : line_(line) {}

  bool skip_spaces() {
    while (at_ < line_.size() && is_space(line_[at_])) ++at_;
    return at_ < line_.size();
  }

  // Returns false if a quote is not closed where it should be.
  bool word(std::string_view& word) {
    const std::size_t begin = written_;
    while (at_ < line_.size() && !is_space(line_[at_])) {
      const char c = line_[at_++];
      if (c == '"' || c == '\'') {
        if (!quoted(c)) return false;
        break;  // a space or the end is next
      }
      put(c);
    }
    word = {line_.data() + begin, written_ - begin};
    return true;
  }

 private:
  void put(char c) { line_[written_++] = c; }
  bool has(std::size_t more) const { return line_.size() - at_ >= more; }

  bool quoted(char quote) {
    while (has(1)) {
      const char c = line_[at_++];
      if (c == quote) return !has(1) || is_space(line_[at_]);
      if (c != '\\' || !has(1)) {
        put(c);
      } else if (quote == '"') {
        put_escape();
      } else if (line_[at_] == '\'') {
        put(line_[at_++]);
      } else {
        put(c);
      }
    }
    return false;
  }

  void put_escape() {
    if (line_[at_] == 'x' && has(3)) {
      const auto high = hex_digit(line_[at_ + 1]);
      const auto low = hex_digit(line_[at_ + 2]);
      if (high && low) {
        at_ += 3;
        return put(static_cast<char>(*high * 16 + *low));
      }
    }
    put(escaped(line_[at_++]));
  }

  std::span<char> line_;
  std::size_t at_ = 0;
  std::size_t written_ = 0;
};

// Undoes quotes and escapes in place. The words view `line`.
SplitLine split_line(std::span<char> line, std::span<std::string_view> words) {
  Splitter splitter(line);
  std::size_t count = 0;
  while (splitter.skip_spaces()) {
    if (count == words.size()) return {.status = SplitStatus::kTooMany, .words = count};
    if (!splitter.word(words[count])) return {.status = SplitStatus::kUnbalanced, .words = count};
    ++count;
  }
  return {.status = SplitStatus::kSplit, .words = count};
}

}  // namespace

CommandReader::Status CommandReader::read(std::string_view input, const CommandLimits& limits,
                                          Arguments& room) {
  if (input.empty()) return Status::kNeedMore;
  if (input[0] != '*') return read_inline(input, room);
  return read_array(input, limits, room);
}

CommandReader::Status CommandReader::read_inline(std::string_view input, Arguments& room) {
  const auto searched = input.substr(0, kInlineMax);
  const auto end = searched.find('\n', at_);
  if (end == std::string_view::npos) {
    if (searched.size() == kInlineMax) return refuse("too big inline request");
    at_ = searched.size();
    return Status::kNeedMore;
  }
  const std::size_t length = end > 0 && input[end - 1] == '\r' ? end - 1 : end;
  line_.assign(input, 0, length);  // the input must not change: it may be read again
  const SplitLine split = split_line(line_, room);
  switch (split.status) {
    case SplitStatus::kUnbalanced: return refuse("unbalanced quotes in request");
    case SplitStatus::kTooMany: return refuse("too big inline request");
    case SplitStatus::kSplit: break;
  }
  const Status status = split.words == 0 ? Status::kNothing : Status::kCommand;
  return complete(status, {room.data(), split.words}, end + 1);
}

CommandReader::Status CommandReader::read_array(std::string_view input, const CommandLimits& limits,
                                                Arguments& room) {
  const std::size_t read_before = read_;
  if (expected_ == 0) {
    const Status status = read_count(input, limits);
    if (status != Status::kCommand) return status;
  }
  read_short_arguments(input, room);
  while (read_ < expected_) {
    const Status status = read_argument(input, limits, room);
    if (status != Status::kCommand) return status;
  }
  // The views of an earlier call are not valid any more: reads again, now that all is there.
  if (read_before > 0) {
    read_ = 0;
    at_ = 1 + number_line(input.substr(1)).size;
    while (read_ < expected_) read_argument(input, limits, room);
  }
  return complete(Status::kCommand, {room.data(), read_}, at_);
}

CommandReader::Status CommandReader::read_count(std::string_view input,
                                                const CommandLimits& limits) {
  const bool has_one_digit = input.size() >= 4 && is_line_end(input.data() + 2);
  if (has_one_digit && input[1] >= '1' && input[1] <= '9') {
    expected_ = static_cast<std::size_t>(input[1] - '0');
    at_ = 4;
    return Status::kCommand;
  }
  const NumberLine line = number_line(input.substr(1));
  if (line.status == LineStatus::kNeedMore) return Status::kNeedMore;
  if (line.status == LineStatus::kBroken) return refuse("invalid multibulk length");
  if (line.number > limits.arguments) return refuse(limits.arguments_refusal);
  if (line.number <= 0) return complete(Status::kNothing, {}, 1 + line.size);
  expected_ = static_cast<std::size_t>(line.number);
  at_ = 1 + line.size;
  return Status::kCommand;
}

// In one pass. Stops at the first argument that is not complete, or not of this form.
void CommandReader::read_short_arguments(std::string_view input, Arguments& room) {
  const char* at = input.data() + at_;
  const char* const end = input.data() + std::min(input.size(), kCommandMax);
  std::size_t read = read_;
  for (; read < expected_ && end - at > 5; ++read) {
    const auto first = static_cast<unsigned>(at[1] - '0');
    const auto second = static_cast<unsigned>(at[2] - '0');
    const bool has_two = second <= 9;
    const char* const text = at + 4 + (has_two ? 1 : 0);
    const std::ptrdiff_t size = has_two ? 10 * first + second : first;
    if (at[0] != '$' || first > 9 || (has_two && first == 0) || !is_line_end(text - 2)) break;
    if (end - text < size + 2 || !is_line_end(text + size)) break;
    room[read] = {text, static_cast<std::size_t>(size)};
    at = text + size + 2;
  }
  read_ = read;
  at_ = static_cast<std::size_t>(at - input.data());
}

CommandReader::Status CommandReader::read_argument(std::string_view input,
                                                   const CommandLimits& limits, Arguments& room) {
  if (at_ == input.size()) return Status::kNeedMore;
  if (input[at_] != '$') return refuse(wrong_type(input[at_]));
  const NumberLine line = number_line({input.data() + at_ + 1, input.size() - at_ - 1});
  if (line.status == LineStatus::kNeedMore) return Status::kNeedMore;
  if (line.status == LineStatus::kBroken || line.number < 0) return refuse("invalid bulk length");
  if (line.number > limits.bulk) return refuse(limits.bulk_refusal);

  const std::size_t begin = at_ + 1 + line.size;
  const std::size_t end = begin + static_cast<std::size_t>(line.number);
  if (end + 2 > kCommandMax) return refuse("too big request");
  if (input.size() < end + 2) return Status::kNeedMore;
  if (input[end] != '\r' || input[end + 1] != '\n') return refuse("invalid bulk length");
  room[read_++] = {input.data() + begin, end - begin};
  at_ = end + 2;
  return Status::kCommand;
}

CommandReader::Status CommandReader::complete(Status status,
                                              std::span<const std::string_view> arguments,
                                              std::size_t size) {
  expected_ = read_ = at_ = 0;
  arguments_ = arguments;
  size_ = size;
  return status;
}

CommandReader::Status CommandReader::refuse(std::string_view why) {
  refusal_ = why;
  return Status::kRefused;
}

}  // namespace weir::resp
