#include "suggest/endpoints.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace weir::lab {
namespace {

constexpr std::size_t kWordMax = 30;
constexpr std::size_t kPartsMax = 6;
constexpr std::size_t kHexMin = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '-';
}
bool is_plain(char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '.'; }

bool is_file(std::string_view part) {
  constexpr std::array<std::string_view, 16> kKinds = {
      ".css", ".js",  ".map",  ".png",   ".jpg", ".jpeg", ".gif", ".svg",
      ".ico", ".xbm", ".webp", ".woff2", ".ttf", ".mp4",  ".pdf", ".woff"};
  return std::ranges::any_of(kKinds, [&](std::string_view kind) { return part.ends_with(kind); });
}

bool is_id(std::string_view part) {
  if (part.size() > kWordMax || !std::ranges::all_of(part, is_plain)) return true;
  const auto digits = std::ranges::count_if(part, is_digit);
  if (digits == 0) return false;
  return std::ranges::all_of(part, is_digit) || digits >= 5 ||
         (part.size() >= kHexMin && std::ranges::all_of(part, is_hex));
}

std::string parent_of(const std::string& name) { return name.substr(0, name.rfind('/') + 1); }

}  // namespace

std::string folded(std::string_view path) {
  std::string out;
  path.remove_prefix(path.starts_with('/') ? 1 : 0);
  for (std::size_t parts = 0;; ++parts) {
    const std::size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    const bool is_last = end == std::string_view::npos;
    const bool is_deep = parts == kPartsMax;
    out += '/';
    out += is_deep || is_id(part) || (is_last && is_file(part)) ? std::string_view("*") : part;
    if (is_last || is_deep) return out;
    path.remove_prefix(end + 1);
  }
}

void Endpoints::count(std::string_view method, std::string_view path) {
  const bool is_get = method == "GET" || method == "HEAD";
  scratch_.assign(is_get ? "GET" : method).append(" ").append(folded(path));
  if (const auto found = counts_.find(scratch_); found != counts_.end()) {
    ++found->second;
  } else if (counts_.size() < kPathsMax) {
    counts_.emplace(scratch_, 1);
  }
}

std::vector<Endpoint> Endpoints::best() const {
  std::unordered_map<std::string, std::size_t> children;
  for (const auto& [name, requests] : counts_) ++children[parent_of(name)];
  std::map<std::string, std::uint64_t> merged;
  for (const auto& [name, requests] : counts_) {
    const std::string parent = parent_of(name);
    merged[children[parent] > kSiblingsMax ? parent + "*" : name] += requests;
  }
  std::vector<Endpoint> found;
  for (const auto& [name, requests] : merged) {
    const std::size_t space = name.find(' ');
    const std::string method = name.substr(0, space);
    const bool is_method = std::ranges::all_of(method, is_letter) && method.size() <= 20;
    if (requests < kRequestsMin || !is_method) continue;
    found.push_back({method, name.substr(space + 1), requests});
  }
  std::ranges::stable_sort(found, std::greater(), &Endpoint::requests);
  if (found.size() > kShown) found.resize(kShown);
  std::ranges::stable_sort(found, {}, [](const Endpoint& each) {
    const auto stars = std::ranges::count(each.path, '*');
    return std::tuple(stars > 0, -std::ranges::count(each.path, '/'), stars);
  });
  return found;
}

}  // namespace weir::lab
