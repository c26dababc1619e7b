#include "cli/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Settings settled(const ServeOptions& options, const Config& config) {
  return std::get<Settings>(settle(options, config));
}

std::vector<std::string> urls(const Settings& settings) {
  auto texts = std::vector<std::string>();
  for (const auto& listening : settings.listening) {
    texts.push_back(listening.url(listening.address));
  }
  return texts;
}

TEST(Settings, DefaultsServeThisMachineWithAllItsCores) {
  const auto settings = settled({}, {});
  EXPECT_THAT(urls(settings), ElementsAre("http://127.0.0.1:8080"));
  EXPECT_GE(settings.threads, 1);
  EXPECT_EQ(settings.max_keys, 1'048'576);
}

TEST(Settings, TheFileWinsOverDefaultsAndTheCommandLineOverTheFile) {
  const auto config = Config{.listen = {{"http", "127.0.0.1:1"}}, .threads = 2, .max_keys = 2'048};
  const auto from_file = settled({}, config);
  EXPECT_THAT(urls(from_file), ElementsAre("http://127.0.0.1:1"));
  EXPECT_EQ(from_file.threads, 2);
  EXPECT_EQ(from_file.max_keys, 2'048);

  const auto given =
      settled({.listen = {{"http", "[::1]:3"}}, .threads = 4, .max_keys = 4'096}, config);
  EXPECT_THAT(urls(given), ElementsAre("http://[::1]:3"));
  EXPECT_EQ(given.threads, 4);
  EXPECT_EQ(given.max_keys, 4'096);
}

TEST(Settings, RefusesAnAddressThatIsNone) {
  const auto result = settle({.listen = {{"http", "example.com:80"}}}, {});
  EXPECT_THAT(std::get<StartError>(result).message, HasSubstr("'example.com:80'"));
}

std::string refusal(const ServeOptions& options, const Config& config = {}) {
  return std::get<StartError>(settle(options, config)).message;
}

TEST(Settings, HttpListensInClearUnlessItIsGivenAnAddress) {
  const TlsFiles files{.certificate = "c.pem", .key = "k.pem"};
  EXPECT_THAT(urls(settled({.listen = {{"http_tls", "[::]:443"}}, .tls = files}, {})),
              ElementsAre("https://[::]:443"));
  const auto both =
      settled({.listen = {{"http", "[::]:80"}, {"http_tls", "[::]:443"}}, .tls = files}, {});
  EXPECT_THAT(urls(both), ElementsAre("http://[::]:80", "https://[::]:443"));
  EXPECT_TRUE(both.needs_tls());
}

TEST(Settings, TlsNeedsACertificateAndAKeyFromTheFileOrTheCommandLine) {
  auto config = Config{.listen = {{"http_tls", "[::]:443"}}};
  EXPECT_THAT(refusal({}, config), HasSubstr("TLS needs a certificate and its key"));
  EXPECT_THAT(refusal({.tls = {.certificate = "c"}}, config), HasSubstr("TLS needs"));
  config.tls = {.certificate = "c", .key = "k", .client_ca = "a"};
  const auto settings = settled({.tls = {.key = "mine"}}, config);
  EXPECT_EQ(settings.tls, (TlsFiles{.certificate = "c", .key = "mine", .client_ca = "a"}));
}

TEST(Settings, ProxyHeadersAreForTheAddressesNamed) {
  const auto wants = [](const Settings& settings) {
    return settings.listening[0].proxy_protocol == ProxyProtocol::kRequired;
  };
  const auto config = Config{.proxy_protocol = {"http"}};
  EXPECT_TRUE(wants(settled({}, config)));
  EXPECT_FALSE(wants(settled({.proxy_protocol = std::vector<std::string>()}, config)));
  EXPECT_FALSE(wants(settled({}, {})));
  EXPECT_THAT(refusal({.proxy_protocol = {{"http_tls"}}}),
              HasSubstr("proxy_protocol names 'http_tls', but nothing listens"));
}

TEST(Settings, TheMostExposedAddressCounts) {
  const auto exposure = [](const ServeOptions& options) { return settled(options, {}).exposure(); };
  EXPECT_EQ(exposure({}), Exposure::kLoopback);
  EXPECT_EQ(exposure({.listen = {{"http", "unix:/run/weir.sock"}, {"resp", "[::1]:6380"}}}),
            Exposure::kLoopback);
  EXPECT_EQ(exposure({.listen = {{"resp", "0.0.0.0:6380"}}}), Exposure::kNetwork);
  EXPECT_EQ(exposure({.proxy_protocol = {{"http"}}}), Exposure::kNetwork);
}

TEST(Settings, AUnixSocketsUrlNamesItsPath) {
  EXPECT_THAT(urls(settled({.listen = {{"http", "unix:/run/weir.sock"}}}, {})),
              ElementsAre("http://unix:/run/weir.sock"));
}

TEST(Settings, NamesAddressesThatOnlyARestartChanges) {
  const auto running = settled({}, {});
  const auto wanted =
      settled({.listen = {{"http_tls", "[::]:443"}}, .tls = {.certificate = "c", .key = "k"}}, {});
  EXPECT_THAT(needs_restart(running, wanted),
              ElementsAre("listen.http off needs a restart; it stays 127.0.0.1:8080",
                          "listen.http_tls [::]:443 needs a restart; it stays off"));
  EXPECT_THAT(needs_restart(running, settled({.proxy_protocol = {{"http"}}}, {})),
              ElementsAre("listen.http 127.0.0.1:8080 with PROXY headers needs a restart; it "
                          "stays 127.0.0.1:8080"));
}

TEST(Settings, NamesWhatOnlyARestartChanges) {
  const auto running = settled({.threads = 2}, {});
  EXPECT_THAT(needs_restart(running, settled({.threads = 2}, {})), IsEmpty());
  EXPECT_THAT(needs_restart(running, settled({.threads = 3, .max_keys = 2'048}, {})),
              ElementsAre("threads 3 needs a restart; it stays 2",
                          "max_keys 2048 needs a restart; it stays 1048576"));
  const Config other{.http2_age_max = std::chrono::hours(1),
                     .trusted_proxies = std::vector<IpPrefix>(),
                     .envoy = {.reset_header = "X-Reset", .shadow_mode = true},
                     .watch = true};
  EXPECT_THAT(needs_restart(running, settled({.threads = 2}, other)),
              ElementsAre("trusted_proxies has changed and needs a restart; it stays as it was",
                          "listen.http2_age_max 1h needs a restart; it stays 1d",
                          "watch true needs a restart; it stays false",
                          "envoy.reset_header X-Reset needs a restart; it stays RateLimit-Reset",
                          "envoy.shadow_mode true needs a restart; it stays false"));
}

class AdminToken : public testing::Test {
 protected:
  ~AdminToken() override { ::unsetenv("WEIR_ADMIN_TOKEN"); }
  static void set_variable(const char* value) { ::setenv("WEIR_ADMIN_TOKEN", value, 1); }
  static std::string file_with(const std::string& text) {
    auto path = testing::TempDir() + "weir_admin_token";
    std::ofstream(path) << text;
    return path;
  }
  static std::optional<std::string> read(const std::string& file) {
    return std::get<Secrets>(read_secrets({.admin_token_file = file})).admin_token;
  }
  static std::string refusal(const std::string& file) {
    return std::get<StartError>(read_secrets({.admin_token_file = file})).message;
  }
};

TEST_F(AdminToken, ComesFromTheFileElseFromTheEnvironmentElseThereIsNone) {
  EXPECT_EQ(read(""), std::nullopt);
  set_variable("from-the-environment");
  EXPECT_EQ(read(""), "from-the-environment");
  EXPECT_EQ(read(file_with("from-the-first-line\nnot this\n")), "from-the-first-line");
  EXPECT_EQ(read(file_with("written-on-windows\r\n")), "written-on-windows");
}

TEST_F(AdminToken, IsNotTakenWhenAnybodyCouldGuessIt) {
  EXPECT_THAT(refusal(file_with("short\n")), HasSubstr("16 or more"));
  EXPECT_THAT(refusal(file_with("two words of some length\n")), HasSubstr("one word"));
  EXPECT_THAT(refusal(file_with("")), HasSubstr("cannot read"));
  EXPECT_THAT(refusal("/no/such/file"), HasSubstr("/no/such/file"));
  set_variable("");
  EXPECT_THAT(refusal(""), HasSubstr("$WEIR_ADMIN_TOKEN is empty; put one there, or unset it"));
}

TEST_F(AdminToken, IsReadAsThePasswordOfRedisClientsIs) {
  const auto file = file_with("from-the-first-line\n");
  const auto secrets = std::get<Secrets>(read_secrets({.resp_password_file = file}));
  EXPECT_EQ(secrets.resp_password, "from-the-first-line");
  EXPECT_EQ(secrets.admin_token, std::nullopt);
  const auto short_file = file_with("short\n");
  EXPECT_THAT(std::get<StartError>(read_secrets({.resp_password_file = short_file})).message,
              HasSubstr("the password of Redis clients in"));
}

TEST_F(AdminToken, IsNotRepeatedInTheRefusal) {
  EXPECT_THAT(refusal(file_with("hunter2\n")), testing::Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace weir
