#include "proto/resp/inline_command.h"

namespace weir::resp {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// -1 if it is none.
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

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

// Reads ahead of where it writes: what is undone is never longer.
class Splitter {
 public:
  explicit Splitter(std::span<char> line) : line_(line) {}

  bool skip_spaces() {
    while (at_ < line_.size() && is_space(line_[at_])) ++at_;
    return at_ < line_.size();
  }

  // False if a quote is not closed where it should be.
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
      const int high = hex_digit(line_[at_ + 1]);
      const int low = hex_digit(line_[at_ + 2]);
      if (high >= 0 && low >= 0) {
        at_ += 3;
        return put(static_cast<char>(high * 16 + low));
      }
    }
    put(escaped(line_[at_++]));
  }

  std::span<char> line_;
  std::size_t at_ = 0;
  std::size_t written_ = 0;
};

}  // namespace

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

}  // namespace weir::resp
