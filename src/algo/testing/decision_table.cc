#include "algo/testing/decision_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

#include "algo/testing/any_key.h"
#include "algo/testing/truth.h"
#include "base/duration_text.h"

namespace weir::algo::testing {
namespace {

// Thrown for a table that makes no sense: a mistake in the test.
struct BadTable {
  std::string what;
};

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllowed: return "allow";
    case Verdict::kDenied: return "deny";
    case Verdict::kNever: return "never";
  }
  return "?";
}

std::string to_text(const Decision& decision) {
  std::ostringstream text;
  text << verdict_name(decision.verdict) << " left " << decision.remaining << " limit "
       << decision.limit << " retry " << format_duration(decision.retry_after) << " reset "
       << format_duration(decision.reset_after) << " level " << int{decision.backoff_level};
  return text.str();
}

std::int64_t parse_number(const std::string& text) {
  std::size_t used = 0;
  const std::int64_t number = text.empty() ? 0 : std::stoll(text, &used);
  if (used == 0 || used != text.size()) throw BadTable{"not a number: " + text};
  return number;
}

Duration parse_length(const std::string& text) {
  const std::optional<Duration> length = parse_duration(text);
  if (!length) throw BadTable{"not a duration: " + text};
  return *length;
}

// Runs one table.
class Runner {
 public:
  void run_line(const std::string& line) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) return;
    if (word == "quota") {
      set_quota(words);
    } else if (word == "table") {
      *this = Runner();
    } else if (word == "active") {
      switch_to(words);
    } else if (word == "at") {
      run_request(words);
    } else {
      throw BadTable{"neither table, quota, active nor at: " + word};
    }
  }

 private:
  void set_quota(std::istringstream& words) {
    std::string name, rate, word;
    words >> name >> rate;
    const auto algorithm = algorithm_from_name(name);
    const std::size_t slash = rate.find('/');
    if (!algorithm || slash == std::string::npos) throw BadTable{"not a quota"};
    QuotaSpec spec{*algorithm, parse_number(rate.substr(0, slash)),
                   parse_length(rate.substr(slash + 1))};
    bool fresh = !quota_ || quota_->algorithm() != spec.algorithm;
    while (words >> word) {
      if (word == "fresh") {
        fresh = true;
      } else if (word == "burst" && words >> word) {
        spec.burst = parse_number(word);
      } else {
        throw BadTable{"neither fresh nor burst N: " + word};
      }
    }
    const Result<Quota> made = Quota::make(spec);
    if (!made) throw BadTable{"no such quota: " + std::string(made.error().field)};
    quota_ = *made;
    if (fresh) key_ = AnyKey(spec.algorithm);
  }

  // A switch does not change `remaining`.
  void switch_to(std::istringstream& words) {
    std::string name;
    words >> name;
    const auto algorithm = algorithm_from_name(name);
    if (!algorithm || !quota_ || !can_be_active(*algorithm)) throw BadTable{"not to be active"};
    const Decision before = key_.look(*quota_, 0, now_);
    quota_ = quota_->following({*algorithm, quota_->switch_number() + 1});
    EXPECT_EQ(key_.look(*quota_, 0, now_).remaining, before.remaining);
  }

  void run_request(std::istringstream& words) {
    if (!quota_) throw BadTable{"a request before the first quota"};
    std::string time, verb, amount, arrow;
    words >> time >> verb;
    now_ = parse_instant(time);
    std::int64_t units = 0;
    if (verb != "look" && verb != "denied") {
      words >> amount;
      units = parse_number(amount);
    }
    words >> arrow;
    std::int64_t times = 1;
    if (arrow.starts_with('x')) {
      times = parse_number(arrow.substr(1));
      words >> arrow;
    }
    if (arrow != "->") throw BadTable{"no -> where it should be"};
    expect(words, request(verb, units, times));
  }

  Instant parse_instant(const std::string& text) const {
    if (text.starts_with('+')) return now_ + parse_length(text.substr(1));
    if (text.starts_with('-')) return now_ - parse_length(text.substr(1));
    return Instant{} + parse_length(text);
  }

  Decision request(const std::string& verb, std::int64_t units, std::int64_t times) {
    Decision decision = request_once(verb, units);
    for (std::int64_t i = 1; i < times; ++i) {
      const Verdict first = decision.verdict;
      decision = request_once(verb, units);
      if (decision.verdict != first) {
        ADD_FAILURE() << "time " << i + 1 << " differs: " << to_text(decision);
        break;
      }
    }
    if (verb == "spend") {
      EXPECT_EQ(untruth(key_, *quota_, units, decision, now_), "");
    }
    return decision;
  }

  Decision request_once(const std::string& verb, std::int64_t units) {
    if (verb == "spend") return key_.decide(*quota_, units, now_);
    if (verb == "look") return key_.look(*quota_, 0, now_);
    if (verb == "ask") return key_.look(*quota_, units, now_);
    if (verb == "give") return key_.decide(*quota_, -units, now_);
    if (verb == "denied") return key_.record_denial(*quota_, now_);
    if (verb != "undo") throw BadTable{"no such request: " + verb};
    key_.undo(*quota_, units, now_, epoch_us(now_));
    return key_.look(*quota_, 0, now_);
  }

  static void expect(std::istringstream& words, const Decision& decision) {
    std::string word, value;
    words >> word;
    bool as_expected = word == verdict_name(decision.verdict);
    while (words >> word >> value) as_expected &= matches(word, value, decision);
    EXPECT_TRUE(as_expected) << "got: " << to_text(decision);
  }

  static bool matches(const std::string& field, const std::string& value,
                      const Decision& decision) {
    if (field == "left") return parse_number(value) == decision.remaining;
    if (field == "limit") return parse_number(value) == decision.limit;
    if (field == "retry") return parse_length(value) == decision.retry_after;
    if (field == "reset") return parse_length(value) == decision.reset_after;
    if (field == "level") return parse_number(value) == decision.backoff_level;
    throw BadTable{"no such expectation: " + field};
  }

  std::optional<Quota> quota_;
  AnyKey key_{Algorithm::kFixedWindow};
  Instant now_{};
};

}  // namespace

void run_tables(std::string_view text, const std::string& file) {
  Runner runner;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const ::testing::ScopedTrace trace(file.c_str(), number, line);
    try {
      runner.run_line(line);
    } catch (const BadTable& bad) {
      ADD_FAILURE() << bad.what;
    }
  }
}

}  // namespace weir::algo::testing
