#include "rules/text/html_reader.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace weir {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f";
constexpr std::array<std::string_view, 2> kCodeTags = {"script", "style"};
constexpr std::array<std::string_view, 2> kCodeAttributes = {"style", "srcdoc"};
constexpr std::array<std::string_view, 6> kAddresses = {"href",       "src",  "action",
                                                        "formaction", "data", "xlink:href"};

bool is_one_of(auto names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool begins_tag(char c) { return (c >= 'a' && c <= 'z') || c == '/' || c == '!' || c == '?'; }

}  // namespace

void HtmlReader::read(std::string_view html) {
  for (const char c : html) step(ascii_lower(c));
}

std::string HtmlReader::danger() const {
  switch (in_) {
    case In::kText:
    case In::kComment: return {};
    case In::kTag: return "in a tag, outside of quotes";
    case In::kCode: return "within <" + std::string(tag_name()) + ">";
    case In::kValue: break;
  }
  const bool is_code = attribute_.starts_with("on") || is_one_of(kCodeAttributes, attribute_);
  if (is_code) return "in the attribute '" + attribute_ + "', which is code";
  const bool is_address = !value_has_begun_ && is_one_of(kAddresses, attribute_);
  return is_address ? "at the beginning of the address '" + attribute_ + "'" : std::string();
}

void HtmlReader::step(char c) {
  switch (in_) {
    case In::kText:
      if (c != '<') return;
      tag_.clear();
      in_ = In::kTag;
      return;
    case In::kTag: return step_in_tag(c);
    case In::kValue:
      if (c != quote_) return filled();
      tag_ += ' ';
      in_ = In::kTag;
      return;
    case In::kComment:
      last_ += c;
      if (last_.ends_with("-->")) in_ = In::kText;
      return;
    case In::kCode:
      last_ += c;
      if (!last_.ends_with("</" + std::string(tag_name()))) return;
      tag_ = "/";
      in_ = In::kTag;
  }
}

void HtmlReader::step_in_tag(char c) {
  const bool is_text = tag_.empty() && !begins_tag(c);
  const auto before = tag_.find_last_not_of(kBlanks);
  const bool is_value = before != std::string::npos && tag_[before] == '=';
  if (c == '>' || is_text) {
    in_ = !is_text && is_one_of(kCodeTags, tag_name()) ? In::kCode : In::kText;
    last_.clear();
  } else if ((c == '"' || c == '\'') && is_value) {
    attribute_ = attribute();
    quote_ = c;
    value_has_begun_ = false;
    in_ = In::kValue;
  } else {
    tag_ += c;
    if (tag_ == "!--") in_ = In::kComment;
  }
}

// Empty of one that closes.
std::string_view HtmlReader::tag_name() const {
  return std::string_view(tag_).substr(0, tag_.find_first_of(" \t\r\n\f/"));
}

// The name before the last '='.
std::string_view HtmlReader::attribute() const {
  std::string_view text = std::string_view(tag_).substr(0, tag_.rfind('='));
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  return text.substr(text.find_last_of(" \t\r\n\f/") + 1);
}

}  // namespace weir
