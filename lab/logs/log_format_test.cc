#include "logs/log_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "logs/log_time.h"

namespace weir::lab {
namespace {

// A request as text: time in microseconds, client, method, uri, host, status, country, headers.
std::string text_of(const LoggedRequest& request) {
  std::string text = std::to_string(epoch_us(request.time));
  for (const auto part : {request.client, request.method, request.uri, request.host}) {
    text.append(" ").append(part.empty() ? "-" : part);
  }
  text += " " + std::to_string(request.status);
  if (!request.country.empty()) text.append(" ").append(request.country);
  for (const auto& [name, value] : request.headers) {
    text.append(" ").append(name).append("=").append(value);
  }
  return text;
}

std::string read(LogFormat& format, std::string_view text) {
  LogLine line;
  line.text = text;
  const auto fault = format.read(line);
  return fault.empty() ? text_of(line.request) : std::string(fault);
}

std::string detected(std::string_view text) {
  const auto format = detect_format(std::vector{text});
  if (format == nullptr) return "unknown";
  return std::string(format->name()) + ": " + read(*format, text);
}

struct Row {
  std::string_view line;
  std::string_view expected;
};

class Detected : public testing::TestWithParam<Row> {};

TEST_P(Detected, ReadsTheLine) { EXPECT_EQ(detected(GetParam().line), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    Formats, Detected,
    testing::Values(
        Row{R"(199.72.81.55 - - [01/Jul/1995:00:00:01 -0400] "GET /a/ HTTP/1.0" 200 6245)",
            "common: 804571201000000 199.72.81.55 GET /a/ - 200"},
        Row{R"(::1 - bob smith [10/Oct/2000:13:55:36 +0000] "GET /b?c=d HTTP/1.1" 404 - )"
            R"("-" "curl")",
            "combined: 971186136000000 ::1 GET /b?c=d - 404 User-Agent=curl"},
        Row{R"(a.example:443 192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" )"
            R"(200 5 "r" "u")",
            "combined with a host: 971186136000000 192.0.2.1 GET / a.example 200 Referer=r "
            "User-Agent=u"},
        Row{R"(192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET /?q="x" HTTP/1.1" 400 5 "-" )"
            R"("\"u\\")",
            R"(combined: 971186136000000 192.0.2.1 GET /?q="x" - 400 User-Agent="u\)"},
        Row{R"(192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET http://b.example/x HTTP/1.1" 200 1)",
            "common: 971186136000000 192.0.2.1 GET /x b.example 200"},
        Row{R"(10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 )"
            R"(10/0/30/69/109 200 2750 )"
            R"(- - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1")",
            "HAProxy: 1233922454655000 10.0.1.2:33317 GET /index.html - 200"},
        Row{R"(Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 )"
            R"([06/Feb/2009:12:14:14.655] )"
            R"(http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /i )"
            R"(HTTP/1.1")",
            "HAProxy by syslog: 1233922454655000 10.0.1.2:33317 GET /i - 200"},
        Row{R"(https 2018-07-02T22:23:00.186641Z app/my-lb/50dc6c495c0c9188 192.168.131.39:2817 )"
            R"(10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/a )"
            R"(HTTP/1.1" )"
            R"("curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn)",
            "AWS ALB: 1530570180186641 192.168.131.39:2817 GET /a www.example.com:443 200 "
            "User-Agent=curl/7.46.0"},
        Row{R"({"level":"info","ts":1646861401.5241024,"logger":"http.log.access","request":{)"
            R"("remote_ip":"127.0.0.1","client_ip":"192.0.2.7","method":"GET","host":"localhost",)"
            R"("uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"]}},)"
            R"("duration":0.5,"size":10900,"status":200})",
            "JSON: 1646861401024102 192.0.2.7 GET /a?b localhost 200 User-Agent=curl/7.82.0 "
            "Accept=*/*"},
        Row{R"({"ClientHost":"192.0.2.8","DownstreamStatus":404,"RequestHost":"a.example",)"
            R"("RequestMethod":"GET","RequestPath":"/x","StartUTC":"2024-05-01T12:00:00.5Z",)"
            R"("request_User-Agent":"u","time":"2024-05-01T12:00:09Z"})",
            "JSON: 1714564800500000 192.0.2.8 GET /x a.example 404 User-Agent=u"},
        Row{R"({"start_time":"2024-05-01T12:00:00.5Z","method":"POST","path":"/e","authority":"h",)"
            R"("response_code":503,"duration":12,"downstream_remote_address":"192.0.2.9:1",)"
            R"("user_agent":"u","x_forwarded_for":null})",
            "JSON: 1714564800500000 192.0.2.9:1 POST /e h 503 User-Agent=u"},
        Row{R"({"time_iso8601":"2024-05-01T12:00:00+02:00","remote_addr":"192.0.2.1",)"
            R"("status":"200",)"
            R"("request":"GET /a\u0062 HTTP/1.1","http_user_agent":"u\"v","http_host":"h"})",
            "JSON: 1714557600000000 192.0.2.1 GET /ab h 200 User-Agent=u\"v"},
        Row{R"({"timestamp":1576280412771,"action":"ALLOW","httpRequest":{"clientIp":"192.0.2.2",)"
            R"("country":"AU","headers":[{"name":"Host","value":"h"},{"name":"X","value":"y"}],)"
            R"("uri":"/p","args":"q=1","httpMethod":"GET"}})",
            "JSON: 1576280412771000 192.0.2.2 GET /p?q=1 h 0 AU X=y"},
        Row{R"({"ClientIP":"192.0.2.3","ClientRequestHost":"h","ClientRequestMethod":"GET",)"
            R"("ClientRequestURI":"/c?d","ClientCountry":"de","EdgeResponseStatus":200,)"
            R"("EdgeStartTimestamp":1714564800123456789})",
            "JSON: 1714564800123456 192.0.2.3 GET /c?d h 200 de"},
        Row{"nothing of the kind", "unknown"}, Row{"", "unknown"}, Row{"{}", "unknown"},
        Row{R"(1.2.3.4 - - [01/Foo/1995:00:00:01 -0400] "GET / HTTP/1.0" 200 1)", "unknown"}));

TEST(TextFormat, TakesNginxsLogFormat) {
  const auto format = make_text_format(
      R"($remote_addr $msec ${request_time}s "$request" $status $http_x_api_key "$host")");
  ASSERT_TRUE(format);
  EXPECT_EQ(read(**format, R"(192.0.2.1 1714564800.250 0.100s "GET /\x22 HTTP/2.0" 200 k "h")"),
            R"(1714564800150000 192.0.2.1 GET /" h 200 X-Api-Key=k)");
  EXPECT_TRUE((*format)->knows().header("x-api-key"));
  EXPECT_FALSE((*format)->knows().header("Cookie"));
  EXPECT_EQ(read(**format, "short"), "it is of another format");
}

TEST(TextFormat, RefusesWhatCannotBeReplayed) {
  EXPECT_EQ(make_text_format("$remote_addr $request").error(),
            "the log format has no $msec, $time_local or $time_iso8601");
  EXPECT_EQ(make_text_format("$msec").error(), "the log format has no $request");
  EXPECT_EQ(make_text_format("$msec$request").error(),
            "nothing separates $msec from what follows it");
  EXPECT_EQ(make_text_format("$msec $").error(), "a '$' in the log format has no name behind it");
}

TEST(LogTime, KnowsItsForms) {
  const auto us = [](std::string_view text) {
    const auto time = parse_log_time(text);
    return time ? epoch_us(time->at) : -1;
  };
  EXPECT_EQ(us("1714564800"), 1'714'564'800'000'000);
  EXPECT_EQ(us("1714564800.1234567"), 1'714'564'800'123'456);
  EXPECT_EQ(us("1714564800123"), 1'714'564'800'123'000);
  EXPECT_EQ(us("1714564800123456"), 1'714'564'800'123'456);
  EXPECT_EQ(us("1714564800123456789"), 1'714'564'800'123'456);
  EXPECT_EQ(us("2024-05-01 12:00:00"), 1'714'564'800'000'000);
  EXPECT_EQ(us("01/May/2024:12:00:00 -0230"), 1'714'573'800'000'000);
  for (const auto bad :
       {"", "-", "-5", "x", "1.2.3", "2024-13-01T00:00:00Z", "2024-02-30T00:00:00Z",
        "2024-05-01T25:00:00Z", "01/May/2024:12:00:00 0230", "01/May/20", "1e9",
        "99999999999999999999", "2024-05-01T12:00:00Zx"}) {
    EXPECT_EQ(us(bad), -1) << bad;
  }
}

TEST(LogKnows, MeetsAnother) {
  LogKnows all{.host = true, .all_headers = true};
  LogKnows some{.headers = {"User-Agent"}};
  all.meet(some);
  EXPECT_FALSE(all.host);
  EXPECT_TRUE(all.header("user-agent"));
  EXPECT_FALSE(all.header("Accept"));
}

}  // namespace
}  // namespace weir::lab
