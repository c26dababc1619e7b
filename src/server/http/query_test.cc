#include "server/http/query.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Query, FindsTheFirstValueDecoded) {
  EXPECT_EQ(query_value("a=1&b=2&a=3", "a"), "1");
  EXPECT_EQ(query_value("a=1&b=2", "b"), "2");
  EXPECT_EQ(query_value("rule=x%3Ay+z%zz%4", "rule"), "x:y+z%zz%4");
  EXPECT_EQ(query_value("a", "a"), "");
  EXPECT_EQ(query_value("a=", "a"), "");
  EXPECT_EQ(query_value("aa=1", "a"), std::nullopt);
  EXPECT_EQ(query_value("", "a"), std::nullopt);
  EXPECT_EQ(query_value("&&=&a=1", "a"), "1");
}

TEST(Query, ShowsBytesThatAreNoTextAsQuestionMarks) {
  EXPECT_EQ(as_utf8("k\xc3\xa4se"), "k\xc3\xa4se");
  EXPECT_EQ(as_utf8("k\xc3se\xff"), "k?se?");
}

}  // namespace
}  // namespace weir
