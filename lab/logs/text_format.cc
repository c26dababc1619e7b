#include <algorithm>
#include <utility>
#include <vector>

#include "base/byte_search.h"
#include "base/percent.h"
#include "logs/log_field.h"
#include "logs/log_format.h"

namespace weir::lab {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A piece, and the fixed text behind it.
struct Piece {
  Meaning meaning{};
  std::string until{};     // empty: the piece is the rest of the line
  bool is_quoted = false;  // a backslash escapes the text that ends it
};

// "\x22" is a quote, as nginx and Apache write it; "\"" is one as well.
void append_unescaped(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escaped = text[i] == '\\' && i + 1 < text.size();
    if (is_escaped && text[++i] == 'x' && i + 2 < text.size()) {
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (high && low) {
        out += static_cast<char>(*high * 16 + *low);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
}

bool ends_escaped(std::string_view text) {
  const auto last = text.find_last_not_of('\\');
  const std::size_t slashes = last == std::string_view::npos ? text.size() : text.size() - last - 1;
  return slashes % 2 == 1;
}

class TextFormat final : public LogFormat {
 public:
  TextFormat(std::string_view name, std::string prefix, std::vector<Piece> pieces)
      : name_(name), prefix_(std::move(prefix)), pieces_(std::move(pieces)) {
    for (const Piece& piece : pieces_) note_field(piece.meaning, knows_);
  }

  std::string_view read(LogLine& line) override {
    maker_.begin(line);
    line.decoded.clear();
    if (line.decoded.capacity() <= line.text.size()) line.decoded.reserve(line.text.size() + 1);
    const std::string_view all = line.text;
    const bool has_escapes = all.find('\\') != std::string_view::npos;
    if (!all.starts_with(prefix_)) return kOtherFormat;
    const char* at = all.data() + prefix_.size();
    const char* const end = all.data() + all.size();
    for (const Piece& piece : pieces_) {
      const char* const found = end_of(piece, {at, end}, has_escapes);
      if (found == nullptr) return kOtherFormat;
      if (piece.meaning.field != LogField::kNothing) {
        std::string_view text(at, found);
        if (has_escapes) text = plain(text, line.decoded);
        if (!maker_.take(piece.meaning.field, text, piece.meaning.header)) return kOtherFormat;
      }
      at = found + piece.until.size();
    }
    return maker_.finish();
  }

  const LogKnows& knows() const override { return knows_; }
  std::string_view name() const override { return name_; }

 private:
  static constexpr std::string_view kOtherFormat = "it is of another format";

  // Where the piece ends. Null: it does not.
  static const char* end_of(const Piece& piece, std::string_view rest, bool has_escapes) {
    const char* const end = rest.data() + rest.size();
    if (piece.until.empty()) return end;
    const auto first = static_cast<unsigned char>(piece.until.front());
    for (const char* at = rest.data();; ++at) {
      at = find_byte(at, end, [first](ByteGroup bytes) { return bytes == first; });
      if (at == end) return nullptr;
      const bool is_it = begins(piece.until, {at, end});
      if (is_it && (!piece.is_quoted || closes(piece, rest, at, has_escapes))) return at;
    }
  }

  // REQUIRES: the first bytes are equal
  static bool begins(const std::string& until, std::string_view rest) {
    if (rest.size() < until.size()) return false;
    for (std::size_t i = 1; i < until.size(); ++i) {
      if (rest[i] != until[i]) return false;
    }
    return true;
  }

  // A quote in a path may be unescaped: some servers do not escape it.
  static bool closes(const Piece& piece, std::string_view rest, const char* at, bool has_escapes) {
    if (has_escapes && ends_escaped({rest.data(), at})) return false;
    const std::string_view behind(at + piece.until.size(), rest.data() + rest.size());
    return !behind.starts_with('H') || !behind.starts_with("HTTP/");
  }

  static std::string_view plain(std::string_view text, std::string& decoded) {
    if (text.find('\\') == std::string_view::npos) return text;
    const std::size_t begin = decoded.size();
    append_unescaped(text, decoded);
    return std::string_view(decoded).substr(begin);
  }

  const std::string name_;
  const std::string prefix_;
  const std::vector<Piece> pieces_;
  LogKnows knows_;
  RequestMaker maker_;
};

// The name behind a '$', in braces or not. Cuts it off from `rest`.
std::string_view take_variable(std::string_view& rest) {
  const bool is_braced = rest.starts_with('{');
  if (is_braced) rest.remove_prefix(1);
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_name) - rest.begin());
  const std::string_view name = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + (is_braced ? 1 : 0)));
  return name;
}

std::string_view take_fixed(std::string_view& rest) {
  const std::string_view fixed = rest.substr(0, rest.find('$'));
  rest.remove_prefix(fixed.size());
  return fixed;
}

}  // namespace

Result<std::unique_ptr<LogFormat>, std::string> make_text_format(std::string_view name,
                                                                 std::string_view log_format) {
  std::string_view rest = log_format;
  std::string prefix(take_fixed(rest));
  std::string_view before = prefix;
  std::vector<Piece> pieces;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the '$'
    const std::string_view variable = take_variable(rest);
    if (variable.empty()) return std::string("a '$' in the log format has no name behind it");
    Piece piece{.meaning = meaning_of(variable), .is_quoted = before.ends_with('"')};
    before = take_fixed(rest);
    piece.until = before;
    if (piece.until.empty() && !rest.empty()) {
      return "nothing separates $" + std::string(variable) + " from what follows it";
    }
    pieces.push_back(std::move(piece));
  }
  return std::unique_ptr<LogFormat>(
      std::make_unique<TextFormat>(name, std::move(prefix), std::move(pieces)));
}

Result<std::unique_ptr<LogFormat>, std::string> make_text_format(std::string_view log_format) {
  auto format = make_text_format("a given log_format", log_format);
  if (!format) return format.error();
  const auto has = [&](std::initializer_list<std::string_view> variables) {
    return std::ranges::any_of(variables, [&](std::string_view variable) {
      return log_format.find(variable) != std::string_view::npos;
    });
  };
  if (!has({"$msec", "$time_local", "$time_iso8601"})) {
    return std::string("the log format has no $msec, $time_local or $time_iso8601");
  }
  if (!has({"$request", "$uri"})) return std::string("the log format has no $request");
  return format;
}

}  // namespace weir::lab
