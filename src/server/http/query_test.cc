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

TEST(Query, KnowsItsParameters) {
  EXPECT_FALSE(parameter_mistake("", ""));
  EXPECT_FALSE(parameter_mistake("&&=&limit=1&rule&&=", "rule limit"));
  EXPECT_FALSE(parameter_mistake("header:X-A=1&%6bey=2&header:X-A=2", "key header:"));
  EXPECT_EQ(parameter_mistake("limit=1&rule&limi%74=1", "rule limit")->detail,
            "limit: expected the parameter only once");
  EXPECT_EQ(parameter_mistake("rule=a&limt=1&foo", "rule limit")->detail,
            "limt: there is no such parameter here; did you mean 'limit'?");
  EXPECT_EQ(parameter_mistake("header=1", "header:")->field, "header");
  EXPECT_EQ(parameter_mistake("=1", "rule")->detail,
            ": there is no such parameter here; expected rule");
  EXPECT_EQ(parameter_mistake(std::string(200, 'x'), "")->field, "(a long name)");
}

TEST(Query, ShowsBytesThatAreNoTextAsQuestionMarks) {
  EXPECT_EQ(as_utf8("k\xc3\xa4se"), "k\xc3\xa4se");
  EXPECT_EQ(as_utf8("k\xc3se\xff"), "k?se?");
}

}  // namespace
}  // namespace weir
