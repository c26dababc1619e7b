#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simulate/redis/commands.h"

namespace weir::lab {
namespace {

// The whole text as strtod reads it.
std::optional<double> parse_double(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (*end != '\0' || std::isnan(number)) return {};
  return number;
}

// Redis is stricter with scores than with bounds.
std::optional<double> parse_score(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.find('\0') != std::string_view::npos) return {};
  return parse_double(text);
}

// The score in Redis's form.
std::string score_text(double score) {
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.17g", score);
  return {text.data(), static_cast<std::size_t>(size)};
}

struct Bound {
  double score = 0;
  bool is_excluded = false;
};

std::optional<Bound> parse_bound(std::string_view text) {
  const bool is_excluded = text.starts_with('(');
  const auto score = parse_double(text.substr(is_excluded ? 1 : 0));
  if (!score) return {};
  return Bound{.score = *score, .is_excluded = is_excluded};
}

bool is_between(double score, const Bound& low, const Bound& high) {
  return (low.is_excluded ? score > low.score : score >= low.score) &&
         (high.is_excluded ? score < high.score : score <= high.score);
}

// True if the member is new.
bool add_member(SortedSetValue& set, std::string_view name, double score) {
  const auto there = set.scores.find(name);
  if (there == set.scores.end()) {
    set.scores.emplace(name, score);
    set.members.emplace(score, name);
    return true;
  }
  if (there->second != score) {
    set.members.erase({there->second, there->first});
    set.members.emplace(score, name);
    there->second = score;
  }
  return false;
}

}  // namespace

// ZADD key score member
void do_zadd(CommandCall& call) {
  if (call.words.size() > 4) return call.reply.error("ERR syntax error");
  const auto score = parse_score(call.word(2));
  if (!score) return call.reply.error("ERR value is not a valid float");
  const auto there = call.typed<SortedSetValue>(call.word(1));
  if (!there) return;
  SortedSetValue& set =
      *there != nullptr
          ? **there
          : std::get<SortedSetValue>(call.keys.put(call.word(1), {SortedSetValue{}}).value);
  call.reply.integer(add_member(set, call.word(3), *score) ? 1 : 0);
  call.wrote();
}

void do_zcard(CommandCall& call) {
  const auto set = call.typed<SortedSetValue>(call.word(1));
  if (!set) return;
  call.reply.integer(*set == nullptr ? 0 : static_cast<std::int64_t>((*set)->members.size()));
}

namespace {

void tell_size(CommandCall& call, std::size_t size, bool with_scores) {
  with_scores ? call.reply.scored_array(size) : call.reply.array(size);
}

void tell(CommandCall& call, const std::pair<double, std::string>& member, bool with_scores) {
  const auto& [score, name] = member;
  with_scores ? call.reply.scored(name, score_text(score)) : call.reply.bulk(name);
}

// From `low` to `high`, the first `most`.
void do_zrange_by_score(CommandCall& call, bool with_scores, std::size_t most = SIZE_MAX) {
  const auto low = parse_bound(call.word(2));
  const auto high = parse_bound(call.word(3));
  if (!low || !high) return call.reply.error("ERR min or max is not a float");
  const auto set = call.typed<SortedSetValue>(call.word(1));
  if (!set) return;
  std::vector<const std::pair<double, std::string>*> found;
  if (*set != nullptr) {
    for (const auto& member : (*set)->members) {
      if (found.size() == most) break;
      if (is_between(member.first, *low, *high)) found.push_back(&member);
    }
  }
  tell_size(call, found.size(), with_scores);
  for (const auto* const member : found) tell(call, *member, with_scores);
}

}  // namespace

void do_zrange(CommandCall& call) {
  const std::size_t words = call.words.size();
  const bool by_score = words > 4 && call.word(4) == "BYSCORE";
  const bool with_scores = words > 4 && call.word(words - 1) == "WITHSCORES";
  if (words != 4 + std::size_t{by_score} + std::size_t{with_scores}) {
    return call.reply.error("ERR syntax error");
  }
  if (by_score) return do_zrange_by_score(call, with_scores);
  const auto first = parse_integer(call.word(2));
  const auto last = parse_integer(call.word(3));
  if (!first || !last) {
    return call.reply.error(kNotAnInteger);
  }
  const auto set = call.typed<SortedSetValue>(call.word(1));
  if (!set) return;
  const auto size = *set == nullptr ? 0 : static_cast<std::int64_t>((*set)->members.size());
  const auto begin = std::max<std::int64_t>(0, *first < 0 ? size + *first : *first);
  const auto end = std::min(size - 1, *last < 0 ? size + *last : *last);
  if (begin > end) return call.reply.array(0);
  tell_size(call, static_cast<std::size_t>(end - begin + 1), with_scores);
  auto member = std::next((*set)->members.begin(), begin);
  for (auto i = begin; i <= end; ++i, ++member) {
    tell(call, *member, with_scores);
  }
}

// ZRANGEBYSCORE key low high WITHSCORES LIMIT 0 count
void do_zrangebyscore(CommandCall& call) {
  const bool is_known =
      call.word(4) == "WITHSCORES" && call.word(5) == "LIMIT" && call.word(6) == "0";
  const auto count = is_known ? parse_integer(call.word(7)) : std::nullopt;
  if (!count || *count < 0) return call.reply.error("ERR syntax error");
  do_zrange_by_score(call, true, static_cast<std::size_t>(*count));
}

void do_zremrangebyscore(CommandCall& call) {
  const auto low = parse_bound(call.word(2));
  const auto high = parse_bound(call.word(3));
  if (!low || !high) return call.reply.error("ERR min or max is not a float");
  const auto set = call.typed<SortedSetValue>(call.word(1));
  if (!set) return;
  if (*set == nullptr) return call.reply.integer(0);
  const auto removed = static_cast<std::int64_t>(std::erase_if((*set)->members, [&](const auto& m) {
    if (!is_between(m.first, *low, *high)) return false;
    (*set)->scores.erase((*set)->scores.find(m.second));
    return true;
  }));
  if (removed > 0) {
    if ((*set)->members.empty()) call.keys.erase(call.word(1));
    call.wrote();
  }
  call.reply.integer(removed);
}

}  // namespace weir::lab
