#include "rules/text/text_template.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "base/decimal.h"
#include "rules/text/html_reader.h"

namespace weir {
namespace {

constexpr std::size_t kHeaderValueMax = 256;
// A template may have a hundred places, and a path 16 KiB; but a denial must stay small.
constexpr std::size_t kBodyValueMax = 1024;
constexpr std::size_t kHeaderMax = 4 << 10;  // after that, places stay empty
constexpr std::size_t kBodyMax = 64 << 10;
constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";

constexpr std::array<std::string_view, 7> kNames = {
    "rule", "key", "limit", "remaining", "count", "retry_after", "reset_after"};

void append_json(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      // Bytes in any encoding, each by itself: the meaning matters less than that the text stays
      // JSON.
      (((out += "\\u00") += kHex[byte >> 4]) += kHex[byte & 15]);
    } else {
      out += c;
    }
  }
}

void append_html(std::string_view text, std::string& out) {
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
}

void append_header(std::string_view text, std::string& out) {
  for (const char c : text) out += c >= ' ' && c <= '~' ? c : '?';
}

// Reads JSON up to a place.
class JsonReader {
 public:
  void read(std::string_view json) {
    for (const char c : json) step(c);
  }
  bool is_in_string() const { return is_in_string_; }
  bool is_in_escape() const { return is_behind_backslash_ || digits_left_ > 0; }

 private:
  void step(char c) {
    constexpr int kDigits = 4;  // of \u
    if (std::exchange(is_behind_backslash_, false)) {
      digits_left_ = c == 'u' ? kDigits : 0;
    } else if (digits_left_ > 0) {
      --digits_left_;
    } else if (c == '"') {
      is_in_string_ = !is_in_string_;
    } else {
      is_behind_backslash_ = is_in_string_ && c == '\\';
    }
  }

  bool is_in_string_ = false;
  bool is_behind_backslash_ = false;
  int digits_left_ = 0;
};

void append_escaped(std::string_view text, Escape escape, std::string& out) {
  text = text.substr(0, escape == Escape::kHeader ? kHeaderValueMax : kBodyValueMax);
  switch (escape) {
    case Escape::kNone: out += text; break;
    case Escape::kJson: append_json(text, out); break;
    case Escape::kHtml: append_html(text, out); break;
    case Escape::kHeader: append_header(text, out); break;
  }
}

}  // namespace

Escape escape_for(std::string_view content_type) {
  const std::string lower = to_ascii_lower(content_type);
  if (lower.find("json") != std::string::npos) return Escape::kJson;
  const bool is_markup =
      lower.find("html") != std::string::npos || lower.find("xml") != std::string::npos;
  return is_markup ? Escape::kHtml : Escape::kNone;
}

bool is_script(std::string_view content_type) {
  const std::string lower = to_ascii_lower(content_type);
  constexpr std::array<std::string_view, 5> kScripts = {"javascript", "ecmascript", "jscript",
                                                        "livescript", "css"};
  return std::ranges::any_of(
      kScripts, [&](std::string_view name) { return lower.find(name) != std::string::npos; });
}

bool TextTemplate::is_text(const Piece& piece) {
  if (!piece.place) return false;
  const auto* name = std::get_if<Name>(&*piece.place);
  return name == nullptr || *name == Name::kRule || *name == Name::kKey;
}

bool TextTemplate::has_texts() const { return std::ranges::any_of(pieces_, is_text); }

std::string TextTemplate::danger_in_html() const {
  HtmlReader html;
  for (const Piece& piece : pieces_) {
    html.read(piece.literal);
    if (is_text(piece) && !html.danger().empty()) return html.danger();
    html.filled();
  }
  return {};
}

std::string TextTemplate::danger_in_json() const {
  JsonReader json;
  for (const Piece& piece : pieces_) {
    json.read(piece.literal);
    if (!piece.place) continue;
    if (json.is_in_escape()) return "behind a backslash";
    if (is_text(piece) && !json.is_in_string()) return "outside of quotes";
  }
  return {};
}

Result<TextTemplate, Fault> TextTemplate::parse(std::string_view text) {
  TextTemplate made;
  made.text_ = text;
  while (!text.empty()) {
    const auto open = text.find(kOpen);
    Piece& piece = made.pieces_.emplace_back();
    piece.literal = text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open + kOpen.size());
    const auto close = text.find(kClose);
    if (close == std::string_view::npos) return Fault{"'{{' without '}}'"};
    const std::string_view name = text.substr(0, close);
    piece.place = place_named(name);
    if (!piece.place) {
      return Fault{"'{{" + std::string(name.substr(0, 64)) +
                   "}}' is no place; there are rule, key, limit, remaining, count, retry_after, "
                   "reset_after, client, method, host, path, country, header:NAME, query:NAME, "
                   "cookie:NAME and jwt:CLAIM"};
    }
    text.remove_prefix(close + kClose.size());
  }
  return made;
}

std::optional<std::variant<TextTemplate::Name, KeyPart>> TextTemplate::place_named(
    std::string_view name) {
  const auto known = std::ranges::find(kNames, name);
  if (known != kNames.end()) return static_cast<Name>(known - kNames.begin());
  if (const auto part = parse_key_part(name)) return *part;
  return std::nullopt;
}

void TextTemplate::append(const TemplateValues& values, Escape escape, std::string& out) const {
  const Decision& decision = values.decision;
  const std::size_t full = out.size() + (escape == Escape::kHeader ? kHeaderMax : kBodyMax);
  for (const Piece& piece : pieces_) {
    out += piece.literal;
    if (!piece.place || out.size() >= full) continue;
    if (const auto* part = std::get_if<KeyPart>(&*piece.place)) {
      PartScratch scratch{};
      append_escaped(part_text(*part, values.request, scratch), escape, out);
      continue;
    }
    switch (std::get<Name>(*piece.place)) {
      case Name::kRule: append_escaped(values.rule, escape, out); break;
      case Name::kKey: append_escaped(values.key, escape, out); break;
      case Name::kLimit: append_decimal(out, decision.limit); break;
      case Name::kRemaining: append_decimal(out, decision.remaining); break;
      case Name::kCount: append_decimal(out, decision.limit - decision.remaining); break;
      case Name::kRetryAfter: append_decimal(out, whole_seconds(decision.retry_after)); break;
      case Name::kResetAfter: append_decimal(out, whole_seconds(decision.reset_after)); break;
    }
  }
}

}  // namespace weir
