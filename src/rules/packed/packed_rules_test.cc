#include "rules/packed/packed_rules.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
namespace {

using std::chrono::minutes;

Quota quota(std::int64_t limit, Algorithm algorithm = Algorithm::kSlidingWindow,
            std::int64_t burst = 0) {
  return *Quota::make(
      {.algorithm = algorithm, .limit = limit, .window = minutes(1), .burst = burst});
}

TextTemplate text(std::string_view written) { return *TextTemplate::parse(written); }

PropertyMatch property(std::string name, std::string value) {
  return {.name = std::move(name), .value = TextPattern(std::move(value))};
}

Rule everything() {
  RequestMatch match{.methods = {"POST"},
                     .hosts = {TextPattern("*.a.test")},
                     .paths = {TextPattern("/login"), TextPattern("/v*")},
                     .path_case = PathCase::kInsensitive,
                     .trailing_slash = TrailingSlash::kSame,
                     .headers = {property("X-A", "5")},
                     .parameters = {property("q", "true")},
                     .cookies = {property("c", "*")},
                     .countries = {"NO"},
                     .clients = {*IpPrefix::parse("2001:db8::/32")}};
  match.all_of = {{.methods = {"all"}}};
  match.any_of = {{.methods = {"any"}}, {.none_of = {{.none_of = {{.none_of = {{}}}}}}}};
  match.none_of = {{.methods = {"none"}}};
  Rule rule{.id = "login",
            .quota = quota(5),
            .limits = {quota(5), quota(9, Algorithm::kTokenBucket, 30)},
            .cost = 2,
            .shadow = true,
            .group = "g",
            .match = match,
            .active = Schedule::make({.days = 31, .from = minutes(480), .zone = "Europe/Berlin"}),
            .key_parts = {{.property = KeyPart::Property::kClient, .v4_bits = 24, .v6_bits = 48},
                          {.property = KeyPart::Property::kHeader, .name = "X-Key"}},
            .key_form = Rule::KeyForm::kFirst,
            .missing = MissingPart::kDeny};
  rule.tier = KeyPart{.property = KeyPart::Property::kCookie, .name = "plan"};
  rule.tiers = {{"gold", {quota(50)}}, {"silver", {quota(10), quota(100)}}};
  rule.overrides = {{"5", {quota(500)}}};
  rule.allow = {.keys = {"b", "a"}, .networks = {*IpPrefix::parse("10.0.0.0/8")}};
  rule.deny.keys = {"mallory"};
  rule.denial.status = 403;
  rule.denial.content_type = "text/plain";
  rule.denial.body = text("{{key}} waits");
  rule.denial.headers = {{.name = "X-Wait", .value = text("{{retry_after}}")}};
  return rule;
}

Rule unpacked(const Rule& rule) {
  const auto rules = unpacked_rules(packed_rules({&rule, 1}));
  EXPECT_TRUE(rules && rules->size() == 1);
  return rules ? rules->front() : Rule();
}

void expect_limits(std::span<const Quota> limits, std::vector<std::int64_t> wanted) {
  std::vector<std::int64_t> found;
  for (const Quota& limit : limits) found.push_back(limit.limit());
  EXPECT_EQ(found, wanted);
}

TEST(PackedRules, HaveTheirLimitsListsAndHours) {
  const Rule rule = unpacked(everything());
  EXPECT_EQ(rule.id, "login");
  EXPECT_EQ(rule.group, "g");
  EXPECT_EQ(rule.cost, 2);
  EXPECT_TRUE(rule.shadow);
  expect_limits(rule.own_limits(), {5, 9});
  EXPECT_EQ(rule.quota.limit(), 5);
  EXPECT_EQ(rule.limits[0].algorithm(), Algorithm::kSlidingWindow);
  EXPECT_EQ(rule.limits[1].algorithm(), Algorithm::kTokenBucket);
  EXPECT_EQ(rule.limits[1].capacity(), 30);
  EXPECT_EQ(rule.limits[1].window(), minutes(1));
  EXPECT_EQ(rule.tiers.size(), 2U);
  expect_limits(rule.tiers.at("silver"), {10, 100});
  expect_limits(rule.overrides.at("5"), {500});
  EXPECT_EQ(rule.allow.keys, everything().allow.keys);
  EXPECT_EQ(rule.allow.networks, everything().allow.networks);
  EXPECT_EQ(rule.deny.keys, everything().deny.keys);
  ASSERT_TRUE(rule.active);
  EXPECT_EQ(rule.active->spec().days, 31);
  EXPECT_EQ(rule.active->spec().from, minutes(480));
  EXPECT_EQ(rule.active->spec().to, std::chrono::hours(24));
  EXPECT_EQ(rule.active->spec().zone, "Europe/Berlin");
}

TEST(PackedRules, HaveTheirKeysAndAnswers) {
  const Rule rule = unpacked(everything());
  ASSERT_EQ(rule.key_parts.size(), 2U);
  EXPECT_EQ(rule.key_parts[0].v4_bits, 24);
  EXPECT_EQ(rule.key_parts[0].v6_bits, 48);
  EXPECT_EQ(rule.key_parts[1].property, KeyPart::Property::kHeader);
  EXPECT_EQ(rule.key_parts[1].name, "X-Key");
  EXPECT_EQ(rule.key_form, Rule::KeyForm::kFirst);
  EXPECT_EQ(rule.missing, MissingPart::kDeny);
  ASSERT_TRUE(rule.tier);
  EXPECT_EQ(rule.tier->property, KeyPart::Property::kCookie);
  EXPECT_EQ(rule.tier->name, "plan");
  EXPECT_EQ(rule.denial.status, 403);
  EXPECT_EQ(rule.denial.content_type, "text/plain");
  ASSERT_TRUE(rule.denial.body);
  EXPECT_EQ(rule.denial.body->text(), "{{key}} waits");
  ASSERT_EQ(rule.denial.headers.size(), 1U);
  EXPECT_EQ(rule.denial.headers[0].name, "X-Wait");
  EXPECT_EQ(rule.denial.headers[0].value.text(), "{{retry_after}}");
}

TEST(PackedRules, MatchWhatTheyMatched) {
  const Rule rule = unpacked(everything());
  ASSERT_TRUE(rule.match);
  const RequestMatch& match = *rule.match;
  EXPECT_EQ(match.methods, std::vector<std::string>{"POST"});
  EXPECT_EQ(match.hosts[0].text, "*.a.test");
  EXPECT_TRUE(match.paths[0].is_exact);
  EXPECT_TRUE(match.paths[1].matches("/v1"));
  EXPECT_EQ(match.path_case, PathCase::kInsensitive);
  EXPECT_EQ(match.trailing_slash, TrailingSlash::kSame);
  EXPECT_EQ(match.headers[0].name, "X-A");
  EXPECT_EQ(match.headers[0].value.text, "5");
  EXPECT_EQ(match.parameters[0].value.text, "true");
  EXPECT_EQ(match.cookies[0].name, "c");
  EXPECT_EQ(match.countries, std::vector<std::string>{"NO"});
  EXPECT_EQ(match.clients, everything().match->clients);
  EXPECT_EQ(match.all_of[0].methods[0], "all");
  EXPECT_EQ(match.any_of[0].methods[0], "any");
  EXPECT_EQ(match.any_of[1].none_of[0].none_of[0].none_of.size(), 1U);
  EXPECT_EQ(match.none_of[0].methods[0], "none");
}

TEST(PackedRules, AreTheSameBytesForTheSameRules) {
  Rule one{.id = "a", .quota = quota(1)};
  Rule other = one;
  one.allow.keys = {"a", "b", "c"};
  other.allow.keys = {"c", "b", "a"};
  EXPECT_EQ(packed_rules({&one, 1}), packed_rules({&other, 1}));
  expect_limits(unpacked(one).own_limits(), {1});
}

TEST(PackedRules, AreRefusedUnlessTheyAreWhole) {
  const std::vector<Rule> rules = {everything(), everything()};
  const std::string bytes = packed_rules(rules);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(unpacked_rules(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_TRUE(unpacked_rules(bytes));
  EXPECT_FALSE(unpacked_rules(bytes + '\0'));
  EXPECT_FALSE(unpacked_rules('2' + bytes.substr(1)));
  // It claims more rules than there are bytes.
  EXPECT_FALSE(unpacked_rules("1\xff\xff\xff\xff\xff\xff\xff\xff\x3f"));
}

}  // namespace
}  // namespace weir
