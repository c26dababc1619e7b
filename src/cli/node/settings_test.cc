#include "cli/node/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "cli/node/settings_testing.h"
#include "config/config.h"
#include "gate/header_settings.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The settings of a file.
SettingValues in_file(const std::string& text) { return parse_config(text, "weir.yaml")->settings; }

Settings settled(const SettingValues& values) { return *settle(values); }

std::vector<std::string> urls(const Settings& settings) {
  auto texts = std::vector<std::string>();
  for (const auto& listening : settings.listening) {
    texts.push_back(listening.url(listening.address));
  }
  return texts;
}

TEST(Settings, DefaultsServeThisMachineWithAllItsCores) {
  const auto settings = settled({});
  EXPECT_THAT(urls(settings), ElementsAre("http://127.0.0.1:8080"));
  EXPECT_GE(settings.threads, 1);
  EXPECT_EQ(settings.values->max_keys, 1'048'576u);
}

TEST(Settings, TheFileWinsOverDefaultsAndTheCommandLineOverTheFile) {
  auto values =
      in_file("{listen: {http: '127.0.0.1:1'}, threads: 2, max_keys: 2048, precise_keys: 7}");
  const auto from_file = settled(values);
  EXPECT_THAT(urls(from_file), ElementsAre("http://127.0.0.1:1"));
  EXPECT_EQ(from_file.threads, 2);
  EXPECT_EQ(from_file.memory().max_keys, 2'048u);
  EXPECT_EQ(from_file.memory().precise_keys, 7u);

  values.override_with(said({"--http", "[::1]:3", "--threads", "4", "--max-keys", "4096"}));
  const auto given = settled(values);
  EXPECT_THAT(urls(given), ElementsAre("http://[::1]:3"));
  EXPECT_EQ(given.threads, 4);
  EXPECT_EQ(given.values->max_keys, 4'096u);
}

TEST(Settings, AdaptiveRulesHaveTheThresholdsOfTheFile) {
  EXPECT_EQ(SettingValues()->switching, SwitchThresholds());
  const SwitchThresholds expected{.burst_ratio = 4.5,
                                  .burst_ratio_leave = 1,
                                  .denied_share = 0.75,
                                  .denied_share_leave = 0.25,
                                  .rate_min = 100,
                                  .rate_leave = 50.5,
                                  .dwell = std::chrono::seconds(30)};
  EXPECT_EQ(in_file("adaptive: {burst_ratio: 4.5, burst_ratio_leave: 1, denied_share: 0.75,\n"
                    "  denied_share_leave: 0.25, rate_min: 100, rate_leave: 50.5, dwell: 30s}")
                ->switching,
            expected);
}

// A row of the table is the whole setting: nothing else names this option or variable.
TEST(Settings, ComeFromTheirRowOfTheTable) {
  for (const auto& setting : all_settings()) {
    const auto& field = setting.field;
    if (field.option.name.empty() || field.default_text.empty()) continue;
    if (field.type == FieldType::kBoolean) {
      EXPECT_EQ(said({std::string(field.option.name)}).text(setting.name), "true");
      continue;
    }
    const auto values = said({std::string(field.option.name), std::string(field.default_text)});
    EXPECT_TRUE(values.is_set(setting.name)) << setting.name;
    EXPECT_EQ(values.text(setting.name), field.default_text);
    EXPECT_EQ(SettingValues().text(setting.name), field.default_text);
  }
}

TEST(Settings, HeadersAreInTheFormThatTheFileSays) {
  const RateLimitStyle usual = header_settings(*SettingValues());
  EXPECT_EQ(usual.fields, RateLimitStyle::Fields::kDraft10);
  EXPECT_EQ(usual.reset, RateLimitStyle::Reset::kSeconds);
  EXPECT_TRUE(usual.x_limit && usual.x_remaining && usual.x_reset);

  const RateLimitStyle chosen =
      header_settings(*in_file("headers: draft-6\nx_headers: [reset]\nx_reset: epoch\n"));
  EXPECT_EQ(chosen.fields, RateLimitStyle::Fields::kDraft6);
  EXPECT_EQ(chosen.reset, RateLimitStyle::Reset::kEpoch);
  EXPECT_TRUE(!chosen.x_limit && !chosen.x_remaining && chosen.x_reset);

  const RateLimitStyle none = header_settings(*in_file("headers: none\nx_headers: []\n"));
  EXPECT_EQ(none.fields, RateLimitStyle::Fields::kNone);
  EXPECT_FALSE(none.x_limit || none.x_remaining || none.x_reset);
  EXPECT_EQ(header_settings(*in_file("headers: draft-7\n")).fields,
            RateLimitStyle::Fields::kDraft7);
}

TEST(Settings, TheOptionWinsOverTheEnvironment) {
  ::setenv("WEIR_REDIS_URL", "redis://from-the-environment", 1);
  EXPECT_EQ(said({}).text("store.redis"), "redis://from-the-environment");
  EXPECT_EQ(said({"--redis", "redis://given"}).text("store.redis"), "redis://given");
  ::unsetenv("WEIR_REDIS_URL");
  EXPECT_EQ(said({})->store.redis, "");
}

TEST(Settings, AnEmptyOptionLeavesTheFilesValue) {
  auto values = in_file("state_file: blocks.json");
  values.override_with(said({"--state-file", ""}));
  EXPECT_EQ(values.text("state_file"), "blocks.json");
}

TEST(Settings, RefusesAnOptionInTheWordsOfTheFile) {
  const auto refusal = [](const char* option, const char* text) {
    try {
      said({option, text});
    } catch (const CLI::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("--threads", "0"), HasSubstr("'threads' must be from 1 to 256, but is 0"));
  EXPECT_THAT(refusal("--mode", "stric"), HasSubstr("did you mean 'strict'?"));
  EXPECT_THAT(refusal("--redis-prefix", ""), HasSubstr("without spaces and braces"));
}

// CLI11's message was that arguments were not expected.
TEST(Settings, AnAddressThatIsGivenTwiceIsToldHowToListenOnSeveral) {
  for (const std::string flag :
       {"--http", "--grpc", "--resp", "--http-tls", "--grpc-tls", "--resp-tls"}) {
    for (const auto& arguments : {std::vector<std::string>{flag, "a:1", flag, "b:2"},
                                  std::vector<std::string>{flag, "a:1", "b:2"},
                                  std::vector<std::string>{flag, "a:1", flag + "=b:2"}}) {
      try {
        said(arguments);
        ADD_FAILURE() << flag;
      } catch (const CLI::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(flag + " is there already, with a:1: "));
        EXPECT_THAT(error.what(), HasSubstr("[::]:PORT stands for all addresses"));
      }
    }
  }
}

std::string refusal(const SettingValues& values) { return settle(values).error().message; }

TEST(Settings, RefusesAnAddressThatIsNone) {
  EXPECT_THAT(refusal(said({"--http", "example.com:80"})), HasSubstr("'example.com:80'"));
}

TEST(Settings, RefusesAModeWithoutAStore) {
  EXPECT_THAT(refusal(said({"--mode", "leased"})), HasSubstr("--mode is about a store"));
}

TEST(Settings, HttpListensInClearUnlessItIsGivenAnAddress) {
  const std::string tls = "tls: {certificate: c.pem, key: k.pem}\n";
  EXPECT_THAT(urls(settled(in_file(tls + "listen: {http_tls: '[::]:443'}"))),
              ElementsAre("https://[::]:443"));
  const auto both = settled(in_file(tls + "listen: {http: '[::]:80', http_tls: '[::]:443'}"));
  EXPECT_THAT(urls(both), ElementsAre("http://[::]:80", "https://[::]:443"));
  EXPECT_TRUE(both.needs_tls());
}

TEST(Settings, TlsNeedsACertificateAndAKeyFromTheFileOrTheCommandLine) {
  EXPECT_THAT(refusal(in_file("listen: {http_tls: '[::]:443'}")),
              HasSubstr("TLS needs a certificate and its key"));
  EXPECT_THAT(refusal(said({"--http-tls", "[::]:443", "--tls-certificate", "c"})),
              HasSubstr("TLS needs"));
  auto values = in_file("tls: {certificate: c, key: k, client_ca: a}");
  values.override_with(said({"--http-tls", "[::]:443", "--tls-key", "mine"}));
  EXPECT_EQ(settled(values).tls, (TlsFiles{.certificate = "c", .key = "mine", .client_ca = "a"}));
}

TEST(Settings, ProxyHeadersAreForTheAddressesNamed) {
  const auto wants = [](const SettingValues& values) {
    return settled(values).listening[0].proxy_protocol == ProxyProtocol::kRequired;
  };
  EXPECT_TRUE(wants(in_file("listen: {proxy_protocol: http}")));
  EXPECT_TRUE(wants(said({"--http-tls", "[::]:443", "--tls-key", "k", "--tls-certificate", "c",
                          "--proxy-protocol", "http-tls"})));
  EXPECT_FALSE(wants({}));
  EXPECT_THAT(refusal(said({"--proxy-protocol", "http-tls"})),
              HasSubstr("proxy_protocol names 'http_tls', but nothing listens"));
}

TEST(Settings, NoTwoDoorsListenAtOneAddress) {
  EXPECT_THAT(refusal(said({"--http", "127.0.0.1:7777", "--grpc", "localhost:7777"})),
              HasSubstr("127.0.0.1:7777 is the address of 'http' already; give each its own"));
  EXPECT_THAT(refusal(said({"--resp", "unix:/run/a.sock", "--grpc", "unix:/run/a.sock"})),
              HasSubstr("unix:/run/a.sock is the address of 'grpc' already"));
  const auto any_port = settled(said({"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"}));
  EXPECT_EQ(any_port.listening.size(), 2u);
}

TEST(Settings, TheMostExposedAddressCounts) {
  const auto exposure = [](std::vector<std::string> arguments) {
    return settled(said(std::move(arguments))).exposure();
  };
  EXPECT_EQ(exposure({}), Exposure::kLoopback);
  EXPECT_EQ(exposure({"--http", "unix:/run/weir.sock", "--resp", "[::1]:6380"}),
            Exposure::kLoopback);
  EXPECT_EQ(exposure({"--resp", "0.0.0.0:6380"}), Exposure::kNetwork);
  EXPECT_EQ(exposure({"--proxy-protocol", "http"}), Exposure::kNetwork);
}

TEST(Settings, AUnixSocketsUrlNamesItsPath) {
  EXPECT_THAT(urls(settled(said({"--http", "unix:/run/weir.sock"}))),
              ElementsAre("http://unix:/run/weir.sock"));
}

// The URL may be secret: messages only say that it is wrong, or has changed.
TEST(Settings, AWebhookIsAUrlThatNobodyRepeats) {
  EXPECT_EQ(settled(in_file("unusual_traffic: {webhook: 'https://a.example/x'}")).webhook->target,
            "/x");
  for (const auto* wrong : {"unusual_traffic: {webhook: 'https://user:secret@a.example/secret'}",
                            "unusual_traffic: {webhook: secret}"}) {
    EXPECT_THAT(refusal(in_file(wrong)), HasSubstr("must be http:// or https://"));
    EXPECT_THAT(refusal(in_file(wrong)), Not(HasSubstr("secret")));
  }
  const auto running = settled(in_file("unusual_traffic: {webhook: 'https://a.example/secret'}"));
  const auto wanted = settled(in_file("unusual_traffic: {webhook: 'https://a.example/new'}"));
  EXPECT_THAT(needs_restart(running, running), IsEmpty());
  EXPECT_THAT(needs_restart(running, wanted),
              ElementsAre("unusual_traffic.webhook has changed and needs a restart; it stays as it "
                          "was"));
}

TEST(Settings, TheTokenOfAWebhookDoesNotTravelInClear) {
  const auto with = [](const std::string& webhook) {
    return in_file("unusual_traffic: {webhook_token_file: f" + webhook + "}");
  };
  EXPECT_TRUE(settled(with(", webhook: 'https://a.example/'")).webhook);
  EXPECT_TRUE(settled(with(", webhook: 'http://127.0.0.1:1/'")).webhook);
  EXPECT_THAT(refusal(with(", webhook: 'http://a.example/'")), HasSubstr("use https://"));
  EXPECT_THAT(refusal(with("")), HasSubstr("is for a webhook"));
}

TEST(Settings, NamesAddressesThatOnlyARestartChanges) {
  const auto running = settled({});
  const auto tls = in_file("{listen: {http_tls: '[::]:443'}, tls: {certificate: c, key: k}}");
  EXPECT_THAT(needs_restart(running, settled(tls)),
              ElementsAre("listen.http off needs a restart; it stays 127.0.0.1:8080",
                          "listen.http_tls [::]:443 needs a restart; it stays off"));
  EXPECT_THAT(needs_restart(running, settled(said({"--proxy-protocol", "http"}))),
              ElementsAre("listen.proxy_protocol has changed and needs a restart; it stays as it "
                          "was"));
}

TEST(Settings, NamesWhatOnlyARestartChanges) {
  const auto running = settled(in_file("threads: 2"));
  EXPECT_THAT(needs_restart(running, settled(in_file("threads: 2"))), IsEmpty());
  const auto wanted = settled(
      in_file("{threads: 3, max_keys: 2048, trusted_proxies: [], listen: {http2_age_max: 1h},\n"
              " watch: true, envoy: {reset_header: X-Reset, shadow_mode: true}}"));
  EXPECT_THAT(needs_restart(running, wanted),
              ElementsAre("listen.http2_age_max 1h needs a restart; it stays 1d",
                          "threads 3 needs a restart; it stays 2",
                          "max_keys 2048 needs a restart; it stays 1048576",
                          "watch true needs a restart; it stays false",
                          "trusted_proxies has changed and needs a restart; it stays as it was",
                          "envoy.reset_header X-Reset needs a restart; it stays RateLimit-Reset",
                          "envoy.shadow_mode true needs a restart; it stays false"));
}

TEST(Settings, NamesTheFieldOfTheStoreThatOnlyARestartChangesAndNoPassword) {
  const auto with = [](const std::string& more) {
    return settled(in_file("store: {redis: 'redis://:secret@10.0.0.5'" + more + "}"));
  };
  EXPECT_THAT(needs_restart(with(""), with(", sync_interval: 200ms")),
              ElementsAre("store.sync_interval 200ms needs a restart; it stays 100ms"));
  EXPECT_THAT(needs_restart(settled({}), with("")),
              ElementsAre(testing::AllOf(HasSubstr("store.redis redis://"),
                                         HasSubstr("needs a restart; it stays off"),
                                         testing::Not(HasSubstr("secret")))));
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
    return read_secrets({.admin_token_file = file}, {})->admin_token;
  }
  static std::string refusal(const std::string& file) {
    return read_secrets({.admin_token_file = file}, {}).error().message;
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
  EXPECT_THAT(refusal(file_with("")), HasSubstr("is empty"));
  EXPECT_THAT(refusal("/no/such/file"), HasSubstr("/no/such/file"));
  set_variable("");
  EXPECT_THAT(refusal(""), HasSubstr("$WEIR_ADMIN_TOKEN is empty; put one there, or unset it"));
}

TEST_F(AdminToken, IsReadAsThePasswordOfRedisClientsIs) {
  const auto file = file_with("from-the-first-line\n");
  const auto secrets = *read_secrets({.resp_password_file = file}, {});
  EXPECT_EQ(secrets.resp_password, "from-the-first-line");
  EXPECT_EQ(secrets.admin_token, std::nullopt);
  const auto short_file = file_with("short\n");
  EXPECT_THAT(read_secrets({.resp_password_file = short_file}, {}).error().message,
              HasSubstr("the password of Redis clients in"));
}

TEST_F(AdminToken, IsNotRepeatedInTheRefusal) {
  EXPECT_THAT(refusal(file_with("hunter2\n")), testing::Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace weir
