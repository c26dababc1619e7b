#include "nginx/admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nginx/admin_testing.h"
#include "nginx/judge_testing.h"

namespace weir::nginx {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class AdminTest : public Workers {
 protected:
  explicit AdminTest(std::string_view rules = kRules) : Workers(rules) {}

  std::string send(std::string_view method, std::string_view target, std::string_view body,
                   const std::vector<NameValue>& fields = kFromHere) {
    return ask_page(admin_,
                    {.method = method,
                     .place = "/weir",
                     .target = target,
                     .fields = fields,
                     .body = {},
                     .client = client_},
                    std::string(body), clock_.time);
  }
  std::string get(std::string_view target, const std::vector<NameValue>& fields = kFromHere) {
    return send("GET", target, "", fields);
  }

  std::unique_ptr<Judge> one_ = worker();
  Admin admin_{{.judge = *one_,
                .gateway = *loaded_.gateway,
                .zone = Zone(zone_),
                .ids = ids_,
                .fleet = nullptr,
                .workers = 2,
                .say = [](const std::string&) {}},
               clock_.time};
  std::optional<IpAddress> client_ = IpAddress::parse("127.0.0.1");
};

TEST_F(AdminTest, ExplainsWhatWouldHappenToARequest) {
  EXPECT_THAT(get("/v1/explain?method=POST&path=/login&client=192.0.2.1"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"login\"")));
}

TEST_F(AdminTest, OthersThanThisMachineSeeFiguresAlone) {
  client_ = IpAddress::parse("192.0.2.7");
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/health"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/admin/blocks"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(get("/admin/blocks?x=/metrics"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(get("/"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(get("/v1/explain"), StartsWith("HTTP/1.1 403"));
}

TEST_F(AdminTest, WebPagesAndOtherNamesOfThisMachineAreRefused) {
  EXPECT_THAT(get("/admin/blocks", {{"Host", "localhost"}, {"Origin", "https://evil.example"}}),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(get("/admin/blocks", {{"Host", "evil.example"}}), StartsWith("HTTP/1.1 403"));
}

// Once it was a server's index: "/health", "/metrics" and "POST /check".
TEST_F(AdminTest, TheIndexNamesWhatThereIsBelowTheLocation) {
  const std::string index = get("/");
  EXPECT_THAT(index, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(index, EndsWith(R"({"service":"weir","health":"/weir/health",)"
                              R"("metrics":"/weir/metrics","rules":"/weir/admin/rules",)"
                              R"("blocks":"/weir/admin/blocks","openapi":"/weir/openapi.json"})"));
  for (const std::string_view path :
       {"/health", "/metrics", "/admin/rules", "/admin/blocks", "/openapi.json"}) {
    EXPECT_THAT(get(path), StartsWith("HTTP/1.1 200")) << path;
  }
  EXPECT_THAT(send("POST", "/", "{}"), StartsWith("HTTP/1.1 405"));
}

TEST_F(AdminTest, SpendsNothing) {
  for (const std::string_view path : {"/check", "/v1/check", "/v1/look", "/auth", "/json", "/x"}) {
    EXPECT_THAT(send("POST", path, R"({"key":"k","limit":1,"window":60})"),
                StartsWith("HTTP/1.1 404"))
        << path;
  }
}

class AdminOfSecretKeys : public AdminTest {
 protected:
  AdminOfSecretKeys()
      : AdminTest("rules: [{id: session, match: {}, key: cookie:sid, limit: 9, window: 1h}]") {}
};

TEST_F(AdminOfSecretKeys, BlocksAndLetsGoANetwork) {
  constexpr std::string_view kWhom = R"({"rule":"session","key":"203.0.113.0/24")";
  const auto passes = [&](std::string_view client) { return !ask(*one_, "/", client).is_denied(); };
  EXPECT_THAT(send("POST", "/admin/blocks", std::string(kWhom) + R"(,"for":"5m"})"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(R"("key":"203.0.113.0/24")")));
  EXPECT_FALSE(passes("203.0.113.7"));
  EXPECT_TRUE(passes("203.0.114.7"));
  EXPECT_THAT(send("DELETE", "/admin/blocks", std::string(kWhom) + "}"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(passes("203.0.113.7"));
}

}  // namespace
}  // namespace weir::nginx
