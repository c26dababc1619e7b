#include "rules/text/path_regexes.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Expressions with numbers.
struct Numbered {
  explicit Numbered(const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) all.push_back({.pattern = pattern});
    std::vector<PathRegex*> each;
    for (PathRegex& regex : all) each.push_back(&regex);
    regexes = PathRegexes(each);
  }

  std::vector<PathRegex> all;
  PathRegexes regexes;
};

std::vector<int> matches(const PathRegexes& regexes, std::string_view path) {
  std::vector<int> found = {99};
  regexes.match(path, found);
  return found;
}

TEST(PathRegexes, SayWhichMatchTheWholePath) {
  const PathRegexes regexes =
      std::move(Numbered({"/users/[0-9]+", "/users/.*", "(?i)/ADMIN", "/a|/b"}).regexes);
  EXPECT_THAT(matches(regexes, "/users/42"), ElementsAre(0, 1));
  EXPECT_THAT(matches(regexes, "/users/me"), ElementsAre(1));
  EXPECT_THAT(matches(regexes, "/users/42/posts"), ElementsAre(1));
  EXPECT_THAT(matches(regexes, "/admin"), ElementsAre(2));
  EXPECT_THAT(matches(regexes, "/b"), ElementsAre(3));
  EXPECT_THAT(matches(regexes, "/ab"), ElementsAre());
  EXPECT_THAT(matches(regexes, "/x/users/42"), ElementsAre());
  EXPECT_THAT(matches(regexes, "/users/\n\xff"), ElementsAre(1));
  EXPECT_THAT(matches(PathRegexes(), "/"), ElementsAre());
}

TEST(PathRegexes, AreNumberedOncePerPattern) {
  const Numbered numbered({"/a", "/b", "/c", "/a"});
  EXPECT_EQ(numbered.regexes.size(), 3u);
  EXPECT_EQ(numbered.all[0].index, 0);
  EXPECT_EQ(numbered.all[1].index, 1);
  EXPECT_EQ(numbered.all[2].index, 2);
  EXPECT_EQ(numbered.all[3].index, 0);
}

TEST(PathRegexes, AreTriedOneByOneIfTogetherTheyAreTooLarge) {
  std::vector<std::string> patterns;
  for (int i = 0; i < 400; ++i) patterns.push_back("/.*[ab]{900}x{900}" + std::to_string(i));
  const PathRegexes regexes = std::move(Numbered(patterns).regexes);
  const std::string path = "/" + std::string(900, 'a') + std::string(900, 'x');
  EXPECT_THAT(matches(regexes, path + "7"), ElementsAre(7));
  EXPECT_THAT(matches(regexes, path + "400"), ElementsAre());
}

// RE2 would take 130 MB for a thousand of these.
TEST(RegexBudget, IsForAllExpressionsTogether) {
  RegexBudget budget;
  const std::string large = "/(a{999}|b{999}|c{999}|d{999}|e{999}|f{999}|g{999}|h{999})";
  ASSERT_EQ(budget.mistake(large), std::nullopt);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(budget.mistake(large), std::nullopt);
  int used = 0;
  while (used < 1000 && !budget.mistake(large + std::to_string(used))) ++used;
  EXPECT_GT(used, 10);
  EXPECT_LT(used, 100);
  EXPECT_THAT(budget.mistake("/another"), testing::Optional(HasSubstr("together")));
  EXPECT_EQ(budget.mistake(large), std::nullopt);
}

TEST(PathRegexes, RefuseWhatCannotBeUsed) {
  EXPECT_EQ(RegexBudget().mistake("/users/[0-9]+"), std::nullopt);
  EXPECT_THAT(RegexBudget().mistake("/users/[0-9"), testing::Optional(HasSubstr("missing ]")));
  EXPECT_THAT(RegexBudget().mistake("(a)\\1"), testing::Optional(HasSubstr("invalid escape")));
  EXPECT_THAT(RegexBudget().mistake("((a{0,100}){0,10}){0,10}b"), testing::Ne(std::nullopt));
  std::string large = "/";
  for (char c = 'a'; c <= 'z'; ++c) large.append(1, c).append("{999}|");
  EXPECT_THAT(RegexBudget().mistake(large), testing::Optional(HasSubstr("more than 256 KiB")));
}

}  // namespace
}  // namespace weir
