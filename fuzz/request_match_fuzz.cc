// Matches hostile requests: the lines of the input are method, path, query, cookies and a
// header. Rules of every kind are asked, and each rule that applies has a key. The path as Tomcat
// or nginx reads it is among its readings.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/percent.h"
#include "rules/request/request_path.h"
#include "rules/rule_key.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

std::vector<Rule> rules_of_every_kind() {
  std::vector<Rule> rules(8);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    rules[i].id = rules[i].group = "rule-" + std::to_string(i);
    rules[i].match.emplace();
    rules[i].key_parts = {*parse_key_part("query:q"), *parse_key_part("cookie:c"),
                          *parse_key_part("header:X-Any"), *parse_key_part("path")};
  }
  rules[0].match->paths = {TextPattern("/a"), TextPattern("/b/*"), TextPattern("/*/c*d")};
  rules[1].match->path_regexes = {{.pattern = "/(x+x+)+y"}, {.pattern = "/[^/]*"}};
  rules[2].match->parameters = {{"q", TextPattern("*a*a*a*b")}};
  rules[3].match->cookies = {{"c", TextPattern("*")}};
  rules[4].match->headers = {{"x-any", TextPattern("a*")}};
  rules[4].match->none_of = {*rules[0].match};
  rules[5].match->any_of = {*rules[0].match, *rules[1].match, *rules[2].match};
  rules[6].match->paths = {TextPattern("/a/"), TextPattern("/b*"), TextPattern("/*c/")};
  rules[6].match->path_case = PathCase::kInsensitive;
  rules[6].match->trailing_slash = TrailingSlash::kSame;
  rules[7].key_parts.back() = KeyPart();
  rules[7].key_form = Rule::KeyForm::kFirst;
  return rules;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::string decoded(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const auto byte = percent_byte(text);
    const bool is_byte = byte && *byte != '\0';
    bytes += is_byte ? *byte : text.front();
    text.remove_prefix(is_byte ? 3 : 1);
  }
  return bytes;
}

template <typename Visit>
void for_each_segment(std::string_view path, Visit visit) {
  for (std::size_t end = 0; !path.empty(); path.remove_prefix(end)) {
    path.remove_prefix(path.starts_with('/') ? 1 : 0);
    end = std::min(path.find('/'), path.size());
    visit(path.substr(0, end));
  }
}

std::string resolved(std::string_view path) {
  std::vector<std::string_view> kept;
  bool is_folder = true;
  for_each_segment(path, [&](std::string_view segment) {
    is_folder = segment.empty() || segment == "." || segment == "..";
    if (segment == ".." && !kept.empty()) kept.pop_back();
    if (!is_folder) kept.push_back(segment);
  });
  std::string text;
  for (const std::string_view segment : kept) text.append("/").append(segment);
  return is_folder ? text + "/" : text;
}

// Written in another way than the readings are made.
std::string as_nginx(std::string_view path) { return resolved(decoded(path)); }
std::string as_tomcat(std::string_view path) {
  std::string cut;
  for_each_segment(path, [&](std::string_view segment) {
    cut.append("/").append(segment.substr(0, segment.find(';')));
  });
  return resolved(decoded(cut));
}

void check_readings(std::string_view path, const PathReadings& readings) {
  for (const std::string& wanted : {as_nginx(path), as_tomcat(path)}) {
    WEIR_ASSERT(std::ranges::count(readings.all(), wanted) == 1);
  }
}

void match(std::string_view input) {
  static const RuleSet rules(rules_of_every_kind(), {.country_header = "X-Any"});
  static MatchScratch scratch;
  PathReadings readings;
  Request request{.method = take_line(input), .client = IpAddress::parse("192.0.2.7")};
  const std::string_view path = take_line(input);
  if (readings.read(path)) check_readings(path, readings);
  request.path = readings.all().front();
  request.other_paths = readings.all().subspan(1);
  request.query = take_line(input);
  const std::string_view cookies = take_line(input);
  const std::array headers = {NameValue{"cookie", cookies}, NameValue{"X-ANY", input},
                              NameValue{"Cookie", input}};
  request.headers = headers;
  std::string key;
  rules.for_each_match(request, scratch, Instant(), [&](const Rule& rule) {
    constexpr std::size_t kStandIns = 3 * std::string_view("client 192.0.2.7").size();
    const std::size_t parts = request.query.size() + cookies.size() + 2 * input.size() +
                              request.path.size() + 4 * 21 + kStandIns;
    WEIR_ASSERT(key_of(rule, request, key).size() <= parts);
    return true;
  });
  WEIR_ASSERT(request.parameters.size() <= NamedValues::kValuesMax);
  WEIR_ASSERT(request.cookies.size() <= NamedValues::kValuesMax);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::match({reinterpret_cast<const char*>(data), size});
  return 0;
}
