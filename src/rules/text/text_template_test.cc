#include "rules/text/text_template.h"

#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

std::string rendered(std::string_view text, Escape escape, std::string_view key = "a") {
  const std::vector<NameValue> headers = {{"X-Plan", "gold"}};
  const Request request{.method = "GET",
                        .host = "h",
                        .path = "/p",
                        .headers = headers,
                        .client = IpAddress::parse("192.0.2.1")};
  const Decision decision{.verdict = Verdict::kDenied,
                          .limit = 10,
                          .remaining = 3,
                          .retry_after = 1500ms,
                          .reset_after = 60s};
  auto parsed = TextTemplate::parse(text);
  if (!parsed) return "error: " + parsed.error().message;
  std::string out;
  parsed->append({.rule = "login", .key = key, .decision = decision, .request = request}, escape,
                 out);
  return out;
}

TEST(TextTemplate, FillsInItsPlaces) {
  EXPECT_EQ(rendered("plain", Escape::kNone), "plain");
  EXPECT_EQ(rendered("", Escape::kNone), "");
  EXPECT_EQ(rendered("{{rule}} {{key}} {{limit}} {{remaining}} {{count}}", Escape::kNone),
            "login a 10 3 7");
  EXPECT_EQ(rendered("{{retry_after}}/{{reset_after}}", Escape::kNone), "2/60");
  EXPECT_EQ(rendered("{{client}} {{method}} {{host}}{{path}} {{header:x-plan}} {{header:no}}.",
                     Escape::kNone),
            "192.0.2.1 GET h/p gold .");
  EXPECT_EQ(rendered(R"({"error":{"code":429}})", Escape::kJson), R"({"error":{"code":429}})");
}

TEST(TextTemplate, NothingInAKeyBreaksOutOfItsPlace) {
  const std::string hostile = "\"\\</script>&'\r\nX: y\x01\xC3\xA4";
  EXPECT_EQ(rendered(R"({"key":"{{key}}"})", Escape::kJson, hostile),
            R"({"key":"\"\\</script>&'\u000d\u000aX: y\u0001\u00c3\u00a4"})");
  EXPECT_EQ(rendered("<p>{{key}}</p>", Escape::kHtml, hostile),
            "<p>&quot;\\&lt;/script&gt;&amp;&#39;\r\nX: y\x01\xC3\xA4</p>");
  EXPECT_EQ(rendered("{{key}}", Escape::kHeader, hostile), "\"\\</script>&'??X: y???");
  EXPECT_EQ(rendered("{{key}}", Escape::kHeader, std::string(1'000, 'x')).size(), 256u);
}

// A template of 1 KiB has 146 places, and each byte may become six.
TEST(TextTemplate, ManyLongValuesMakeNoLongDenial) {
  std::string places;
  for (int i = 0; i < 146; ++i) places += "{{key}}";
  const std::string key(16 << 10, '\x01');
  EXPECT_LE(rendered(places, Escape::kJson, key).size(), 72u << 10);
  EXPECT_LE(rendered(places, Escape::kNone, key).size(), 72u << 10);
  EXPECT_LE(rendered(places, Escape::kHeader, key).size(), 5u << 10);
  EXPECT_EQ(rendered("{{key}}", Escape::kNone, key).size(), 1024u);
}

TEST(TextTemplate, SaysWhatIsWrong) {
  EXPECT_EQ(rendered("{{key", Escape::kNone), "error: '{{' without '}}'");
  EXPECT_TRUE(rendered("{{cookie}}", Escape::kNone).starts_with("error: '{{cookie}}' is no place"));
}

TEST(TextTemplate, EscapesByContentType) {
  EXPECT_EQ(escape_for("application/problem+JSON"), Escape::kJson);
  EXPECT_EQ(escape_for("text/html; charset=utf-8"), Escape::kHtml);
  EXPECT_EQ(escape_for("text/plain"), Escape::kNone);
}

// Regression: outside of quotes, the escape of a string let clients add members.
TEST(TextTemplate, KnowsWhereInJsonATextWouldBeMore) {
  const auto danger = [](std::string_view text) {
    return TextTemplate::parse(text)->danger_in_json();
  };
  for (const char* safe : {R"({"key":"{{key}}"})", R"({"{{key}}":1})", R"({"n":{{limit}}})",
                           R"([{{remaining}},{{count}},{{retry_after}},{{reset_after}}])",
                           R"({"a\\":"\"{{path}}"})", R"(["\\{{key}}"])", R"(["\u0041{{key}}"])",
                           R"(["{{rule}}{{key}}",""])", R"("{{limit}} of {{client}}")"}) {
    EXPECT_EQ(danger(safe), "") << safe;
  }
  for (const char* bare : {R"({"key":{{key}}})", "{{rule}}", R"({"a":"\\"{{path}}"})",
                           R"({"n":{{limit}},{{header:x}}:1})", R"(["","{{key}}",{{key}}])"}) {
    EXPECT_EQ(danger(bare), "outside of quotes") << bare;
  }
  for (const char* cut :
       {R"(["\{{key}}"])", R"(["\u{{key}}"])", R"(["\u004{{key}}"])", R"(["\\\{{limit}}"])"}) {
    EXPECT_EQ(danger(cut), "behind a backslash") << cut;
  }
}

// Regression: the client's text was escaped as HTML in these places, but run all the same.
TEST(TextTemplate, KnowsWhereInHtmlATextWouldBeCode) {
  const auto danger = [](std::string_view text) {
    return TextTemplate::parse(text)->danger_in_html();
  };
  for (const char* safe : {"{{key}}",
                           "<p class=x>{{key}}</p>",
                           "<a title=\"{{key}}\">",
                           "<a title = '{{key}}'>",
                           "a < b {{key}}",
                           "it's {{key}}",
                           "<!-- it's <script> --> {{key}}",
                           "<!doctype html><style>p{}</style>{{key}}",
                           "<script src='x'></script>{{key}}",
                           "<script>f({{limit}})</script>{{key}}",
                           "<a href='/x?k={{key}}'>",
                           "<br/>{{key}}",
                           "<p title='>'>{{key}}",
                           "<a href='{{limit}}/{{key}}'>",
                           "<scripts>{{key}}</scripts>",
                           "<!--><p>--> {{key}}",
                           "<a href=/ title='{{key}}'>",
                           "<a x=\"1\"title='{{key}}'>",
                           "<a href='https://a.example/{{key}}'>",
                           "<a href='java/{{key}}'>",
                           "1 << 2 {{key}}"}) {
    EXPECT_EQ(danger(safe), "") << safe;
  }
  for (const char* code : {"<script>{{key}}",
                           "<SCRIPT type=x>'{{key}}'",
                           "<style>{{key}}",
                           "<script><b>{{key}}",
                           "<script>if (a</b) {{key}}",
                           "</p><script\n>{{key}}",
                           "<a title={{key}}>",
                           "<a {{key}}>",
                           "<{{key}}>",
                           "<a title='x' {{key}}>",
                           "<a onclick='f(\"{{key}}\")'>",
                           "<a title='x'OnLoad=\"{{key}}\">",
                           "<p style='{{key}}'>",
                           "<iframe srcdoc='{{key}}'>",
                           "<a href='{{key}}'>",
                           "<a\nHREF = \"{{header:X-Url}}\">",
                           "<img/src='{{key}}'>",
                           "{{key}}<p>{{limit}}<script>{{limit}}{{key}}",
                           "<!x><script>{{key}}",
                           "<!x a='><script>{{key}}",
                           "<a href=/?q=\"{{key}}\">",
                           "<a x = y='{{key}}'>",
                           "<a ='{{key}}'>",
                           "<<script>{{key}}",
                           "<a href=' {{key}}'>",
                           "<a href='Java{{key}}'>",
                           "<a href='javascript:f(\"{{key}}\")'>",
                           "<a href='data:text/html,{{key}}'>",
                           "<script src='//{{host}}/x.js'>",
                           "<script src='https://{{host}}.example/x.js'>",
                           "<a href='/{{path}}'>",
                           "<!--><script>'{{key}}'",
                           "<!-- x --!><script>'{{key}}'",
                           "<script></scripts>{{key}}"}) {
    EXPECT_NE(danger(code), "") << code;
  }
  EXPECT_EQ(danger("<script>{{key}}"), "within <script>");
  EXPECT_EQ(danger("<p onclick='{{key}}'>"), "in the attribute 'onclick', which is code");
}

TEST(TextTemplate, KnowsScriptsAndWhetherItHasTexts) {
  for (const char* script : {"text/javascript", "application/x-JavaScript; charset=utf-8",
                             "text/css", "application/ecmascript"}) {
    EXPECT_TRUE(is_script(script)) << script;
  }
  EXPECT_FALSE(is_script("application/json"));
  const auto has_texts = [](std::string_view text) {
    return TextTemplate::parse(text)->has_texts();
  };
  EXPECT_FALSE(has_texts("retry({{retry_after}}, {{limit}}, {{count}})"));
  EXPECT_TRUE(has_texts("{{limit}} {{key}}"));
  EXPECT_TRUE(has_texts("{{rule}}"));
  EXPECT_TRUE(has_texts("{{header:X-Plan}}"));
}

}  // namespace
}  // namespace weir
