// MatchCover compares matches without a request: whether one covers the other.
//
// It says yes only if it is sure, because config_warnings.h warns of rules that never apply.
// Matches within matches can be compared in more ways than there is time for. So it stops after a
// number of steps, and then is sure of nothing.
//
// Thread rule: one thread; it keeps the expressions that it has compiled. Tested by
// match_cover_test.cc.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "rules/request_match.h"
#include "rules/text/path_regexes.h"

namespace weir {

class MatchCover {
 public:
  static constexpr std::int64_t kStepsMax = 100'000'000;  // some ten seconds

  explicit MatchCover(std::int64_t steps_max = kStepsMax) : left_(steps_max) {}

  // Whether `match` holds for every request for which `other` holds.
  bool covers(const RequestMatch& match, const RequestMatch& other);

  // Whether the match holds for no request at all.
  bool is_contradiction(const RequestMatch& match);

  // Whether one request may meet both matches. Says no only if it is sure.
  bool may_meet(const RequestMatch& one, const RequestMatch& other);

  // The expression, which is compiled only once.
  const SingleRegex& regex(const std::string& pattern);

 private:
  bool may_compare(const RequestMatch& one, const RequestMatch& other);
  bool covers_plain(const RequestMatch& match, const RequestMatch& other);
  bool covers_regexes(const RequestMatch& match, const RequestMatch& other);
  bool excludes(const RequestMatch& one, const RequestMatch& other);
  bool excludes_paths(const RequestMatch& one, const RequestMatch& other);

  std::int64_t left_;  // steps that are left
  std::map<std::string, SingleRegex, std::less<>> regexes_;
};

}  // namespace weir
