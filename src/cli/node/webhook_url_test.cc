#include "cli/node/webhook_url.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(WebhookUrl, NamesHostPortAndTarget) {
  const auto url = WebhookUrl::parse("https://alerts.example.com/hooks/a?b=c");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, WebhookUrl::Scheme::kHttps);
  EXPECT_EQ(url->host, "alerts.example.com");
  EXPECT_EQ(url->port, "443");
  EXPECT_EQ(url->target, "/hooks/a?b=c");
  EXPECT_EQ(url->origin(), "https://alerts.example.com");

  const auto v6 = WebhookUrl::parse("http://[::1]:8080");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, "8080");
  EXPECT_EQ(v6->authority, "[::1]:8080");
  EXPECT_EQ(v6->target, "/");
}

TEST(WebhookUrl, RefusesWhatIsNone) {
  for (const char* text :
       {"", "http://", "https:///path", "ftp://a/", "a.example", "http://a:0/", "http://a:65536",
        "http://a:x", "http://a b/", "http://a/ b", "http://a/#b", "http://[::1", "http://[x]/",
        "http://[::1]8080", "http://user:password@a/", "http://a/\r\nX: y"}) {
    EXPECT_FALSE(WebhookUrl::parse(text)) << text;
  }
}

TEST(WebhookUrl, IsPrivateUnderTlsAndOnThisMachine) {
  EXPECT_TRUE(WebhookUrl::parse("https://a.example/")->is_private());
  EXPECT_TRUE(WebhookUrl::parse("http://127.0.0.1:80/")->is_private());
  EXPECT_TRUE(WebhookUrl::parse("http://[::1]/")->is_private());
  EXPECT_FALSE(WebhookUrl::parse("http://a.example/")->is_private());
  EXPECT_FALSE(WebhookUrl::parse("http://127.example/")->is_private());
}

}  // namespace
}  // namespace weir
