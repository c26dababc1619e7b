#include "cli/gateway/nginx_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

GatewayOptions options() {
  return {.origin = "http://127.0.0.1:9000",
          .config_file = "/etc/weir/rules.yaml",
          .http = "127.0.0.1:3000",
          .origin_ca = "/etc/ssl/certs/ca-certificates.crt",
          .access_log = "off",
          .origin_timeout = 60s,
          .body_max = 1'000'000,
          .memory = 16'777'216,
          .module_file = "/usr/lib/nginx/modules/ngx_http_weir_module.so",
          .folder = "/tmp/weir-gateway"};
}

std::string written(const GatewayOptions& options) {
  const auto result = nginx_config(options);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result ? *result : "";
}

std::string refusal(const GatewayOptions& options) {
  const auto result = nginx_config(options);
  return result ? "" : result.error().message;
}

TEST(NginxConfig, PutsTheModuleInFrontOfTheOrigin) {
  const auto text = written(options());
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("weir_zone weir 16777216;\n"),
            HasSubstr("weir_config \"/etc/weir/rules.yaml\";\n"), HasSubstr("    weir on;\n"),
            HasSubstr("listen \"127.0.0.1:3000\";\n"), HasSubstr("server 127.0.0.1:9000;\n"),
            HasSubstr("proxy_pass http://origin;\n"), HasSubstr("proxy_read_timeout 60000ms;\n"),
            HasSubstr("access_log off;\n"), HasSubstr("worker_processes auto;\n")));
  EXPECT_THAT(text,
              AllOf(Not(HasSubstr("ssl")), Not(HasSubstr("user ")), Not(HasSubstr("real_ip"))));
}

TEST(NginxConfig, TakesWhatTheOptionsSay) {
  auto all = options();
  all.http_tls = "[::]:8443";
  all.certificate = "/etc/weir/a certificate.pem";
  all.key = "/etc/weir/key.pem";
  all.origin = "https://[::1]/";
  all.access_log = "/var/log/weir.log";
  all.workers = 3;
  all.user = "www-data";
  all.trusted_proxies = {"10.0.0.0/8", "::1"};
  EXPECT_THAT(written(all),
              AllOf(HasSubstr("listen \"[::]:8443\" ssl http2;\n"),
                    HasSubstr("ssl_certificate \"/etc/weir/a certificate.pem\";\n"),
                    HasSubstr("server [::1]:443;\n"), HasSubstr("proxy_pass https://origin;\n"),
                    HasSubstr("proxy_ssl_verify on;\n"), HasSubstr("proxy_ssl_name ::1;\n"),
                    HasSubstr("access_log \"/var/log/weir.log\" weir;\n"),
                    HasSubstr("worker_processes 3;\n"), HasSubstr("user \"www-data\";\n"),
                    HasSubstr("set_real_ip_from \"10.0.0.0/8\";\n"),
                    HasSubstr("set_real_ip_from \"::1\";\n")));
}

TEST(NginxConfig, ItsFilesAreWhereItHasThemUnlessAFolderIsNamed) {
  EXPECT_THAT(written(options()),
              AllOf(HasSubstr("pid \"/tmp/weir-gateway/nginx.pid\";\n"),
                    HasSubstr("client_body_temp_path \"/tmp/weir-gateway/client_body\";\n"),
                    HasSubstr("scgi_temp_path \"/tmp/weir-gateway/scgi\";\n")));
  auto nowhere = options();
  nowhere.folder = "";
  EXPECT_THAT(written(nowhere), AllOf(Not(HasSubstr("pid")), Not(HasSubstr("temp_path"))));
}

TEST(NginxConfig, StaysWithTheOriginWhereAResponseIsAwaited) {
  EXPECT_THAT(written(options()), AllOf(Not(HasSubstr("client_abort")), Not(HasSubstr("@"))));
  auto counting = options();
  counting.awaits_responses = true;
  const auto text = written(counting);
  EXPECT_THAT(text, AllOf(HasSubstr("map $weir_awaited $place {\n"),
                          HasSubstr("location @awaited {\n            proxy_pass http://origin;\n"
                                    "            proxy_ignore_client_abort on;\n"),
                          HasSubstr("location @origin {\n            proxy_pass http://origin;\n"
                                    "        }\n")));
}

TEST(NginxConfig, TheLogSaysHowLongARequestWaited) {
  EXPECT_THAT(written(options()), HasSubstr("delay $weir_delay "));
}

TEST(NginxConfig, NoValueLeavesItsQuotes) {
  for (const char* name : {"/a\"; return 200; \"", "/a;b", "/a\nb", "/a\rb", "/$request_uri",
                           "/a\\", "/a'", "/{", "/}", "/#", "/a\tb", "/\x7f"}) {
    for (auto GatewayOptions::*const field :
         {&GatewayOptions::config_file, &GatewayOptions::access_log, &GatewayOptions::module_file,
          &GatewayOptions::folder, &GatewayOptions::certificate, &GatewayOptions::key,
          &GatewayOptions::user}) {
      auto bad = options();
      bad.http_tls = "[::1]:1";
      bad.certificate = "/c";
      bad.key = "/k";
      bad.*field = name;
      EXPECT_THAT(refusal(bad), HasSubstr("choose another name")) << name;
    }
    auto bad = options();
    bad.http = std::string("unix:") + name;
    EXPECT_THAT(refusal(bad), StartsWith("--http: ")) << name;
    bad = options();
    bad.trusted_proxies = {name};
    EXPECT_NE(refusal(bad), "") << name;
    bad = options();
    bad.origin = std::string("http://a") + name;
    EXPECT_THAT(refusal(bad), StartsWith("--origin: ")) << name;
    bad.origin = std::string("https://a") + (name + 1);
    EXPECT_THAT(refusal(bad), StartsWith("--origin: ")) << name;
  }
}

TEST(NginxConfig, AValueIsNotReadAsAPlace) {
  auto odd = options();
  odd.config_file = "/@--module@";
  EXPECT_THAT(written(odd), HasSubstr("weir_config \"/@--module@\";\n"));
}

TEST(NginxConfig, AnOriginUnderTlsIsAskedUnderTlsHoweverItIsSpelled) {
  auto tls = options();
  tls.origin = "HTTPS://a";
  EXPECT_THAT(written(tls), HasSubstr("proxy_pass https://origin;\n"));
}

TEST(NginxConfig, RefusesWhatIsNoOrigin) {
  for (const char* origin : {"", "127.0.0.1:9000", "ftp://a", "http://", "http://user@a",
                             "http://a/path", "http://a:0", "http://a b", "http://a?b"}) {
    auto bad = options();
    bad.origin = origin;
    EXPECT_THAT(refusal(bad), HasSubstr("http://HOST[:PORT]")) << origin;
  }
}

TEST(NginxConfig, RefusesAddressesThatNginxCannotListenOn) {
  auto bad = options();
  bad.http = "localhost";
  EXPECT_THAT(refusal(bad), StartsWith("--http: "));
  bad.http = "127.0.0.1:0";
  EXPECT_THAT(refusal(bad), HasSubstr("no free port"));
  bad.http = "";
  EXPECT_THAT(refusal(bad), HasSubstr("nowhere to listen"));
  bad.http_tls = "127.0.0.1:1";
  EXPECT_THAT(refusal(bad), HasSubstr("--tls-certificate and --tls-key"));
}

TEST(NginxConfig, NamesFilesByWholePaths) {
  auto bad = options();
  bad.config_file = "rules.yaml";
  EXPECT_THAT(refusal(bad), StartsWith("--config: name the file by its whole path"));
}

}  // namespace
}  // namespace weir
