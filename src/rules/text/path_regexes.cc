#include "rules/text/path_regexes.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <map>

#include "base/assert.h"

namespace weir {
namespace {

re2::RE2::Options options_with(std::int64_t memory_max) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);  // a path may hold any byte
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_max_mem(memory_max);
  return options;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct PathRegexes::Set : re2::RE2::Set {
  using re2::RE2::Set::Set;
};

std::optional<std::string> RegexBudget::mistake(const std::string& pattern) {
  const re2::RE2 regex(pattern, options_with(kRegexMemoryMax));
  if (regex.ok()) {
    if (!seen_.insert(pattern).second) return std::nullopt;
    steps_ = std::min(steps_ + regex.ProgramSize(), kRegexesStepsMax + 1);
    if (steps_ <= kRegexesStepsMax) return std::nullopt;
    return "with it, all expressions together need more than " + std::to_string(kRegexesStepsMax) +
           " steps; write fewer, or without {n}";
  }
  if (regex.error_code() == re2::RE2::ErrorPatternTooLarge) {
    return "it needs more than " + std::to_string(kRegexMemoryMax >> 10) + " KiB of memory";
  }
  return regex.error();
}

SingleRegex::SingleRegex(const std::string& pattern)
    : regex_(std::make_unique<re2::RE2>("^(?:" + pattern + ")$", options_with(kRegexMemoryMax))) {}
SingleRegex::SingleRegex(SingleRegex&&) noexcept = default;
SingleRegex::~SingleRegex() = default;

bool SingleRegex::matches(std::string_view path) const {
  return re2::RE2::FullMatch(piece(path), *regex_);
}

bool SingleRegex::matches_paths() const {
  constexpr int kPrefixMax = 16;
  std::string first;
  std::string last;
  if (!regex_->PossibleMatchRange(&first, &last, kPrefixMax)) return true;
  return first < "0" && last >= "/";  // '0' comes behind '/'
}

PathRegexes::PathRegexes() = default;
PathRegexes::PathRegexes(PathRegexes&&) noexcept = default;
PathRegexes& PathRegexes::operator=(PathRegexes&&) noexcept = default;
PathRegexes::~PathRegexes() = default;

PathRegexes::PathRegexes(std::span<PathRegex* const> regexes) {
  auto set = std::make_unique<Set>(options_with(kRegexesMemoryMax), re2::RE2::ANCHOR_BOTH);
  std::map<std::string, int, std::less<>> numbers;
  for (PathRegex* regex : regexes) {
    const auto [known, fresh] = numbers.emplace(regex->pattern, static_cast<int>(numbers.size()));
    regex->index = known->second;
    if (!fresh) continue;
    regexes_.push_back(std::make_unique<re2::RE2>(regex->pattern, options_with(kRegexMemoryMax)));
    const int in_set = set->Add(piece(regex->pattern), nullptr);
    WEIR_ASSERT(in_set == regex->index);
  }
  if (!regexes_.empty() && set->Compile()) set_ = std::move(set);
}

void PathRegexes::match(std::string_view path, std::vector<int>& indexes) const {
  indexes.clear();
  if (regexes_.empty()) return;
  re2::RE2::Set::ErrorInfo error{re2::RE2::Set::kOutOfMemory};
  // RE2 allocates to say which expressions match, so it is first asked whether any does.
  if (set_ != nullptr && !set_->Match(piece(path), nullptr, &error) &&
      error.kind == re2::RE2::Set::kNoError) {
    return;
  }
  if (set_ != nullptr && set_->Match(piece(path), &indexes, &error)) {
    std::ranges::sort(indexes);
    return;
  }
  match_one_by_one(path, indexes);
}

void PathRegexes::match_one_by_one(std::string_view path, std::vector<int>& indexes) const {
  indexes.clear();
  for (std::size_t i = 0; i < regexes_.size(); ++i) {
    if (re2::RE2::FullMatch(piece(path), *regexes_[i])) indexes.push_back(static_cast<int>(i));
  }
}

}  // namespace weir
