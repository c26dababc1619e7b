#include "server/http/admin/if_match.h"

#include <algorithm>

#include "base/ascii.h"

namespace weir {
namespace {

// Removes the first tag of the list and what is before it. nullopt: no list of tags begins so.
std::optional<std::string_view> take_tag(std::string_view& list) {
  const auto begin = list.find('"');
  const std::string_view before = list.substr(0, begin);
  const bool is_weak = before.ends_with("W/");
  const bool is_list = before.find_first_not_of(" \t,") == (is_weak ? begin - 2 : list.npos);
  const auto end = begin == list.npos ? begin : list.find('"', begin + 1);
  if (!is_list || end == list.npos) return std::nullopt;
  const std::string_view tag = list.substr(begin + 1, end - begin - 1);
  list.remove_prefix(end + 1);
  const auto next = std::min(list.find_first_not_of(" \t"), list.size());
  if (next < list.size() && list[next] != ',') return std::nullopt;
  return is_weak ? std::string_view() : tag;
}

}  // namespace

IfMatch read_if_match(std::span<const NameValue> headers, std::string_view current) {
  IfMatch match;
  bool is_there = false;
  for (const auto& [name, value] : headers) {
    if (!equal_ignoring_case(name, "if-match")) continue;
    is_there = true;
    match.is_any = match.is_any || value == "*";
    std::string_view list = value == "*" ? std::string_view() : value;
    while (list.find_first_not_of(" \t,") != list.npos) {
      const auto tag = take_tag(list);
      if (!tag) return {.is_malformed = true};
      if (!tag->empty() && match.tag != current) match.tag = *tag;
    }
  }
  match.is_malformed = is_there && match.is_any == match.tag.has_value();
  return match;
}

}  // namespace weir
