#include "rules/traffic_rules.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/assert.h"
#include "rules/rule_key.h"

namespace weir {
namespace {

// Whether the pattern is like "/api/*", with no other '*'.
bool is_prefix(const TextPattern& pattern) {
  return pattern.text.ends_with('*') && pattern.text.find('*') == pattern.text.size() - 1;
}

bool is_indexed(const RequestMatch& match) {
  return !match.paths.empty() && std::ranges::all_of(match.paths, [](const TextPattern& path) {
    return path.is_exact || is_prefix(path);
  });
}

// Whether a rule found by its path may still not match: the index knows only paths.
bool needs_a_look(const RequestMatch& match) {
  const bool is_found = is_indexed(match) && !match.is_loose();
  return is_found ? has_conditions_but_paths(match) : has_conditions(match);
}

std::vector<PathRegex*> regexes_of(std::span<Rule> rules) {
  std::vector<PathRegex*> regexes;
  for (Rule& rule : rules) {
    if (!rule.match) continue;
    for_each_match(*rule.match, [&](RequestMatch& match) {
      for (PathRegex& regex : match.path_regexes) regexes.push_back(&regex);
    });
  }
  return regexes;
}

// The first bytes as a number: it orders texts, unless two numbers are equal.
std::uint64_t head_of(std::string_view text) {
  static_assert(std::endian::native == std::endian::little);
  std::array<char, sizeof(std::uint64_t)> head{};
  text.copy(head.data(), head.size());
  return __builtin_bswap64(std::bit_cast<std::uint64_t>(head));
}

bool applies_to_all(const Rule& rule) {
  return !has_conditions(*rule.match) && !rule.active && rule.missing != MissingPart::kSkip;
}

}  // namespace

// The best candidate of each group so far.
class TrafficRules::Search {
 public:
  Search(const Request& request, std::span<const int> regexes, std::size_t groups, Instant now)
      : request_(request), regexes_(regexes), now_(now), best_(memory_.data(), groups) {
    std::ranges::fill(best_, Candidate{});
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  void look_among(const Candidates& candidates) {
    for (const Candidate& candidate : candidates) {
      Candidate& best = best_[candidate.group];
      const bool is_late = best.rule != nullptr && best.order <= candidate.order;
      if (!is_late && applies(candidate)) best = candidate;
    }
  }

  // In the order of the file, which is also the rules' order in memory.
  std::span<const Rule*> result(MatchedRules& matched) const {
    std::size_t found = 0;
    for (const Candidate& best : best_) {
      if (best.rule == nullptr) continue;
      std::size_t place = found++;
      for (; place > 0 && matched[place - 1] > best.rule; --place) {
        matched[place] = matched[place - 1];
      }
      matched[place] = best.rule;
    }
    return {matched.data(), found};
  }

 private:
  bool applies(const Candidate& candidate) const {
    const Rule& rule = *candidate.rule;
    const bool matches = !candidate.has_conditions || holds(*rule.match, request_, regexes_);
    return matches && rule.in_force(now_) && !skips(rule, request_);
  }

  const Request& request_;
  std::span<const int> regexes_;
  Instant now_;
  std::array<Candidate, kGroupsMax> memory_;
  const std::span<Candidate> best_;  // by group
};

TrafficRules::TrafficRules(std::span<Rule> rules) : regexes_(regexes_of(rules)) {
  by_regex_.resize(regexes_.size());
  std::unordered_map<std::string_view, std::uint16_t> groups;
  std::uint32_t order = 0;
  bool is_always_same = true;
  for (const Rule& rule : rules) {
    if (!rule.match || !rule.enabled) continue;
    const auto group = static_cast<std::uint16_t>(groups.size());
    const Candidate candidate{.rule = &rule,
                              .order = order++,
                              .group = groups.try_emplace(rule.group, group).first->second,
                              .has_conditions = needs_a_look(*rule.match)};
    is_always_same = is_always_same && applies_to_all(rule);
    index(candidate);
  }
  groups_ = groups.size();
  WEIR_ASSERT(groups_ <= kGroupsMax);
  paths_.link_prefixes();
  folders_.link_prefixes();
  if (!is_always_same) return;
  MatchedRules matched;
  std::vector<int> regexes;
  const auto found = match({}, matched, regexes, Instant());
  always_.assign(found.begin(), found.end());
}

void TrafficRules::index(const Candidate& candidate) {
  const RequestMatch& match = *candidate.rule->match;
  if (is_indexed(match)) return index_by_path(candidate);
  if (match.path_regexes.empty()) others_.push_back(candidate);
  for (const PathRegex& regex : match.path_regexes) {
    by_regex_[static_cast<std::size_t>(regex.index)].push_back(candidate);
  }
}

void TrafficRules::index_by_path(const Candidate& candidate) {
  const RequestMatch& match = *candidate.rule->match;
  for (const TextPattern& path : match.paths) {
    std::string text = path.is_exact ? path.text : path.text.substr(0, path.text.size() - 1);
    if (!match.is_loose()) {
      path.is_exact ? paths_.add_path(text, candidate) : paths_.add_prefix(text, candidate);
      continue;
    }
    text = to_ascii_lower(text);
    if (path.is_exact && !text.ends_with('/')) text += '/';
    path.is_exact ? folders_.add_path(text, candidate) : folders_.add_prefix(text, candidate);
  }
}

void TrafficRules::PathIndex::add_path(const std::string& path, const Candidate& candidate) {
  by_path_[path].push_back(candidate);
}

void TrafficRules::PathIndex::add_prefix(std::string prefix, const Candidate& candidate) {
  by_prefix_.push_back({.text = std::move(prefix), .candidates = {candidate}});
}

// Sorts by_prefix_, and joins entries with equal texts.
void TrafficRules::PathIndex::link_prefixes() {
  std::map<std::string, Candidates> merged;
  for (Prefix& prefix : by_prefix_) {
    merged[std::move(prefix.text)].push_back(prefix.candidates.front());
  }
  by_prefix_.clear();
  for (auto& [text, candidates] : merged) {
    auto shorter = std::ssize(by_prefix_) - 1;
    while (shorter >= 0 && !text.starts_with(by_prefix_[shorter].text)) {
      shorter = by_prefix_[shorter].shorter;
    }
    by_prefix_.push_back({.text = text,
                          .head = head_of(text),
                          .candidates = std::move(candidates),
                          .shorter = shorter});
  }
}

void TrafficRules::PathIndex::look(std::string_view path, Search& search) const {
  if (!by_path_.empty()) {
    const auto exact = by_path_.find(path);
    if (exact != by_path_.end()) search.look_among(exact->second);
  }
  const auto above =
      std::upper_bound(by_prefix_.begin(), by_prefix_.end(), head_of(path),
                       [path](std::uint64_t head, const Prefix& prefix) {
                         return head != prefix.head ? head < prefix.head : path < prefix.text;
                       });
  for (auto i = above - by_prefix_.begin() - 1; i >= 0; i = by_prefix_[i].shorter) {
    if (path.starts_with(by_prefix_[i].text)) search.look_among(by_prefix_[i].candidates);
  }
}

std::span<const Rule*> TrafficRules::match(const Request& request, MatchedRules& matched,
                                           std::vector<int>& regexes, Instant now) const {
  if (!always_.empty()) {
    std::ranges::copy(always_, matched.begin());
    return {matched.data(), always_.size()};
  }
  regexes_.match(request.path, regexes);
  Search search(request, regexes, groups_, now);
  if (!paths_.empty()) paths_.look(request.path, search);
  if (!folders_.empty()) folders_.look(request.folder_in_small, search);
  for (const int regex : regexes) search.look_among(by_regex_[static_cast<std::size_t>(regex)]);
  search.look_among(others_);
  return search.result(matched);
}

}  // namespace weir
