#include "rules/yaml_syntax.h"

#include <yaml-cpp/exceptions.h>

#include <algorithm>
#include <array>

namespace weir {
namespace {

struct Explanation {
  std::string_view yaml_cpp_message;
  std::string_view ours;
};

constexpr std::string_view kDoesNotFit =
    "this does not fit what stands before it; check the indentation, and quote texts that "
    "contain quotes, brackets or ': '";

// Not constexpr: yaml-cpp's own texts are not.
const std::array<Explanation, 9>& explanations() {
  static const std::array<Explanation, 9> kExplanations = {{
      {YAML::ErrorMsg::END_OF_MAP, kDoesNotFit},
      {YAML::ErrorMsg::END_OF_SEQ, kDoesNotFit},
      {YAML::ErrorMsg::MAP_VALUE,
       "a ':' cannot stand here: the line is indented too far, the line above lacks its ':', or "
       "a text that contains ': ' lacks its quotes"},
      {YAML::ErrorMsg::MAP_KEY, "a key cannot stand here; check the indentation"},
      {YAML::ErrorMsg::BLOCK_ENTRY, "a list item ('- ') cannot stand here; put it on a line of "
                                    "its own and check the indentation"},
      {YAML::ErrorMsg::FLOW_END, "this bracket closes what was never opened"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN,
       "no text can begin with this character; put the text in quotes"},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR, "this alias refers to an anchor (&name) that is not set "
                                       "above; for a text that begins with '*' use quotes"},
      {YAML::ErrorMsg::TAB_IN_INDENTATION, "a tab in the indentation; YAML wants spaces"},
  }};
  return kExplanations;
}

std::string place_text(const TextPlace& place) {
  return "line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
}

// Where the address begins in "http: [::1]:8080", which to YAML is a list and then
// something that cannot follow one.
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

std::string explain(std::string_view message, const YamlNode* innermost) {
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW) return unfinished_brackets(innermost, "}");
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW) return unfinished_brackets(innermost, "]");
  for (const Explanation& explanation : explanations()) {
    if (message.starts_with(explanation.yaml_cpp_message)) return std::string(explanation.ours);
  }
  return "not valid YAML: " + printable(message);
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
  return {place, explain(yaml_cpp_message, innermost)};
}

std::string explain_second_document(const TextPlace& place, const TextLines& lines) {
  if (lines.rest_of_line(place).starts_with("---")) {
    return "a second document begins here; a configuration is one document";
  }
  return std::string(kDoesNotFit);
}

std::optional<TextPlace> find_unclosed_quote(const TextPlace& place, const TextLines& lines) {
  const std::string_view rest = lines.rest_of_line(place);
  std::size_t open = 0;
  while (open < rest.size() && (rest[open] == '&' || rest[open] == '!')) {  // anchor, tag
    open = std::min(rest.find_first_of(" \t", open), rest.size());
    open = std::min(rest.find_first_not_of(" \t", open), rest.size());
  }
  // A block of text ("|") counts as quoted, too, and has no quotes.
  if (open == rest.size() || (rest[open] != '"' && rest[open] != '\'')) return std::nullopt;

  const char quote = rest[open];
  for (std::size_t i = open + 1; i < rest.size(); ++i) {
    if (quote == '"' && rest[i] == '\\') {
      ++i;
    } else if (rest[i] == quote) {
      return std::nullopt;
    }
  }
  return TextPlace{place.line, place.column + open};
}

}  // namespace weir
