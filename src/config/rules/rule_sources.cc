#include "config/rules/rule_sources.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <re2/re2.h>
#include <boost/json/parse.hpp>

#include "base/joined.h"
#include "config/yaml/yaml_document.h"

namespace weir {
namespace {

namespace json = boost::json;

// Nothing: both null.
YamlNode::Entry entry_of(const YamlNode& map, std::string_view key) {
  const auto has_key = [&](const YamlNode::Entry& entry) { return entry.key->text == key; };
  const auto found = std::ranges::find_if(map.entries, has_key);
  return found == map.entries.end() ? YamlNode::Entry() : *found;
}
const YamlNode* value_of(const YamlNode& map, std::string_view key) {
  return entry_of(map, key).value;
}

std::string id_of(const YamlNode& rule) {
  const YamlNode* const id = value_of(rule, "id");
  return id == nullptr ? std::string() : id->text;
}

std::string others_of(const YamlNode& root) {
  YamlNode others = root;
  std::erase_if(others.entries, [](const auto& entry) { return entry.key->text == "rules"; });
  return to_json(others, JsonFor::kConfiguration).value_or("{}");
}

// A text by its lines, each with its end.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto size = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

// The lines before that of number `end`, each with its end.
std::string text_until(std::span<const std::string_view> lines, std::size_t end) {
  std::string text = joined(lines.first(end), "");
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text;
}

bool is_blank_or_comment(std::string_view line) {
  const auto start = line.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos || line[start] == '#';
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool may_have_comment(std::string_view line) {
  return line.find(" #") != std::string_view::npos || is_blank_or_comment(line);
}

// Where the list of rules is in the file, if its items are one below the other.
struct RuleLines {
  struct Item {
    std::string id;
    std::size_t first = 0;  // lines, from 0
    std::size_t end = 0;    // behind the last line that is not blank
  };
  std::vector<Item> items;
  std::size_t indent = 0;  // of the dashes
};

// Whether `node` directly follows the dash of a list item in this line.
bool follows_dash(std::string_view line, const YamlNode& node) {
  const auto dash = indent_of(line);
  if (dash >= line.size() || line[dash] != '-') return false;
  const auto next = line.find_first_not_of(' ', dash + 1);
  return next == node.place.column - 1;
}

std::optional<RuleLines> find_rules(std::span<const std::string_view> lines, const YamlNode& list) {
  RuleLines found;
  for (const YamlNode* item : list.items) {
    const std::size_t first = item->place.line - 1;
    if (first >= lines.size() || !follows_dash(lines[first], *item)) return std::nullopt;
    if (!found.items.empty() && first <= found.items.back().first) return std::nullopt;
    found.indent = indent_of(lines[first]);
    found.items.push_back({.id = id_of(*item), .first = first});
  }
  for (std::size_t i = 0; i < found.items.size(); ++i) {
    auto& item = found.items[i];
    item.end = item.first + 1;
    const auto limit = i + 1 < found.items.size() ? found.items[i + 1].first : lines.size();
    for (std::size_t line = item.end; line < limit; ++line) {
      if (is_blank_or_comment(lines[line])) continue;
      if (indent_of(lines[line]) <= found.indent) break;
      item.end = line + 1;
    }
  }
  return found;
}

// Whether all readers of YAML read the text without quotes as this text. As in console/src/yaml.ts.
bool is_plain(std::string_view text) {
  static const re2::RE2 kPlain(
      R"([A-Za-z_/]([ :]?[\w./*@-])*|\d+(us|ms|s|m|h|d|%)|\d+(\.\d+){3}(/\d+)?)");
  static const re2::RE2 kWord("(?i)y|n|yes|no|on|off|true|false|null");
  const re2::StringPiece piece(text.data(), text.size());
  return re2::RE2::FullMatch(piece, kPlain) && !re2::RE2::FullMatch(piece, kWord);
}

std::string yaml_of(const json::value& value) {
  if (const auto* const list = value.if_array()) return "[" + joined(*list, ", ", yaml_of) + "]";
  if (const auto* const map = value.if_object()) {
    const auto field_text = [](const auto& field) {
      return yaml_of(json::value(field.key())) + ": " + yaml_of(field.value());
    };
    return "{" + joined(*map, ", ", field_text) + "}";
  }
  const bool is_bare = value.is_string() && is_plain(std::string_view(value.get_string()));
  return is_bare ? std::string(value.get_string()) : to_json(value);
}

// "  - id: login\n    limit: 5\n": a field a line.
std::string rule_lines(std::string_view rule_json, std::size_t indent) {
  const json::value rule = json::parse(json::string_view(rule_json.data(), rule_json.size()));
  std::string text;
  for (const auto& field : rule.as_object()) {
    const bool is_first = text.empty();
    text.append(indent, ' ').append(is_first ? "- " : "  ");
    text.append(field.key().data(), field.key().size()).append(": ");
    text.append(yaml_of(field.value())).append("\n");
  }
  return text;
}

Fault not_one_below_the_other() {
  return {"the rules in the file are not a list with one rule below the other"};
}

// Makes the edit, but does not check that it does what it should.
Result<std::string, Fault> edited(std::string_view text, const RuleEdit& edit,
                                  const YamlNode* root) {
  const auto lines = lines_of(text);
  const auto [key, list] = root == nullptr ? YamlNode::Entry() : entry_of(*root, "rules");
  if (list == nullptr || list->kind == YamlNode::Kind::kEmpty) {
    if (!edit.json) return not_one_below_the_other();
    const auto at = key == nullptr ? lines.size() : key->place.line;
    return text_until(lines, at) + (key == nullptr ? "rules:\n" : "") + rule_lines(*edit.json, 2) +
           joined(std::span(lines).subspan(at), "");
  }
  const auto found = find_rules(lines, *list);
  if (!found || found->items.empty()) return not_one_below_the_other();
  const auto item = std::ranges::find(found->items, edit.id, &RuleLines::Item::id);
  const bool is_new = item == found->items.end();
  const auto first = is_new ? found->items.back().end : item->first;
  const auto end = is_new ? first : item->end;
  const auto old_lines = std::span(lines).subspan(first, end - first);
  if (std::ranges::any_of(old_lines, may_have_comment)) {
    return Fault{"the rule's lines in the file have comments, which would be lost"};
  }
  const std::string rule = edit.json ? rule_lines(*edit.json, found->indent) : std::string();
  return text_until(lines, first) + rule + joined(std::span(lines).subspan(end), "");
}

void apply(const RuleEdit& edit, std::vector<RuleSource>& rules) {
  const auto found = std::ranges::find(rules, edit.id, &RuleSource::id);
  if (!edit.json) {
    if (found != rules.end()) rules.erase(found);
  } else if (found == rules.end()) {
    rules.push_back({.id = edit.id, .json = *edit.json});
  } else {
    found->json = *edit.json;
  }
}

}  // namespace

ConfigSources config_sources(std::string_view text) {
  const auto parsed = YamlDocument::parse(text);
  const YamlNode* const root = parsed ? parsed->root() : nullptr;
  if (root == nullptr) return {};
  ConfigSources sources{.others = others_of(*root), .rules = {}};
  const YamlNode* const list = value_of(*root, "rules");
  if (list == nullptr) return sources;
  for (const YamlNode* rule : list->items) {
    if (auto rule_json = to_json(*rule, JsonFor::kConfiguration)) {
      sources.rules.push_back({.id = id_of(*rule), .json = *std::move(rule_json)});
    }
  }
  return sources;
}

std::string config_text(const ConfigSources& sources) {
  std::string text = sources.others;
  text.pop_back();  // "}"
  text += text.size() > 1 ? ",\"rules\":[" : "\"rules\":[";
  for (const RuleSource& rule : sources.rules) {
    text.append(&rule == sources.rules.data() ? "\n" : ",\n").append(rule.json);
  }
  return text + "]}";
}

Result<std::string, Fault> edit_rule(std::string_view text, const RuleEdit& edit) {
  const auto parsed = YamlDocument::parse(text);
  if (!parsed) return Fault{"the file is not YAML"};
  auto result = edited(text, edit, parsed->root());
  if (!result) return result;
  // Anchors, odd indentation: whatever the lines are, the edited file must say exactly this.
  ConfigSources expected = config_sources(text);
  apply(edit, expected.rules);
  const ConfigSources now = config_sources(*result);
  if (now.others != expected.others || now.rules != expected.rules) {
    return Fault{"the rule's lines in the file cannot be replaced by themselves"};
  }
  return result;
}

}  // namespace weir
