#include "config/yaml/yaml_syntax.h"

#include <yaml-cpp/exceptions.h>

#include <algorithm>
#include <array>

namespace weir {
namespace {

struct Explanation {
  std::string_view yaml_cpp_message;
  std::string_view ours;
};

// Messages that need no look at the text. Not constexpr, as yaml-cpp's own texts are not.
const std::array<Explanation, 7>& explanations() {
  static const std::array<Explanation, 7> kExplanations = {{
      {YAML::ErrorMsg::MAP_KEY, "a key cannot stand here; check the indentation"},
      {YAML::ErrorMsg::BLOCK_ENTRY,
       "a list item ('- ') cannot stand here; put it on a line of "
       "its own and check the indentation"},
      {YAML::ErrorMsg::FLOW_END, "this bracket closes what was never opened"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN,
       "no text can begin with this character; put the text in quotes"},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR,
       "this alias refers to an anchor (&name) that is not set "
       "above; for a text that begins with '*' use quotes"},
      {YAML::ErrorMsg::TAB_IN_INDENTATION, "a tab in the indentation; YAML wants spaces"},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "the file ends within quotes; one is not closed"},
  }};
  return kExplanations;
}

bool is_blank(std::string_view text) {
  const std::size_t content = text.find_first_not_of(" \t");
  return content == std::string_view::npos || text[content] == '#';
}

bool has_key(std::string_view line) {
  return line.find(": ") != std::string_view::npos || line.ends_with(':');
}

// The last line above `line` that is more than a comment; 0 if there is none.
std::size_t content_line_above(std::size_t line, const TextLines& lines) {
  do --line;
  while (line > 0 && is_blank(lines.rest_of_line({line, 1})));
  return line;
}

// Explains a ':' inside a text. It is wrong there, but the mistake is often where the text began:
// on the line above, which has no "key: " of its own.
YamlError explain_colon(const TextPlace& place, const TextLines& lines) {
  const std::string_view before = lines.rest_of_line({place.line, 1}).substr(0, place.column - 1);
  if (before.find(": ") != std::string_view::npos) {
    return {place, "a second ':' on the line; put the text that contains it in quotes"};
  }
  const std::size_t above = content_line_above(place.line, lines);
  if (above == 0) return {place, "a ':' cannot stand here"};
  const std::string_view line = lines.rest_of_line({above, 1});
  if (has_key(line)) {
    return {place, "indented deeper than line " + std::to_string(above) +
                       ", which has a value already; line up the keys of one map"};
  }
  const TextPlace start{above, line.find_first_not_of(' ') + 1};
  const bool space_missing = line.find(':') != std::string_view::npos;
  return {start, space_missing ? "put a space after the colon: 'key: value'"
                               : "no ':' after the key; write 'key: value'"};
}

std::string explain_misfit(const TextPlace& place, const TextLines& lines) {
  std::string_view before = lines.rest_of_line({place.line, 1}).substr(0, place.column - 1);
  const std::size_t last = before.find_last_not_of(' ');
  if (last == std::string_view::npos) {
    return "this does not line up with anything above; check the indentation";
  }
  if (std::string_view("\"']}").find(before[last]) != std::string_view::npos) {
    return "nothing can follow a closing quote or bracket; put the whole text in quotes";
  }
  return "this does not fit what stands before it; put texts with special characters in quotes";
}

std::string place_text(const TextPlace& place) {
  return "line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
}

// Where the address begins in "http: [::1]:8080". YAML reads it as a list, followed by something
// that cannot follow a list.
std::optional<std::size_t> find_bare_ipv6(std::string_view line) {
  const std::size_t close = line.find("]:");
  const std::size_t open = line.substr(0, close).rfind('[');
  if (close == std::string_view::npos || open == std::string_view::npos) return std::nullopt;
  const std::string_view inside = line.substr(open + 1, close - open - 1);
  const bool colons_in_a_row = inside.find("::") != std::string_view::npos;
  return colons_in_a_row ? std::optional(open) : std::nullopt;
}

std::string unfinished_brackets(const YamlNode* innermost, std::string_view closing) {
  std::string message = "expected ',' or '" + std::string(closing) + "'";
  if (innermost != nullptr) message += " for the one opened at " + place_text(innermost->place);
  return message;
}

YamlError explain(std::string_view message, const TextPlace& place, const YamlNode* innermost,
                  const TextLines& lines) {
  if (message == YAML::ErrorMsg::MAP_VALUE) return explain_colon(place, lines);
  if (message == YAML::ErrorMsg::END_OF_MAP || message == YAML::ErrorMsg::END_OF_SEQ) {
    return {place, explain_misfit(place, lines)};
  }
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW) {
    return {place, unfinished_brackets(innermost, "}")};
  }
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW) {
    return {place, unfinished_brackets(innermost, "]")};
  }
  for (const Explanation& explanation : explanations()) {
    if (message.starts_with(explanation.yaml_cpp_message)) {
      return {place, std::string(explanation.ours)};
    }
  }
  return {place, "not valid YAML: " + printable(message)};
}

}  // namespace

TextLines::TextLines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines_.push_back(line);
  }
}

std::string_view TextLines::rest_of_line(const TextPlace& place) const {
  if (place.line > lines_.size()) return {};
  const std::string_view line = lines_[place.line - 1];
  return place.column > line.size() ? std::string_view{} : line.substr(place.column - 1);
}

YamlError explain_syntax_error(std::string_view yaml_cpp_message, const TextPlace& place,
                               const YamlNode* innermost, const TextLines& lines) {
  if (const auto open = find_bare_ipv6(lines.rest_of_line({place.line, 1}))) {
    return {{place.line, *open + 1}, "put an IPv6 address in quotes: \"[::1]:8080\""};
  }
  return explain(yaml_cpp_message, place, innermost, lines);
}

std::string explain_second_document(const TextPlace& place, const TextLines& lines) {
  if (lines.rest_of_line(place).starts_with("---")) {
    return "a second document begins here; a configuration is one document";
  }
  return explain_misfit(place, lines);
}

std::optional<TextPlace> find_unclosed_quote(const TextPlace& place, const TextLines& lines) {
  const std::string_view rest = lines.rest_of_line(place);
  std::size_t open = 0;
  while (open < rest.size() && (rest[open] == '&' || rest[open] == '!')) {  // anchor, tag
    open = std::min(rest.find_first_of(" \t", open), rest.size());
    open = std::min(rest.find_first_not_of(" \t", open), rest.size());
  }
  // A block of text ("|") counts as quoted, too, but has no quotes.
  if (open == rest.size() || (rest[open] != '"' && rest[open] != '\'')) return std::nullopt;

  const char quote = rest[open];
  for (std::size_t i = open + 1; i < rest.size(); ++i) {
    const bool doubled = quote == '\'' && rest.substr(i).starts_with("''");
    const bool escaped = quote == '"' && rest[i] == '\\';
    if (doubled || escaped) {
      ++i;
    } else if (rest[i] == quote) {
      return std::nullopt;
    }
  }
  return TextPlace{place.line, place.column + open};
}

}  // namespace weir
