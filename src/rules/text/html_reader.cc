#include "rules/text/html_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"

namespace weir {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f";
constexpr std::array<std::string_view, 2> kCodeTags = {"script", "style"};
constexpr std::array<std::string_view, 2> kCodeAttributes = {"style", "srcdoc"};
constexpr std::array<std::string_view, 6> kAddresses = {"href",       "src",  "action",
                                                        "formaction", "data", "xlink:href"};
// Addresses with these schemes run as code, or are pages themselves.
constexpr std::array<std::string_view, 3> kCodeSchemes = {"javascript:", "vbscript:", "data:"};

bool is_one_of(auto names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

bool begins_tag(char c) { return (c >= 'a' && c <= 'z') || c == '/' || c == '!' || c == '?'; }

bool ends_tag_name(char c) { return is_blank(c) || c == '/' || c == '>'; }

// Whether a text behind this can still choose the address's scheme or host.
bool is_open_address(std::string_view begun) {
  const auto slashes = begun.find("//");
  if (slashes != std::string_view::npos) {
    return begun.find_first_of("/?#", slashes + 2) == std::string_view::npos;
  }
  return begun == "/" || std::ranges::any_of(kCodeSchemes, [&](std::string_view scheme) {
           return scheme.starts_with(begun);
         });
}

}  // namespace

void HtmlReader::read(std::string_view html) {
  for (const char c : html) step(ascii_lower(c));
}

std::string HtmlReader::danger() const {
  switch (in_) {
    case In::kText:
    case In::kComment: return {};
    case In::kTag:
    case In::kNames:
    case In::kEquals:
    case In::kBareValue: return "in a tag, outside of quotes";
    case In::kCode: return "within <" + tag_ + ">";
    case In::kValue: return danger_in_value();
  }
  return {};
}

std::string HtmlReader::danger_in_value() const {
  const bool is_code = attribute_.starts_with("on") || is_one_of(kCodeAttributes, attribute_);
  if (is_code) return "in the attribute '" + attribute_ + "', which is code";
  if (!is_one_of(kAddresses, attribute_)) return {};
  for (const std::string_view scheme : kCodeSchemes) {
    if (value_.starts_with(scheme)) return "in an address of '" + std::string(scheme) + "'";
  }
  const bool is_open = is_open_address(value_);
  return is_open ? "at the beginning of the address '" + attribute_ + "'" : std::string();
}

void HtmlReader::step(char c) {
  switch (in_) {
    case In::kText:
      if (c != '<') return;
      tag_.clear();
      in_ = In::kTag;
      return;
    case In::kTag: return step_in_tag(c);
    case In::kNames: return step_in_names(c);
    case In::kEquals:
      if (is_blank(c)) return;
      if (c == '>') return end_tag();
      quote_ = c;
      value_.clear();
      in_ = c == '"' || c == '\'' ? In::kValue : In::kBareValue;
      return;
    case In::kBareValue:
      if (c == '>') return end_tag();
      if (is_blank(c)) next_attribute();
      return;
    case In::kValue:
      if (c == quote_) return next_attribute();
      if (c > ' ') value_ += c;  // browsers skip blanks before an address
      return;
    case In::kComment:
      last_ += c;
      if (last_ == ">" || last_ == "->" || last_.ends_with("-->") || last_.ends_with("--!>")) {
        in_ = In::kText;
      }
      return;
    case In::kCode:
      if (!ends_tag_name(c) || !last_.ends_with("</" + tag_)) {
        last_ += c;
        return;
      }
      tag_.insert(0, 1, '/');
      return step_in_tag(c);
  }
}

void HtmlReader::step_in_tag(char c) {
  if (tag_.empty() && !begins_tag(c)) {
    in_ = In::kText;
    return step(c);
  }
  if (c == '>') return end_tag();
  const bool has_attributes = !tag_.empty() && tag_.front() != '!' && tag_.front() != '?';
  if (has_attributes && ends_tag_name(c)) return next_attribute();
  tag_ += c;
  if (tag_ != "!--") return;
  last_.clear();
  in_ = In::kComment;
}

// Blanks may precede the '=' of a name. A '=' in front of a name belongs to the name.
void HtmlReader::step_in_names(char c) {
  if (c == '>') return end_tag();
  if (c == '/') return next_attribute();
  if (c == '=' && !attribute_.empty()) {
    in_ = In::kEquals;
  } else if (is_blank(c)) {
    name_has_ended_ = true;
  } else {
    if (std::exchange(name_has_ended_, false)) attribute_.clear();
    attribute_ += c;
  }
}

void HtmlReader::next_attribute() {
  attribute_.clear();
  name_has_ended_ = false;
  in_ = In::kNames;
}

void HtmlReader::end_tag() {
  in_ = is_one_of(kCodeTags, tag_) ? In::kCode : In::kText;
  last_.clear();
}

}  // namespace weir
