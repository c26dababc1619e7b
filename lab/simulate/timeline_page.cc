#include "simulate/timeline_page.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/decimal.h"

namespace weir::sim {
namespace {

// Its script hides the lines that lack a text.
constexpr std::string_view kHead = R"page(<!doctype html>
<meta charset="utf-8">
<title>A simulation</title>
<style>
body { font: 14px/1.4 system-ui; color-scheme: light dark }
th { position: sticky; top: 0; background: Canvas; text-align: left }
td { font: 12px/1.4 ui-monospace, monospace; padding-right: 1em; vertical-align: top }
.denied, .failed { color: #b60 }
.alone { font-style: italic }
.broken { color: #fff; background: #c00 }
.else { font-weight: bold }
</style>
<input placeholder="only lines with ..." oninput="
  for (const row of document.querySelectorAll('tr.line'))
    row.hidden = !row.textContent.includes(this.value)">
)page";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '<') {
      out += "&lt;";
    } else if (letter == '&') {
      out += "&amp;";
    } else {
      out += letter;
    }
  }
  return out;
}

// The style of an entry; empty where it needs no attention.
std::string_view class_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kClasses = {
      {{"BROKEN", "broken"},
       {" failed", "failed"},
       {" denied", "denied"},
       {" alone", "alone"},
       {" allowed", ""}}};
  for (const auto& [word, name] : kClasses) {
    if (text.find(word) != std::string_view::npos) return name;
  }
  return "else";
}

// The column of the node that the text names first, as in "node 1: ..."; 0 if it names none.
std::int64_t column_of(std::string_view text, std::int64_t nodes) {
  constexpr std::string_view kNode = "node ";
  if (!text.starts_with(kNode)) return 0;
  text.remove_prefix(kNode.size());
  const auto number = read_decimal<std::int64_t>(take_until(text, ':'));
  return number && *number < nodes ? *number + 1 : 0;
}

}  // namespace

std::string to_page(const Timeline& timeline, const std::string& outcome, std::int64_t nodes) {
  std::string page(kHead);
  page += "<pre>" + escaped(outcome) + "</pre>\n<table><tr><th>time<th>faults and Redis";
  for (std::int64_t node = 0; node < nodes; ++node) page += "<th>node " + std::to_string(node);
  for (const std::string& line : timeline.lines()) {
    std::string_view text = line;
    const std::string_view time = take_until(text, ' ');
    text = trim_blanks(text);
    page += "\n<tr class=line><td>" + escaped(time);
    for (std::int64_t column = column_of(text, nodes); column > 0; --column) page += "<td>";
    page += "<td class=\"" + std::string(class_of(text)) + "\">" + escaped(text);
  }
  return page + "\n</table>\n";
}

}  // namespace weir::sim
