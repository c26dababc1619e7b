#include "proto/http/header_fields.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::http1 {
namespace {

std::string fields_of(std::string_view head) {
  std::vector<NameValue> fields;
  read_header_fields(head, fields);
  std::string text;
  for (const auto& [name, value] : fields) {
    text.append(name).append("=").append(value).append("|");
  }
  return text;
}

TEST(HeaderFields, AreReadInOrderWithoutBlanksAroundTheirValues) {
  EXPECT_EQ(fields_of("GET / HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-B:\t b : c \t\r\n\r\n"),
            "Host=a|X-Empty=|X-B=b : c|");
  EXPECT_EQ(fields_of("GET / HTTP/1.0\r\n\r\n"), "");
}

TEST(HeaderFields, OfSomethingElseAreNone) {
  EXPECT_EQ(fields_of(""), "");
  EXPECT_EQ(fields_of("GET / HTTP/1.1"), "");
}

}  // namespace
}  // namespace weir::http1
