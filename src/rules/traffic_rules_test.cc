#include "rules/traffic_rules.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rules/request/request_path.h"
#include "rules/rule_key.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

std::vector<TextPattern> patterns(std::initializer_list<const char*> texts) {
  std::vector<TextPattern> made;
  for (const char* text : texts) made.emplace_back(text);
  return made;
}

Rule rule(std::string id, RequestMatch match, std::string group = "") {
  return {.id = std::move(id), .group = std::move(group), .match = std::move(match)};
}

// The ids of the rules that apply, in order.
std::string matched(const RuleSet& rules, Request request) {
  MatchScratch scratch;
  std::string ids;
  for (const Rule* found : rules.match(request, scratch, Instant())) ids += found->id + " ";
  return ids;
}

TEST(TrafficRules, AllThatIsGivenMustHoldAndOfAListOne) {
  const RuleSet rules({rule("r", {.methods = {"GET", "POST"},
                                  .hosts = patterns({"*.example.com"}),
                                  .paths = patterns({"/login", "/api/*"}),
                                  .headers = {{"X-Plan", TextPattern("gold*")}},
                                  .clients = {*IpPrefix::parse("192.0.2.0/24")}})});
  const std::vector<NameValue> gold = {{"accept", "*/*"}, {"x-plan", "gold-2"}};
  const Request fits{.method = "POST",
                     .host = "www.example.com",
                     .path = "/api/x",
                     .headers = gold,
                     .client = IpAddress::parse("192.0.2.9")};
  EXPECT_EQ(matched(rules, fits), "r ");
  const auto without = [&](auto change) {
    Request request = fits;
    change(request);
    return matched(rules, request);
  };
  EXPECT_EQ(without([](Request& r) { r.path = "/login"; }), "r ");
  EXPECT_EQ(without([](Request& r) { r.method = "PUT"; }), "");
  EXPECT_EQ(without([](Request& r) { r.method = "post"; }), "");
  EXPECT_EQ(without([](Request& r) { r.host = "example.com"; }), "");
  EXPECT_EQ(without([](Request& r) { r.path = "/login/"; }), "");
  EXPECT_EQ(without([](Request& r) { r.headers = {}; }), "");
  EXPECT_EQ(without([](Request& r) { r.client = IpAddress::parse("198.51.100.1"); }), "");
  EXPECT_EQ(without([](Request& r) { r.client.reset(); }), "");
}

TEST(TrafficRules, OfAGroupTheFirstInTheFileApplies) {
  const RuleSet rules(
      {rule("prefix", {.paths = patterns({"/a*"})}), rule("exact", {.paths = patterns({"/a"})}),
       rule("other exact", {.paths = patterns({"/b", "/b"})}), rule("all", {}),
       rule("each", {}, "address"), rule("late", {.paths = patterns({"/a"})}, "address")});
  EXPECT_EQ(matched(rules, {.path = "/a"}), "prefix each ");
  EXPECT_EQ(matched(rules, {.path = "/b"}), "other exact each ");
  EXPECT_EQ(matched(rules, {.path = "/c"}), "all each ");
}

// "/a*" lies between "/a/b" and "/b" in the order of texts, but "/a/bc" begins with other texts,
// too. All beginnings count, however far away they are.
TEST(TrafficRules, FindsAllThatAPathBeginsWith) {
  std::vector<Rule> rules;
  for (const char* path :
       {"/a/b/c*", "/b*", "/a/bb*", "/a/b*", "/a/a*", "/a*", "*", "/*/x", "/a/b"}) {
    rules.push_back(rule(path, {.paths = patterns({path})}, path + 1));
  }
  const RuleSet set(std::move(rules));
  EXPECT_EQ(matched(set, {.path = "/a/b/cd"}), "/a/b/c* /a/b* /a* * ");
  EXPECT_EQ(matched(set, {.path = "/a/b"}), "/a/b* /a* * /a/b ");
  EXPECT_EQ(matched(set, {.path = "/a/bb/x"}), "/a/bb* /a/b* /a* * /*/x ");
  EXPECT_EQ(matched(set, {.path = "/a/c"}), "/a* * ");
  EXPECT_EQ(matched(set, {.path = "/"}), "* ");
  EXPECT_EQ(matched(set, {.path = "/bzz"}), "/b* * ");
}

RequestMatch loosely(std::initializer_list<const char*> paths, PathCase path_case,
                     TrailingSlash slash) {
  return {.paths = patterns(paths), .path_case = path_case, .trailing_slash = slash};
}

// Regression: Express answers /Login and /login/ as /login, so both evaded a rule for it.
TEST(TrafficRules, FindsPathsInAnyCaseAndWithASlash) {
  using enum PathCase;
  using enum TrailingSlash;
  const RuleSet rules(
      {rule("exact", {.paths = patterns({"/login"})}, "exact"),
       rule("case", loosely({"/login"}, kInsensitive, kDistinct), "case"),
       rule("slash", loosely({"/login"}, kSensitive, kSame), "slash"),
       rule("both", loosely({"/login", "/x/"}, kInsensitive, kSame), "both"),
       rule("begins", loosely({"/login/*"}, kInsensitive, kSame), "begins"),
       rule("middle", loosely({"/*gin/*"}, kInsensitive, kSame), "middle"),
       rule("not", {.none_of = {loosely({"/login"}, kInsensitive, kSame)}}, "not")});
  EXPECT_EQ(matched(rules, {.path = "/login"}), "exact case slash both begins middle ");
  EXPECT_EQ(matched(rules, {.path = "/LogIn"}), "case both begins middle ");
  EXPECT_EQ(matched(rules, {.path = "/login/"}), "slash both begins middle ");
  EXPECT_EQ(matched(rules, {.path = "/LOGIN/"}), "both begins middle ");
  EXPECT_EQ(matched(rules, {.path = "/LOGIN/now"}), "begins middle not ");
  EXPECT_EQ(matched(rules, {.path = "/X"}), "both not ");
  EXPECT_EQ(matched(rules, {.path = "/"}), "not ");
  EXPECT_EQ(matched(rules, {.path = "/logins"}), "not ");
  EXPECT_EQ(matched(rules, {.path = "/login//"}), "begins middle not ") << "one slash at most";
}

TEST(TrafficRules, FindsExpressionsAmongTheOthers) {
  const RuleSet rules(
      {rule("get", {.methods = {"GET"}, .path_regexes = {{"/u/[0-9]+"}}}),
       rule("prefix", {.paths = patterns({"/u/*"}), .path_regexes = {{".*7"}}}),
       rule("any", {.any_of = {{.path_regexes = {{"/u/1.*"}}}, {.methods = {"PUT"}}}}),
       rule("two", {.path_regexes = {{"/u/2"}, {"/u/[0-9]+"}}})});
  EXPECT_EQ(matched(rules, {.method = "GET", .path = "/u/17"}), "get ");
  EXPECT_EQ(matched(rules, {.method = "POST", .path = "/u/17"}), "prefix ");
  EXPECT_EQ(matched(rules, {.method = "POST", .path = "/u/1x"}), "any ");
  EXPECT_EQ(matched(rules, {.method = "PUT", .path = "/"}), "any ");
  EXPECT_EQ(matched(rules, {.method = "POST", .path = "/u/2"}), "two ");
  EXPECT_EQ(matched(rules, {.method = "POST", .path = "/u/x"}), "");
}

TEST(TrafficRules, LooksAtWhatARequestIsCompletedWith) {
  RequestMatch gold;
  gold.parameters.push_back({"plan", TextPattern("gold")});
  const RuleSet rules({rule("gold", gold), rule("abroad", {.none_of = {{.countries = {"DE"}}}})},
                      {.country_header = "CF-IPCountry"});
  const std::vector<NameValue> here = {{"cf-ipcountry", "DE"}};
  EXPECT_EQ(matched(rules, {.query = "a&plan=g%6Fld", .headers = here}), "gold ");
  EXPECT_EQ(matched(rules, {.query = "plan=free", .headers = here}), "");
  EXPECT_EQ(matched(rules, {.query = "plan=free"}), "abroad ");
}

TEST(TrafficRules, LeavesOutTheDisabledAndThoseThatAreOnlyNamed) {
  Rule off = rule("off", {});
  off.enabled = false;
  const RuleSet rules({off, {.id = "named"}, rule("on", {})});
  EXPECT_EQ(matched(rules, {.path = "/"}), "on ");
}

TEST(TrafficRules, WithoutConditionsTheFirstOfEachGroupAppliesToAll) {
  const RuleSet rules({rule("a", {}, "one"), rule("late", {}, "one"), rule("b", {}, "two")});
  EXPECT_EQ(matched(rules, {.path = "/"}), "a b ");
  EXPECT_EQ(matched(rules, {.path = "/x"}), "a b ");
}

TEST(TrafficRules, ARuleThatSkipsSomeRequestsDoesNotApplyToAll) {
  Rule skips = rule("skips", {});
  skips.key_parts = {{.property = KeyPart::Property::kHeader, .name = "X-Key"}};
  skips.missing = MissingPart::kSkip;
  const RuleSet rules({skips});
  const std::vector<NameValue> headers = {{.name = "X-Key", .value = "k"}};
  EXPECT_EQ(matched(rules, {.headers = headers}), "skips ");
  EXPECT_EQ(matched(rules, {}), "");
}

TEST(TrafficRules, ARuleOfSomeHoursDoesNotApplyToAll) {
  Rule monday = rule("monday", {});
  monday.active = Schedule::make({.days = 1});
  const RuleSet rules({monday});
  EXPECT_EQ(matched(rules, {}), "") << "1970 began on a Thursday";
}

std::string key(std::vector<KeyPart> parts, const Request& request) {
  std::string scratch = "left over";
  return std::string(key_of({.id = "r", .key_parts = std::move(parts)}, request, scratch));
}

// "/static" stands for a generous rule of the group.
TEST(TrafficRules, EachReadingOfAPathIsMatchedByItself) {
  RequestMatch elsewhere;
  elsewhere.none_of = {{.paths = patterns({"/static*"})}};
  RequestMatch login{.paths = patterns({"/login"}), .path_case = PathCase::kInsensitive};
  login.trailing_slash = TrailingSlash::kSame;
  const RuleSet rules({rule("static", {.paths = patterns({"/static"})}), rule("login", login),
                       rule("regex", {.path_regexes = {{.pattern = "/users/[^/]+"}}}),
                       rule("others", {}), rule("elsewhere", elsewhere, "b")});
  MatchScratch scratch;
  PathReadings readings;
  const auto matched = [&](std::string_view path) {
    EXPECT_TRUE(readings.read(path));
    Request request{.path = readings.all().front(), .other_paths = readings.all().subspan(1)};
    std::string ids;
    EXPECT_TRUE(rules.for_each_match(request, scratch, Instant(), [&](const Rule& found) {
      ids += std::string(request.path) + " " + found.id + ", ";
      return true;
    }));
    EXPECT_EQ(request.path, readings.all().front()) << "as it was";
    return ids;
  };
  EXPECT_EQ(matched("/Login/"), "/Login/ login, /Login/ elsewhere, ");
  EXPECT_EQ(matched("/static;x"), "/static static, /static;x others, ");
  EXPECT_EQ(matched("/static;%2f..%2flogin"),
            "/login login, /login elsewhere, /static static, /static;%2F..%2Flogin others, "
            "/static;/../login others, ");
  EXPECT_EQ(matched("/users/1%2f..%2f..%2fstatic"),
            "/static static, /users/1%2F..%2F..%2Fstatic regex, "
            "/users/1%2F..%2F..%2Fstatic elsewhere, /users/1/../../static others, "
            "/users/1/../../static elsewhere, ");
}

TEST(TrafficRules, AVisitorMayStopAmongReadings) {
  const RuleSet rules({rule("a", {.paths = patterns({"/*"})}), rule("b", {}, "b")});
  MatchScratch scratch;
  const std::string_view other = "/other";
  for (int stop = 1; stop <= 5; ++stop) {
    Request request{.path = "/first", .other_paths = {&other, 1}};
    int visits = 0;
    const auto visit = [&](const Rule&) { return ++visits < stop; };
    EXPECT_EQ(rules.for_each_match(request, scratch, Instant(), visit), stop == 5);
    EXPECT_EQ(visits, std::min(stop, 4));
    EXPECT_EQ(request.path, "/first");
  }
}

TEST(RequestKey, IsThePartItselfOrPartsWithTheirLengths) {
  using enum KeyPart::Property;
  const std::vector<NameValue> headers = {{"X-Api-Key", "k1"}};
  const Request request{.method = "GET",
                        .host = "h",
                        .path = "/p",
                        .headers = headers,
                        .client = IpAddress::parse("2001:db8:1:2:3::4")};
  EXPECT_EQ(key({}, request), "");
  EXPECT_EQ(key({{.property = kMethod}}, request), "GET");
  EXPECT_EQ(key({{.property = kClient}}, request), "2001:db8:1:2::/64");
  EXPECT_EQ(key({{.property = kClient, .v6_bits = 128}}, request), "2001:db8:1:2:3::4");
  EXPECT_EQ(key({{.property = kHeader, .name = "x-api-key"}}, request), "k1");
  EXPECT_EQ(key({{.property = kHeader, .name = "x-other"}}, request), "client 2001:db8:1:2::/64");
  const std::vector<NameValue> values = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(key({{.property = kCookie, .name = "b"}}, {.cookies = values}), "2");
  EXPECT_EQ(key({{.property = kClaim, .name = "c"}}, {.claims = values}), "");
  EXPECT_EQ(key({{.property = kClaim, .name = "a"}}, {.unverified_claims = values}), "");
  EXPECT_EQ(key({{.property = kCountry}}, {.country = "DE"}), "DE");
  EXPECT_EQ(key({{.property = kClient, .v6_bits = 32},
                 {.property = kClient, .v6_bits = 48},
                 {.property = kHost},
                 {.property = kPath}},
                request),
            "13:2001:db8::/3215:2001:db8:1::/481:h2:/p");
  EXPECT_EQ(key({{.property = kClient}}, {.client = IpAddress::parse("192.0.2.7")}), "192.0.2.7");
  EXPECT_EQ(key({{.property = kClient, .v4_bits = 24}}, {.client = IpAddress::parse("192.0.2.7")}),
            "192.0.2.0/24");
  EXPECT_EQ(key({{.property = kClient}}, {}), "");
}

// Regression: each further value of X-Key had a fresh counter.
TEST(RequestKey, TakesNoneOfSeveralValues) {
  using enum KeyPart::Property;
  const std::vector<NameValue> headers = {{"X-Key", "fresh"}, {"X-App", "web"}, {"x-key", "mine"}};
  EXPECT_EQ(key({{.property = kHeader, .name = "X-Key"}}, {.headers = headers}), "");
  EXPECT_EQ(key({{.property = kHeader, .name = "X-App"}}, {.headers = headers}), "web");
  EXPECT_EQ(key({{.property = kHeader, .name = "X-Key"}, {.property = kHeader, .name = "X-App"}},
                {.headers = headers}),
            "0:3:web");
  const std::vector<NameValue> values = {{"a", "1"}, {"b", "2"}, {"a", "3"}, {"b", "2"}};
  EXPECT_EQ(key({{.property = kQuery, .name = "a"}}, {.parameters = values}), "");
  EXPECT_EQ(key({{.property = kQuery, .name = "b"}}, {.parameters = values}), "2");
  EXPECT_EQ(key({{.property = kCookie, .name = "a"}}, {.cookies = values}), "");
  EXPECT_EQ(key({{.property = kClaim, .name = "a"}}, {.claims = values}), "1");  // it is signed
}

}  // namespace
}  // namespace weir
