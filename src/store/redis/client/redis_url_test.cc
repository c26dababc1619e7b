#include "store/redis/client/redis_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

using Topology = RedisUrl::Topology;
using testing::HasSubstr;
using testing::Not;

RedisUrl parsed(std::string_view text) {
  auto result = RedisUrl::parse(text);
  if (!result) {
    ADD_FAILURE() << text << ": " << result.error().message;
    return {.destinations = {{}}};
  }
  return *result;
}

TEST(RedisUrl, SaysWhereAndHow) {
  struct Case {
    std::string_view text;
    std::string_view shown;
  };
  const std::vector<Case> cases = {
      {"redis://10.0.0.5", "redis://10.0.0.5:6379"},
      {"redis://redis.example.com:7000/3", "redis://redis.example.com:7000/3"},
      {"redis://h/", "redis://h:6379"},
      {"redis://[2001:db8::1]:7000", "redis://[2001:db8::1]:7000"},
      {"redis://[::1]", "redis://[::1]:6379"},
      {"redis://:secret@h", "redis://default@h:6379"},
      {"redis://ann:se%40cret@h", "redis://ann@h:6379"},
      {"rediss://h", "rediss://h:6379"},
      {"rediss://h?ca_file=/etc/ca.pem&verify=none", "rediss://h:6379"},
      {"redis-sentinel://a,b:1,[::1]/mymaster",
       "redis-sentinel://a:26379,b:1,[::1]:26379/mymaster"},
      {"redis-sentinel://a/m/2", "redis-sentinel://a:26379/m/2"},
      {"rediss-sentinel://a/m", "rediss-sentinel://a:26379/m"},
      {"redis-cluster://a,b", "redis-cluster://a:6379,b:6379"},
      {"rediss-cluster://a/0", "rediss-cluster://a:6379"},
      {"unix:///run/redis.sock", "unix:///run/redis.sock"},
      {"unix://:secret@/run/redis.sock?db=4", "unix://default@/run/redis.sock?db=4"},
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(parsed(text).to_string(), shown) << text;
}

TEST(RedisUrl, KnowsSecretsAndFiles) {
  const RedisUrl url = parsed(
      "rediss-sentinel://a%3Ab:p%40%2F%25:x@h:1/my%20master/7?ca_file=/a%20b&cert_file=/c"
      "&key_file=/k&verify=none&sentinel_user=s&sentinel_password=%26");
  EXPECT_EQ(url.topology, Topology::kSentinel);
  EXPECT_EQ(url.credentials.user, "a:b");
  EXPECT_EQ(url.credentials.password, "p@/%:x");
  EXPECT_EQ(url.master, "my master");
  EXPECT_EQ(url.database, 7);
  EXPECT_EQ(url.tls.authorities, "/a b");
  EXPECT_EQ(url.tls.certificate, "/c");
  EXPECT_EQ(url.tls.key, "/k");
  EXPECT_EQ(url.tls.verification, TlsTrustFiles::Verification::kNone);
  EXPECT_EQ(url.sentinel_credentials.user, "s");
  EXPECT_EQ(url.sentinel_credentials.password, "&");
  EXPECT_EQ(url.destinations.front().encryption, Encryption::kTls);
  EXPECT_EQ(parsed("rediss://h").tls.verification, TlsTrustFiles::Verification::kFull);
}

TEST(RedisUrl, SaysWhatIsWrongAndWhatWouldBeRight) {
  struct Case {
    std::string_view text;
    std::string_view message;
  };
  const std::vector<Case> cases = {
      {"", "begins with redis://"},
      {"localhost:6379", "begins with redis://"},
      {"http://h", "begins with redis://"},
      {"redis://", "host is missing"},
      {"redis://:6379", "host is missing"},
      {"redis://h:", "port is a number"},
      {"redis://h:0", "port is a number"},
      {"redis://h:65536", "port is a number"},
      {"redis://h:1x", "port is a number"},
      {"redis://[::1", "ends with ]"},
      {"redis://[::x]", "not an IPv6 address"},
      {"redis://[::1]6379", "port is a number"},
      {"redis://2001:db8::1", "port is a number"},
      {"redis://a,b", "several hosts"},
      {"redis://h/x", "database is a number"},
      {"redis://h/-1", "database is a number"},
      {"redis://h/0/1", "database is a number"},
      {"redis://secret@h", "USER:PASSWORD"},
      {"redis://user:@h", "USER:PASSWORD"},
      {"redis://:se%@h", "%25"},
      {"redis://h h", "%20"},
      {"redis://h?ca_file=/x", "unknown parameter"},
      {"redis://h?db=1", "unknown parameter"},
      {"rediss://h?verify=yes", "takes only none"},
      {"rediss://h?cert_file=/x", "go together"},
      {"redis-sentinel://h", "name of the master"},
      {"redis-sentinel://h/?x=1", "name of the master"},
      {"redis-sentinel://h/m?sentinel_user=x", "needs sentinel_password"},
      {"redis-cluster://h/1", "only database 0"},
      {"unix://run/redis.sock", "no host"},
      {"unix:///", "absolute path"},
  };
  for (const auto& [text, message] : cases) {
    const auto result = RedisUrl::parse(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_THAT(result.error().message, HasSubstr(std::string(message))) << text;
  }
}

TEST(RedisUrl, NeverRepeatsAPassword) {
  for (const auto* const text :
       {"redis://:hunter2@h", "redis://:hunter2@h:x", "redis://u:hunter2/3@h",
        "redis://u:hunter2?@h", "redis://u:a@hunter2,b@h",
        "redis-sentinel://h/m?sentinel_password=hunter2", "redis://h?hunter2", "redis://hunter2:@h",
        "redis://u:#hunter2%@h"}) {
    const auto result = RedisUrl::parse(text);
    const auto said = !result ? result.error().message : result->to_string();
    EXPECT_THAT(said, Not(HasSubstr("hunter2"))) << text;
  }
}

TEST(RedisUrl, IsBounded) {
  std::string many = "redis-cluster://h";
  for (std::size_t i = 0; i < RedisUrl::kHostsMax; ++i) many += ",h";
  EXPECT_FALSE(RedisUrl::parse(many).has_value());
  const auto path = "unix:///" + std::string(107, 'x');
  EXPECT_FALSE(RedisUrl::parse(path).has_value());
  const auto name = "redis://" + std::string(254, 'x');
  EXPECT_FALSE(RedisUrl::parse(name).has_value());
}

}  // namespace
}  // namespace weir
