#include "rules/request_facts.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rules/request/country_file_testing.h"

namespace weir {
namespace {

using enum KeyPart::Property;

// Reads the parameters a and "b c", the cookies s and t, and the country.
RequestFacts facts() {
  std::vector<Rule> rules(1);
  rules[0].match.emplace();
  rules[0].match->none_of.emplace_back().parameters.push_back({"a", TextPattern("*")});
  rules[0].match->cookies.push_back({"s", TextPattern("*")});
  rules[0].match->countries = {"FR"};
  rules[0].key_parts = {{.property = kQuery, .name = "b c"}, {.property = kCookie, .name = "t"}};
  return {rules, {.country_header = "CF-IPCountry"}};
}

std::string text_of(std::span<const NameValue> values) {
  std::string text;
  for (const NameValue& value : values) {
    text.append(value.name).append("=").append(value.value).append("|");
  }
  return text;
}

std::string parameters(std::string_view query) {
  const RequestFacts all = facts();
  FactScratch scratch;
  Request request{.query = query};
  all.complete(request, scratch, Instant());
  return text_of(request.parameters);
}

std::string cookies(const std::vector<NameValue>& headers) {
  const RequestFacts all = facts();
  FactScratch scratch;
  Request request{.headers = headers};
  all.complete(request, scratch, Instant());
  return text_of(request.cookies);
}

std::string needs_of(const Rule& rule) {
  const RequestFacts all(std::span(&rule, 1), {});
  std::string text;
  if (all.needs().target) text += "target ";
  if (all.needs().host) text += "host ";
  if (all.needs().headers) text += "headers ";
  return text;
}

std::string needs_of_match(auto member, auto condition) {
  Rule rule;
  auto& inner = rule.match.emplace().any_of.emplace_back();
  (inner.*member).push_back(condition);
  return needs_of(rule);
}

TEST(RequestFacts, NeedWhatMatchesLookAt) {
  const PropertyMatch property{"a", TextPattern("*")};
  EXPECT_EQ(needs_of_match(&RequestMatch::methods, "GET"), "");
  EXPECT_EQ(needs_of_match(&RequestMatch::clients, IpPrefix()), "");
  EXPECT_EQ(needs_of_match(&RequestMatch::hosts, TextPattern("a")), "host ");
  EXPECT_EQ(needs_of_match(&RequestMatch::paths, TextPattern("/")), "target ");
  EXPECT_EQ(needs_of_match(&RequestMatch::path_regexes, PathRegex{"/"}), "target ");
  EXPECT_EQ(needs_of_match(&RequestMatch::parameters, property), "target ");
  EXPECT_EQ(needs_of_match(&RequestMatch::headers, property), "headers ");
  EXPECT_EQ(needs_of_match(&RequestMatch::cookies, property), "headers ");
  EXPECT_EQ(needs_of_match(&RequestMatch::claims, property), "headers ");
  EXPECT_EQ(needs_of_match(&RequestMatch::unverified_claims, property), "headers ");
  EXPECT_EQ(needs_of_match(&RequestMatch::countries, "FR"), "headers ");
}

TEST(RequestFacts, NeedWhatKeysAndTextsAreMadeOf) {
  const auto needs_of_key = [](KeyPart::Property property) {
    Rule rule;
    rule.key_parts = {{.property = property}};
    return needs_of(rule);
  };
  EXPECT_EQ(needs_of_key(kClient), "");
  EXPECT_EQ(needs_of_key(kMethod), "");
  EXPECT_EQ(needs_of_key(kHost), "host ");
  EXPECT_EQ(needs_of_key(kPath), "target ");
  EXPECT_EQ(needs_of_key(kQuery), "target ");
  EXPECT_EQ(needs_of_key(kHeader), "headers ");
  EXPECT_EQ(needs_of_key(kCookie), "headers ");
  EXPECT_EQ(needs_of_key(kClaim), "headers ");
  EXPECT_EQ(needs_of_key(kCountry), "headers ");
  Rule rule;
  rule.denial.body = *TextTemplate::parse("{{host}}");
  EXPECT_EQ(needs_of(rule), "host ");
}

TEST(RequestFacts, DecodesTheParametersThatRulesLookAt) {
  EXPECT_EQ(parameters(""), "");
  EXPECT_EQ(parameters("a=1&x=2&b%20c=3"), "a=1|b c=3|");
  EXPECT_EQ(parameters("%61=%41%2f+%2B&b+c"), "a=A/ +|b c=|");
  EXPECT_EQ(parameters("A=1&aa=1&&=&a"), "a=|");
  EXPECT_EQ(parameters("a=b=c"), "a=b=c|");
  EXPECT_EQ(parameters("a=%&b%20c=%4&a=%zz"), "a=%|b c=%4|a=%zz|");
  EXPECT_EQ(parameters("x=1;a=2;b+c=3&a=4;&;a=5%3B"), "a=2|b c=3|a=4;|a=4|a=5;|");
}

TEST(RequestFacts, KeepsTheFirstValuesOfANameAndTheLast) {
  EXPECT_EQ(parameters("a=1&a=2&b+c=x&a=3&a=4"), "a=1|a=2|b c=x|a=3|a=4|");
  std::string query = "b+c=x";
  for (int i = 0; i < 1000; ++i) query += "&a=" + std::to_string(i);
  const std::string kept = parameters(query + "&b+c=y");
  EXPECT_TRUE(kept.starts_with("b c=x|a=0|a=1|a=2|")) << kept;
  EXPECT_TRUE(kept.ends_with("|a=14|a=999|b c=y|")) << kept;
}

TEST(RequestFacts, FindsTheTokenBehindItsScheme) {
  std::vector<Rule> rules(1);
  rules[0].match.emplace().unverified_claims.push_back({"plan", TextPattern("*")});
  const RequestFacts all(rules, {});
  const std::string token = "e30.eyJwbGFuIjoiZ29sZCIsImlkIjo0Miwicm9sZXMiOlsiYSIsImIiXX0.";
  for (const std::string before :
       {"", "Bearer ", "bearer ", "BEARER   ", "Bearer \t", "Bearer\t"}) {
    const std::string value = before + token;
    const std::vector<NameValue> headers = {{"authorization", value}};
    FactScratch scratch;
    Request request{.headers = headers};
    all.complete(request, scratch, Instant());
    EXPECT_EQ(text_of(request.unverified_claims), "plan=gold|") << before;
  }
}

TEST(RequestFacts, KnowsHeadersThatMustNotBeRepeated) {
  std::vector<Rule> rules(1);
  rules[0].key_parts = {{.property = kCountry}};
  const std::vector<NameValue> twice = {
      {"X-Token", "a"}, {"CF-IPCountry", "DE"}, {"cf-ipcountry", "DE"}, {"x-token", "a"}};
  const RequestSources sources{.country_header = "CF-IPCountry", .token_header = "X-Token"};
  EXPECT_EQ(RequestFacts(rules, sources).repeated_header({.headers = twice}), "CF-IPCountry");
  EXPECT_EQ(RequestFacts(rules, {}).repeated_header({.headers = twice}), "");
  rules[0].key_parts = {{.property = kClaim, .name = "sub"}};
  EXPECT_EQ(RequestFacts(rules, sources).repeated_header({.headers = twice}), "X-Token");
  const std::span once = std::span(twice).first(2);
  EXPECT_EQ(RequestFacts(rules, sources).repeated_header({.headers = once}), "");
}

TEST(RequestFacts, FindsTheCookiesThatRulesLookAt) {
  EXPECT_EQ(cookies({}), "");
  EXPECT_EQ(cookies({{"cookie", "s=1; other=2; t=3"}}), "s=1|t=3|");
  EXPECT_EQ(cookies({{"Cookie", "s=1"}, {"Host", "s=9"}, {"COOKIE", "t=2;s=3"}}), "s=1|t=2|s=3|");
  EXPECT_EQ(cookies({{"Cookie", " s = \"a b\" ;t;; =;S=2;t=a=b"}}), "s=a b|t=a=b|");
}

TEST(RequestFacts, FindsCookiesThatSomeServersEndAtBlanksOrCommas) {
  EXPECT_EQ(cookies({{"Cookie", "s=1 t=2;s=3,x=4"}}), "s=1 t=2|s=1|t=2|s=3,x=4|s=3|");
  EXPECT_EQ(cookies({{"Cookie", "x=1,\ts = \"k 1\" ; t=\"1 s=2\""}}), "s=k 1|t=1 s=2|");
}

// Regression: each spelling was a key of its own, but to the origin they are one.
TEST(RequestFacts, ReadOneValueInAllSpellingsOfACookie) {
  for (const std::string spelling :
       {"k1", "%6b1", "%6B%31", "\"k1\"", "\"%6b1\"", "\"k1x", R"("\153\061")", R"("\k1")",
        " \"k1\"\t", "%20k1%09", R"("\0456b1")"}) {
    const std::string header = "t=1; s=" + spelling + "; x=2";
    EXPECT_EQ(cookies({{"Cookie", header}}), "t=1|s=k1|") << spelling;
  }
  EXPECT_EQ(cookies({{"Cookie", "s=%256b+%;t=%22a%22"}}), "s=%6b+%|t=\"a\"|");
  EXPECT_EQ(cookies({{"Cookie", "s=\";t=\"\""}}), "s=\"|t=|");
  EXPECT_EQ(cookies({{"Cookie", R"(s="a\";t="\477\18")"}}), R"(s=a\|t=47718|)");
}

TEST(RequestFacts, TakesTheCountryFromItsHeader) {
  const RequestFacts all = facts();
  FactScratch scratch;
  const std::vector<NameValue> headers = {{"cf-ipcountry", "DE"}};
  Request request{.headers = headers};
  all.complete(request, scratch, Instant());
  EXPECT_EQ(request.country, "DE");
  request.headers = {};
  all.complete(request, scratch, Instant());
  EXPECT_EQ(request.country, "");
}

CountryDatabase::Ptr japanese_database() {
  constexpr CountryNetwork kNetworks[] = {{"2001:db8::", 32, "JP"}};
  const auto path = std::filesystem::path(testing::TempDir()) / "weir_request_facts_test.mmdb";
  std::ofstream(path, std::ios::binary) << country_file(kNetworks);
  const auto opened = CountryDatabase::open(path.string());
  std::filesystem::remove(path);
  return *opened;
}

TEST(RequestFacts, AskTheDatabaseWhereNoHeaderSaysTheCountry) {
  std::vector<Rule> rules(1);
  rules[0].key_parts = {{.property = kCountry}};
  const RequestFacts all(
      rules, {.country_header = "CF-IPCountry", .country_database = japanese_database()});
  const auto country = [&](Request request) {
    FactScratch scratch;
    all.complete(request, scratch, Instant());
    return std::string(request.country);
  };
  const std::vector<NameValue> headers = {{"CF-IPCountry", "DE"}};
  const auto client = IpAddress::parse("2001:db8::7");
  EXPECT_EQ(country({.headers = headers, .client = client}), "DE");
  EXPECT_EQ(country({.client = client}), "JP");
  EXPECT_EQ(country({.client = IpAddress::parse("192.0.2.1")}), "");
  EXPECT_EQ(country({}), "");
}

TEST(RequestFacts, AddNothingThatNoRuleLooksAt) {
  const std::vector<Rule> rules(1);
  const RequestFacts none(
      rules, {.country_header = "CF-IPCountry", .country_database = japanese_database()});
  FactScratch scratch;
  const std::vector<NameValue> headers = {{"Cookie", "s=1"}, {"CF-IPCountry", "DE"}};
  Request request{.query = "a=1", .headers = headers};
  none.complete(request, scratch, Instant());
  EXPECT_TRUE(request.parameters.empty());
  EXPECT_TRUE(request.cookies.empty());
  EXPECT_EQ(request.country, "");
}

}  // namespace
}  // namespace weir
