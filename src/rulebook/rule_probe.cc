#include "rulebook/rule_probe.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/ascii.h"
#include "config/yaml/yaml_document.h"

namespace weir {
namespace {

// The rule is an item of a list: its first line is behind a dash, the others below it.
constexpr std::string_view kDash = "- ";
constexpr std::string_view kIndent = "  ";

// Behind them a message names a place of the text: "it is already set in line 3".
constexpr std::array<std::string_view, 4> kPlaces = {" in line ", " at line ", " than line ",
                                                     ", column "};

// Takes `less` from the number at `at`, which stays 1 at least.
void lower_number(std::string& text, std::size_t at, std::size_t less) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + at, end, number);
  if (read.ec != std::errc()) return;
  const auto digits = static_cast<std::size_t>(read.ptr - text.data()) - at;
  text.replace(at, digits, std::to_string(number > less ? number - less : 1));
}

// Whether the node, or a node in it, begins at the place. Then the way there is appended.
bool find_field(const YamlNode& node, const TextPlace& place, std::string& field) {
  if (node.place == place) return true;
  const std::size_t size = field.size();
  for (const auto& [key, value] : node.entries) {
    field.append(field.empty() ? "" : ".").append(printable(key->text));
    if (key->place == place || find_field(*value, place, field)) return true;
    field.resize(size);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    field += "[" + std::to_string(i) + "]";
    if (find_field(*node.items[i], place, field)) return true;
    field.resize(size);
  }
  return false;
}

}  // namespace

RuleProbe::RuleProbe(const std::string& others, std::string_view rule) {
  const auto parsed = boost::json::parse(others);
  for (const auto& field : parsed.as_object()) {
    text_ += boost::json::serialize(field.key()) + ": " + to_json(field.value()) + "\n";
    ++lines_before_;
  }
  text_ += "rules:\n";
  ++lines_before_;
  std::string_view start = kDash;
  do {
    text_.append(start).append(take_until(rule, '\n')) += '\n';
    start = kIndent;
  } while (!rule.empty());
}

ConfigErrors RuleProbe::as_written(ConfigErrors errors) const {
  for (auto& error : errors) {
    error.line -= std::min(error.line, lines_before_);
    error.column -= std::min(error.column, kIndent.size());
    error.line = std::max<std::size_t>(error.line, 1);
    error.column = std::max<std::size_t>(error.column, 1);
    for (const std::string_view place : kPlaces) {
      const auto found = error.message.find(place);
      if (found == std::string::npos) continue;
      const bool is_column = place == kPlaces.back();
      lower_number(error.message, found + place.size(), is_column ? kIndent.size() : lines_before_);
    }
  }
  return errors;
}

ConfigErrors RuleProbe::by_field(ConfigErrors errors) const {
  const auto document = YamlDocument::parse(text_);
  for (auto& error : errors) {
    error.file.clear();
    if (!document) continue;
    std::string field;
    const YamlNode& rule = *document->root()->entries.back().value->items.front();
    const bool is_known = find_field(rule, {.line = error.line, .column = error.column}, field);
    const bool is_named = error.message.find("'" + field + "'") != std::string::npos;
    if (is_known && !field.empty() && !is_named) error.message = field + ": " + error.message;
  }
  return errors;
}

}  // namespace weir
