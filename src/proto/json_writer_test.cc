#include "proto/json_writer.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(JsonWriter, PutsTheCommas) {
  JsonWriter json;
  json.begin_object().key("a").number(1).key("b").begin_array();
  json.boolean(true).null().begin_object().end_object().begin_array().end_array().string("x");
  json.end_array().key("c").raw("[1,2]").key("d").boolean(false).end_object();
  EXPECT_EQ(json.text(), R"({"a":1,"b":[true,null,{},[],"x"],"c":[1,2],"d":false})");
}

TEST(JsonWriter, Escapes) {
  JsonWriter json;
  json.string(std::string_view("\"\\/\n\r\t\b\0\x1F\x7F\xC3\xA9", 12));
  EXPECT_EQ(json.text(), "\"\\\"\\\\/\\n\\r\\t\\u0008\\u0000\\u001f\x7F\xC3\xA9\"");
}

TEST(JsonWriter, WritesValidTextsWhateverItGets) {
  JsonWriter json;
  json.begin_object().field("good", "k\xc3\xa4se").field("bad", "k\xc3se\xff").end_object();
  EXPECT_EQ(json.text(), "{\"good\":\"k\xc3\xa4se\",\"bad\":\"k?se?\"}");
}

TEST(JsonWriter, WritesAFieldAsItsTypeIs) {
  JsonWriter json;
  json.begin_object().field("a", std::vector<std::string>{"x", "y"}).field("b", true);
  json.field("c", Duration(1'500'000)).field("d", 2u).field("e", 0.5);
  json.field("f", std::optional<int>()).field("g", std::optional(7)).end_object();
  EXPECT_EQ(json.text(), R"({"a":["x","y"],"b":true,"c":1.5,"d":2,"e":0.5,"f":null,"g":7})");
}

TEST(JsonWriter, NumbersAreShort) {
  const auto text = [](double number) { return JsonWriter().number(number).text(); };
  EXPECT_EQ(text(0), "0");
  EXPECT_EQ(text(12.5), "12.5");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(-1e-7), "-1e-07");
  EXPECT_EQ(text(std::nan("")), "null");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(JsonWriter().number(std::numeric_limits<std::uint64_t>::max()).text(),
            "18446744073709551615");
}

}  // namespace
}  // namespace weir
