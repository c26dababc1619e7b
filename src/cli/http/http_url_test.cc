#include "cli/http/http_client.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(HttpUrl, NamesHostPortAndTarget) {
  const auto url = HttpUrl::parse("https://alerts.example.com/hooks/a?b=c");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "alerts.example.com");
  EXPECT_EQ(url->port, "443");
  EXPECT_EQ(url->target, "/hooks/a?b=c");
  EXPECT_EQ(url->origin(), "https://alerts.example.com:443");

  const auto v6 = HttpUrl::parse("http://[::1]:8080");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "[::1]");
  EXPECT_EQ(v6->name(), "::1");
  EXPECT_EQ(v6->port, "8080");
  EXPECT_EQ(v6->target, "/");
}

TEST(HttpUrl, RefusesWhatIsNone) {
  for (const char* text :
       {"", "http://", "https:///path", "ftp://a/", "a.example", "http://a:0/", "http://a:65536",
        "http://a:x", "http://a b/", "http://a/ b", "http://a/#b", "http://[::1", "http://[x]/",
        "http://[::1]8080", "http://user:password@a/", "http://a/\r\nX: y"}) {
    EXPECT_FALSE(HttpUrl::parse(text)) << text;
  }
}

TEST(HttpUrl, IsPrivateUnderTlsAndOnThisMachine) {
  EXPECT_TRUE(HttpUrl::parse("https://a.example/")->is_private());
  EXPECT_TRUE(HttpUrl::parse("http://127.0.0.1:80/")->is_private());
  EXPECT_TRUE(HttpUrl::parse("http://[::1]/")->is_private());
  EXPECT_FALSE(HttpUrl::parse("http://a.example/")->is_private());
  EXPECT_FALSE(HttpUrl::parse("http://127.example/")->is_private());
}

}  // namespace
}  // namespace weir
