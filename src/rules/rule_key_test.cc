#include "rules/rule_key.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "rules/key_choices.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

using enum KeyPart::Property;
using Texts = std::vector<std::string>;
using Headers = std::vector<NameValue>;

const KeyPart kUser{.property = kClaim, .name = "sub"};
const KeyPart kApiKey{.property = kHeader, .name = "X-Api-Key"};
const KeyPart kOfPath{.property = kPath};
const KeyPart kAddress{};

Rule rule_by(std::vector<KeyPart> parts, MissingPart missing = MissingPart::kClient) {
  return {.id = "r", .match = RequestMatch(), .key_parts = std::move(parts), .missing = missing};
}

Rule first_of(std::vector<KeyPart> parts) {
  Rule rule = rule_by(std::move(parts));
  rule.key_form = Rule::KeyForm::kFirst;
  return rule;
}

std::string key(const Rule& rule, const Headers& headers, const char* client = "192.0.2.7",
                const Headers& claims = {}) {
  std::string scratch = "left over";
  const Request request{
      .path = "/p", .headers = headers, .client = IpAddress::parse(client), .claims = claims};
  return std::string(key_of(rule, request, scratch));
}

// Regression: clients without a header shared one counter, so eight forged tokens denied all.
TEST(RuleKey, CountsWhoLacksItByTheClient) {
  const Rule rule = rule_by({kApiKey});
  EXPECT_EQ(key(rule, {{"X-Api-Key", "k1"}}), "k1");
  EXPECT_EQ(key(rule, {}), "client 192.0.2.7");
  EXPECT_EQ(key(rule, {{"X-Api-Key", ""}}), "client 192.0.2.7");
  EXPECT_EQ(key(rule, {}, "2001:db8:1:2:3::4"), "client 2001:db8:1:2::/64");
  EXPECT_EQ(key(rule, {}, ""), "") << "nobody knows who it is";
  EXPECT_EQ(key(rule_by({kUser, kOfPath}), {}), "16:client 192.0.2.72:/p");
  EXPECT_EQ(key(rule_by({kUser, kApiKey}), {{"X-Api-Key", "k1"}}), "16:client 192.0.2.72:k1");
  EXPECT_EQ(key(rule_by({kApiKey}, MissingPart::kShared), {}), "");
}

TEST(RuleKey, NoValueIsTheNameOfAClient) {
  const Rule rule = rule_by({kApiKey});
  EXPECT_EQ(key(rule, {{"X-Api-Key", "client 192.0.2.7"}}), "client =client 192.0.2.7");
  EXPECT_EQ(key(rule, {{"X-Api-Key", "client =client 1"}}), "client =client =client 1");
  EXPECT_EQ(key(rule, {{"X-Api-Key", "clients"}}), "clients");
  EXPECT_EQ(key(rule_by({kUser}), {}, "192.0.2.7", {{"sub", "client 192.0.2.7"}}),
            "client =client 192.0.2.7");
}

TEST(RuleKey, CountsWhoRepeatsItByTheClient) {
  const Rule rule = rule_by({kApiKey});
  EXPECT_EQ(key(rule, {{"X-Api-Key", "a"}, {"X-Api-Key", "b"}}), "client 192.0.2.7");
  EXPECT_EQ(key(rule, {{"X-Api-Key", "a, a"}}), "a");
}

TEST(RuleKey, TakesTheFirstPartThatIsThere) {
  const Rule rule = first_of({kUser, kApiKey, kAddress});
  EXPECT_EQ(key(rule, {{"X-Api-Key", "k1"}}, "192.0.2.7", {{"sub", "alice"}}), "jwt:sub alice");
  EXPECT_EQ(key(rule, {{"X-Api-Key", "alice"}}), "header:X-Api-Key alice");
  EXPECT_EQ(key(rule, {}), "client 192.0.2.7");
  EXPECT_EQ(key(rule, {{"X-Api-Key", "a, b"}}), "client 192.0.2.7");
  EXPECT_EQ(key(rule, {}, ""), "");
  const Rule networks = first_of({kApiKey, {.v4_bits = 24}});
  EXPECT_EQ(key(networks, {}), "client 192.0.2.0/24");
}

TEST(RuleKey, HasItsChoicesWhereThePartsAreRepeated) {
  const Headers headers = {{"X-Api-Key", "a, client b"}, {"X-App", "web"}};
  const Request request{.headers = headers, .client = IpAddress::parse("192.0.2.7")};
  const auto keys = [&](const Rule& rule) { return key_choices(rule, request)->keys; };
  EXPECT_EQ(keys(rule_by({kApiKey})), (Texts{"a", "client =client b", "client 192.0.2.7"}));
  const KeyPart app{.property = kHeader, .name = "X-App"};
  EXPECT_EQ(keys(first_of({kUser, kApiKey, app, kAddress})),
            (Texts{"", "header:X-Api-Key a", "header:X-Api-Key client b", "header:X-App web"}));
  EXPECT_EQ(keys(rule_by({app})), (Texts{"web"}));
}

TEST(RuleKey, MayBeWhatARuleWantsOrSkipsARequestFor) {
  const Headers there = {{"X-Api-Key", "k"}};
  const Headers repeated = {{"X-Api-Key", "a, b"}};
  const Rule denies = rule_by({kApiKey, kOfPath}, MissingPart::kDeny);
  EXPECT_FALSE(refuses(denies, {.path = "/", .headers = there}));
  EXPECT_TRUE(refuses(denies, {.path = "/"}));
  EXPECT_TRUE(refuses(denies, {.path = "/", .headers = repeated}));
  EXPECT_FALSE(refuses(rule_by({kApiKey}), {}));
  const Rule leaves = rule_by({kApiKey}, MissingPart::kSkip);
  EXPECT_TRUE(skips(leaves, {}));
  EXPECT_FALSE(skips(leaves, {.headers = there}));
  EXPECT_FALSE(skips(leaves, {.headers = repeated})) << "the origin may take a value";
  EXPECT_FALSE(skips(denies, {}));
}

TEST(RuleKey, OfAuthorizationIsWhatStandsBehindTheScheme) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"Bearer k1", "k1"},
      {"bearer k1", "k1"},
      {"BEARER \t  k1", "k1"},
      {"Bearer\tk1", "k1"},
      {"Basic k1=", "k1="},
      {"Bearer k1 k2", "k1"},
      {"Bearer k1, k2", "k1, k2"},
      {"Bearer k1\tk2", "k1"},
      {"k1", "k1"},
      {"Digest a=\"b c\", d=e", "a=\"b c\", d=e"},
      {"Bearer", "Bearer"},
      {"Bearer ", "Bearer "},
      {"", "client 192.0.2.7"},
      {"x client 9", "client"}};
  for (const char* const name : {"Authorization", "proxy-authorization"}) {
    const KeyPart part{.property = kHeader, .name = name};
    for (const auto& [value, counted] : kCases) {
      EXPECT_EQ(key(rule_by({part}), {{name, value}}), counted) << value;
    }
    EXPECT_EQ(key(rule_by({part, kOfPath}), {{name, "Bearer k1"}}), "2:k12:/p");
    EXPECT_EQ(key(first_of({part, kAddress}), {{name, "bearer  k1"}}),
              std::string("header:") + name + " k1");
  }
  EXPECT_EQ(key(rule_by({kApiKey}), {{"X-Api-Key", "Bearer k1"}}), "Bearer k1");

  const Rule rule = rule_by({{.property = kHeader, .name = "Authorization"}});
  const Headers lines = {{"Authorization", "Bearer k1"}, {"authorization", "bearer k2"}};
  EXPECT_EQ(key_choices(rule, {.headers = lines})->keys, (Texts{"k1", "k2", ""}));
}

TEST(RuleKey, OfACookieOrOfAuthorizationIsASecret) {
  using enum KeyPart::Property;
  for (const char* const name :
       {"Authorization", "AUTHORIZATION", "Proxy-Authorization", "cookie"}) {
    EXPECT_TRUE(has_secret_key(rule_by({kOfPath, {.property = kHeader, .name = name}}))) << name;
  }
  EXPECT_TRUE(has_secret_key(rule_by({{.property = kCookie, .name = "sid"}})));
  EXPECT_FALSE(has_secret_key(rule_by({kApiKey, kAddress, kUser})));
  EXPECT_FALSE(has_secret_key(rule_by({{.property = kQuery, .name = "authorization"}})));
  EXPECT_FALSE(has_secret_key(Rule()));
}

// One rule counts users; the next one counts all others.
TEST(RuleKey, ThatIsSkippedLeavesTheRequestToTheNextRule) {
  std::vector<Rule> rules = {rule_by({kApiKey}, MissingPart::kSkip), rule_by({kAddress})};
  rules[1].id = "visitors";
  const RuleSet set(std::move(rules));
  const auto applies = [&](const Headers& headers) {
    MatchScratch scratch;
    Request request{.path = "/", .headers = headers};
    const auto matched = set.match(request, scratch, Instant());
    return matched.size() == 1 ? matched.front()->id : "";
  };
  EXPECT_EQ(applies({{"X-Api-Key", "k1"}}), "r");
  EXPECT_EQ(applies({}), "visitors");
}

}  // namespace
}  // namespace weir
