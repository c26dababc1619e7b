#include "rulebook/rulebook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "config/config.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using enum RuleChange::Kind;
using enum ChangeOutcome;

constexpr Instant kNow = instant_from_epoch_us(0);
constexpr auto kFile = R"(# Ours.
rules:
  - id: login
    limit: 5
    window: 1m
  - id: search
    limit: 10
    window: 1m
)";

Rule envoy_rule() {
  return {.id = "envoy:edge", .quota = *Quota::make({.limit = 1, .window = std::chrono::hours(1)})};
}

std::vector<std::string> said(const RuleVerdict& verdict) {
  auto lines = std::vector<std::string>();
  for (const auto& finding : verdict.findings) {
    lines.push_back(std::to_string(finding.line) + ":" + std::to_string(finding.column) + ": " +
                    finding.text);
  }
  return lines;
}

class RulebookTest : public testing::Test {
 protected:
  RulebookTest() { load(kFile); }
  ~RulebookTest() override { std::filesystem::remove(path_); }

  // As a reload does it.
  Rulebook::Loaded load(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    auto config = *parse_config(text, "weir.yaml");
    config.rules.push_back(envoy_rule());
    return book_.load(std::move(config), kNow);
  }

  RuleReply change(RuleChange change) { return book_.change(change, kNow); }
  RuleReply put(const std::string& id, const std::string& text) {
    return change({.kind = kPut, .id = id, .text = text});
  }
  RuleReply patch(const std::string& id, const std::string& fields) {
    return change({.kind = kPatch, .id = id, .text = fields});
  }
  std::string json_of(const std::string& id) const {
    const auto view = book_.view();
    const auto found = std::ranges::find(view->rules, id, &RuleView::id);
    return found == view->rules.end() ? std::string() : found->json;
  }
  std::string file() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::int64_t limit_of(const std::string& id) const {
    const auto* rule = book_.rules()->find(id);
    return rule == nullptr ? -1 : rule->quota.limit();
  }
  std::vector<std::pair<std::string, RuleOrigin>> origins() const {
    std::vector<std::pair<std::string, RuleOrigin>> all;
    const auto view = book_.view();
    for (const auto& rule : view->rules) all.emplace_back(rule.id, rule.origin);
    return all;
  }
  // That nothing has happened.
  void expect_untouched() const {
    EXPECT_EQ(book_.view()->version, 1u);
    EXPECT_EQ(applied_, 1);
    EXPECT_EQ(limit_of("login"), 5);
    EXPECT_EQ(file(), kFile);
  }

  const std::string path_ = testing::TempDir() + "weir_rulebook_test.yaml";
  int applied_ = 0;
  Rulebook book_{path_,
                 [](std::vector<Rule> rules, RequestSources) {
                   return std::make_shared<const RuleSet>(std::move(rules));
                 },
                 [this] { ++applied_; }};
};

TEST_F(RulebookTest, ShowsWhereRulesAreFrom) {
  EXPECT_THAT(origins(),
              ElementsAre(Pair("login", RuleOrigin::kFile), Pair("search", RuleOrigin::kFile),
                          Pair("envoy:edge", RuleOrigin::kEnvoy)));
  put("login", R"({"id":"login","limit":6,"window":"1m"})");
  EXPECT_THAT(origins(),
              ElementsAre(Pair("login", RuleOrigin::kRequest), Pair("search", RuleOrigin::kFile),
                          Pair("envoy:edge", RuleOrigin::kEnvoy)));
}

TEST_F(RulebookTest, PutsChangesInForceOneVersionAfterTheOther) {
  EXPECT_EQ(put("login", R"({"id":"login","limit":6,"window":"1m"})").version, 2u);
  EXPECT_EQ(limit_of("login"), 6);
  const auto added = put("new", R"({"id":"new","limit":7,"window":0.25})");
  EXPECT_EQ(added.outcome, kAdded);
  EXPECT_EQ(added.version, 3u);
  EXPECT_EQ(limit_of("new"), 7);
  EXPECT_EQ(patch("search", R"({"enabled":false})").outcome, kDone);
  EXPECT_FALSE(book_.rules()->find("search")->enabled);
  EXPECT_EQ(patch("search", R"({"enabled":true})").outcome, kDone);
  EXPECT_TRUE(book_.rules()->find("search")->enabled);
  EXPECT_EQ(change({.kind = kRemove, .id = "search"}).outcome, kDone);
  EXPECT_EQ(limit_of("search"), -1);
  EXPECT_THAT(book_.view()->removed, ElementsAre("search"));
  EXPECT_EQ(limit_of("envoy:edge"), 1);
  EXPECT_EQ(applied_, 6);
  EXPECT_EQ(file(), kFile);
}

TEST_F(RulebookTest, RefusesWhatIsNoRule) {
  const auto mistake = put("login", R"({"id":"login","limit":-1,"window":"1m"})");
  EXPECT_EQ(mistake.outcome, kMalformed);
  EXPECT_THAT(mistake.detail, HasSubstr("rule:1:"));
  EXPECT_THAT(mistake.detail, HasSubstr("'limit' must be from 0 to"));
  for (const char* text : {"", "[]", "{", R"({"id":"other","limit":1,"window":"1m"})",
                           "{\"id\":\"login\",\"limit\":1,\"window\":\"1m\"}\nthreads: 1"}) {
    EXPECT_EQ(put("login", text).outcome, kMalformed) << text;
  }
  expect_untouched();
}

TEST_F(RulebookTest, RefusesWhatDoesNotGoWithTheRest) {
  EXPECT_EQ(change({.kind = kRemove, .id = "none"}).outcome, kUnknown);
  EXPECT_EQ(change({.kind = kRemove, .id = "envoy:edge"}).outcome, kConflict);
  EXPECT_EQ(change({.kind = kRemove, .id = "login", .if_version = 7}).outcome, kOutdated);
  expect_untouched();
}

TEST_F(RulebookTest, OverwritesNothingThatIsToBeNew) {
  const auto put_new = [&](const std::string& id) {
    return change({.kind = kPut,
                   .id = id,
                   .text = R"({"id":")" + id + R"(","limit":7,"window":"1m"})",
                   .if_new = true});
  };
  EXPECT_EQ(put_new("login").outcome, kOutdated);
  EXPECT_EQ(put_new("envoy:edge").outcome, kOutdated);
  EXPECT_EQ(
      change({.kind = kPatch, .id = "login", .text = R"({"limit":7})", .if_new = true}).outcome,
      kOutdated);
  EXPECT_EQ(change({.kind = kRemove, .id = "login", .if_new = true}).outcome, kOutdated);
  EXPECT_EQ(change({.kind = kGoBack, .back_to = 1, .if_new = true}).outcome, kOutdated);
  expect_untouched();
  EXPECT_EQ(put_new("new").outcome, kAdded);
  EXPECT_EQ(put_new("new").outcome, kOutdated);
}

TEST_F(RulebookTest, WritesToTheFileWhenAskedTo) {
  const auto reply = change({.kind = kPut,
                             .id = "login",
                             .text = R"({"id":"login","limit":6,"window":"1m"})",
                             .keep = RuleChange::Keep::kInFile});
  EXPECT_EQ(reply.outcome, kDone) << reply.detail;
  EXPECT_THAT(file(), HasSubstr("# Ours.\n"));
  EXPECT_THAT(file(), HasSubstr("limit: 6\n"));
  EXPECT_FALSE(book_.file_has_changed());
  EXPECT_THAT(load(file()).lost, IsEmpty());
}

TEST_F(RulebookTest, DoesNotWriteOverWhatSomebodyElseHasWritten) {
  const auto theirs = std::string(kFile) + "# Theirs.\n";
  std::ofstream(path_, std::ios::binary) << theirs;
  EXPECT_TRUE(book_.file_has_changed());
  const auto reply = change({.kind = kRemove, .id = "login", .keep = RuleChange::Keep::kInFile});
  EXPECT_EQ(reply.outcome, kConflict);
  EXPECT_THAT(reply.detail, HasSubstr("has changed since it was read"));
  EXPECT_EQ(file(), theirs);
  EXPECT_EQ(limit_of("login"), 5);
}

TEST_F(RulebookTest, ALoadSaysWhatChangedAndWhatIsGone) {
  put("login", R"({"id":"login","limit":6,"window":"1m"})");
  change({.kind = kRemove, .id = "search"});
  const auto loaded = load(kFile);
  EXPECT_THAT(loaded.lost, UnorderedElementsAre("login", "search"));
  EXPECT_THAT(loaded.changes,
              ElementsAre("changed login: sliding_window 6 per 1m, now sliding_window 5 per 1m",
                          "added search: sliding_window 10 per 1m"));
  EXPECT_THAT(load(kFile).changes, IsEmpty());
  EXPECT_THAT(load("rules: []").changes, ElementsAre("removed login", "removed search"));
}

TEST_F(RulebookTest, RemembersWhatChangedWhenAndByWhom) {
  const auto later = kNow + std::chrono::hours(1);
  book_.change({.kind = kRemove, .id = "search"}, later);
  put("login", R"({"id":"login","limit":6,"window":"1m","x":1})");  // refused
  load(kFile);
  const auto history = book_.history();
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0]->version, 1u);
  EXPECT_THAT(history[0]->changes, IsEmpty());
  EXPECT_EQ(history[1]->version, 2u);
  EXPECT_EQ(history[1]->when, later);
  EXPECT_EQ(history[1]->origin, RuleOrigin::kRequest);
  EXPECT_THAT(history[1]->changes, ElementsAre("removed search"));
  EXPECT_THAT(history[1]->rules, ElementsAre(testing::Field(&RuleSource::id, "login")));
  EXPECT_EQ(history[2]->origin, RuleOrigin::kFile);
  EXPECT_THAT(history[2]->changes, ElementsAre(HasSubstr("added search")));
}

TEST_F(RulebookTest, ALoadThatChangesNothingIsNoVersion) {
  load(kFile);
  EXPECT_EQ(book_.view()->version, 1u);
  EXPECT_EQ(book_.history().size(), 1u);
}

// Its reply named a version that was not in the history, and nobody could go back to.
TEST_F(RulebookTest, AChangeByRequestThatChangesNothingIsHistory) {
  EXPECT_EQ(change({.kind = kGoBack, .back_to = 1}).version, 2u);
  ASSERT_EQ(book_.history().size(), 2u);
  EXPECT_EQ(book_.history().back()->version, 2u);
  EXPECT_THAT(book_.history().back()->changes, IsEmpty());
  EXPECT_EQ(change({.kind = kGoBack, .back_to = 2}).outcome, kDone);
}

TEST_F(RulebookTest, ItsHistoryIsBounded) {
  for (std::size_t i = 0; i < Rulebook::kHistoryMax; ++i) {
    put("login", R"({"id":"login","window":"1m","limit":)" + std::to_string(10 + i) + "}");
  }
  const auto history = book_.history();
  EXPECT_EQ(history.size(), Rulebook::kHistoryMax);
  EXPECT_EQ(history.front()->version, 2u);
  EXPECT_EQ(history.back()->version, Rulebook::kHistoryMax + 1);
}

TEST_F(RulebookTest, ItsHistoryIsBoundedInBytes) {
  auto keys = std::string();
  for (int i = 0; i < 240; ++i) keys += (i > 0 ? "," : "") + std::string(1'000, 'k');
  for (int limit = 1; limit <= 4; ++limit) {
    auto text = std::string("rules:\n");
    for (int i = 0; i < 24; ++i) {
      text += "- {id: r" + std::to_string(i) + ", window: 1m, limit: " + std::to_string(limit) +
              ", deny: " + (i == 0 ? "&keys [" + keys + "]" : "*keys") + "}\n";
    }
    load(text);  // 5.8 MB, without the alias
  }
  EXPECT_EQ(book_.history().size(), 2u);
  EXPECT_EQ(book_.history().back()->version, 5u);
}

TEST_F(RulebookTest, GoesBackToAVersionOfItsHistory) {
  put("login", R"({"id":"login","limit":6,"window":"1m"})");
  change({.kind = kRemove, .id = "search"});
  const auto reply = change({.kind = kGoBack, .back_to = 1, .if_version = 3});
  EXPECT_EQ(reply.outcome, kDone) << reply.detail;
  EXPECT_EQ(reply.version, 4u);
  EXPECT_EQ(limit_of("login"), 5);
  EXPECT_EQ(limit_of("search"), 10);
  EXPECT_EQ(limit_of("envoy:edge"), 1);
  EXPECT_THAT(book_.history().back()->changes, testing::SizeIs(2));
  EXPECT_THAT(origins(),
              ElementsAre(Pair("login", RuleOrigin::kFile), Pair("search", RuleOrigin::kFile),
                          Pair("envoy:edge", RuleOrigin::kEnvoy)));
}

TEST_F(RulebookTest, GoesBackToNothingElse) {
  EXPECT_EQ(change({.kind = kGoBack, .back_to = 2}).outcome, kUnknown);
  EXPECT_EQ(change({.kind = kGoBack, .back_to = 1, .if_version = 7}).outcome, kOutdated);
  EXPECT_EQ(change({.kind = kGoBack, .back_to = 1, .keep = RuleChange::Keep::kInFile}).outcome,
            kConflict);
  expect_untouched();
}

// Envoy's file may have got a rule of this id since.
TEST_F(RulebookTest, DoesNotGoBackToAnIdThatEnvoyHasNow) {
  load("rules: [{id: 'envoy:new', limit: 1, window: 1m}]");
  auto rule = envoy_rule();
  rule.id = "envoy:new";
  book_.load({.text = "rules: []", .rules = {rule}, .sources = {}}, kNow);
  EXPECT_EQ(change({.kind = kGoBack, .back_to = 2}).outcome, kConflict);
}

// A core that let go last would have to destroy all of a set.
TEST_F(RulebookTest, ASetIsDestroyedByTheNextChangeAndNotByACore) {
  auto core = book_.rules();
  const auto first = std::weak_ptr(core);
  patch("search", R"({"enabled":false})");
  core = book_.rules();
  EXPECT_FALSE(first.expired());
  patch("search", R"({"enabled":true})");
  EXPECT_TRUE(first.expired());
}

TEST_F(RulebookTest, SwitchesShadowByItself) {
  EXPECT_EQ(patch("search", R"({"shadow":true})").outcome, kDone);
  EXPECT_TRUE(book_.rules()->find("search")->shadow);
  EXPECT_TRUE(book_.rules()->find("search")->enabled);
  EXPECT_EQ(patch("search", R"({"enabled":false,"shadow":false})").outcome, kDone);
  EXPECT_FALSE(book_.rules()->find("search")->shadow);
  EXPECT_FALSE(book_.rules()->find("search")->enabled);
}

constexpr auto kMatching =
    R"({"id":"login","limit":5,"window":"1m","match":{"path":"/login","method":"POST"}})";

// It answered 200, and the rule applied to nothing from then on.
TEST_F(RulebookTest, APutThatForgetsTheMatchOfItsRuleIsRefused) {
  ASSERT_EQ(put("login", kMatching).outcome, kDone);
  const auto reply = put("login", R"({"id":"login","limit":6,"window":"1m"})");
  EXPECT_EQ(reply.outcome, kConflict);
  EXPECT_THAT(reply.detail, HasSubstr("Rule 'login' has 'match' and the body has none"));
  EXPECT_THAT(reply.detail, HasSubstr(R"(PATCH {"match":null})"));
  EXPECT_EQ(put("login", R"({"id":"login","limit":5,"window":"1m","match":null})").outcome,
            kConflict)
      << "as serializers write a field that is not set";
  EXPECT_EQ(json_of("login"), kMatching);
  const auto verdict = book_.judge(
      {.id = "login", .text = R"({"id":"login","limit":6,"window":"1m"})"}, nullptr, kNow);
  EXPECT_FALSE(verdict.is_ok());
  EXPECT_EQ(patch("login", R"({"match":null})").outcome, kDone);
  EXPECT_EQ(json_of("login"), R"({"id":"login","limit":5,"window":"1m"})");
}

// It answered as if nothing had happened, and all clients spent from one limit.
TEST_F(RulebookTest, APutThatForgetsTheKeyOfItsRuleWarns) {
  const auto text = [](const char* fields) {
    return R"({"id":"login","window":"1m","match":{"path":"/"},)" + std::string(fields) + "}";
  };
  EXPECT_THAT(put("login", text(R"("limit":500,"key":"client")")).warnings, IsEmpty());
  EXPECT_THAT(book_.judge({.id = "login", .text = text(R"("limit":500)")}, nullptr, kNow).findings,
              ElementsAre(testing::Field(&RuleFinding::text, HasSubstr("share one counter"))));
  EXPECT_THAT(put("login", text(R"("limit":500)")).warnings,
              ElementsAre(HasSubstr("the rule had a 'key' and has none now")));
  EXPECT_THAT(put("login", text(R"("limit":500)")).warnings, IsEmpty()) << "it had none before";
  EXPECT_THAT(patch("login", R"({"key":"client"})").warnings, IsEmpty());
  EXPECT_THAT(patch("login", R"({"key":null})").warnings, IsEmpty()) << "that is on purpose";
}

TEST_F(RulebookTest, AChangeIsAnsweredWithWhatValidateWarnsOf) {
  const auto all = R"({"id":"all","limit":500,"window":"1m","match":{},"key":"client"})";
  EXPECT_THAT(put("all", all).warnings, IsEmpty());
  EXPECT_THAT(
      put("login", R"({"id":"login","limit":5,"window":"1m","match":{"path":"/a"}})").warnings,
      ElementsAre("all clients share this limit; for one each add 'key: client'"));
  EXPECT_THAT(patch("login", R"({"limit":500,"key":"header:X"})").warnings,
              ElementsAre(HasSubstr("anybody can send any header 'X'")));
  EXPECT_THAT(patch("login", R"({"enabled":false})").warnings, IsEmpty());
  EXPECT_THAT(change({.kind = kRemove, .id = "login"}).warnings, IsEmpty());
  const auto after = "id: x\nlimit: 500\nwindow: 1m\nmatch: {path: /b}\nkey: client\n";
  EXPECT_THAT(put("x", after).warnings,
              ElementsAre("the rule never applies: 'all' comes first and matches all that it "
                          "matches; put it before that one, or into another group"));
  EXPECT_THAT(said(book_.judge({.id = "x", .text = after}, nullptr, kNow)),
              ElementsAre(StartsWith("4:8: the rule never applies: 'all' comes first"),
                          StartsWith("4:8: a request for '/B' and '/b/' passes")));
}

TEST_F(RulebookTest, APatchChangesWhatItNamesAndNothingElse) {
  ASSERT_EQ(put("login", kMatching).outcome, kDone);
  EXPECT_EQ(patch("login", R"({"limit":20})").outcome, kDone);
  EXPECT_EQ(limit_of("login"), 20);
  EXPECT_EQ(patch("login", R"({"match":{"method":null,"path":["/login","/in"]}})").outcome, kDone);
  EXPECT_EQ(json_of("login"),
            R"({"id":"login","limit":20,"window":"1m","match":{"path":["/login","/in"]}})");
}

TEST_F(RulebookTest, APatchThatMakesNoRuleIsRefused) {
  EXPECT_EQ(patch("none", R"({"limit":20})").outcome, kUnknown);
  for (const char* fields : {"", "{}", "[]", "7", "{", R"({"limit":-1})", R"({"limit":null})",
                             R"({"limt":20})", R"({"enabled":1})", R"({"id":"other"})"}) {
    const auto reply = patch("login", fields);
    EXPECT_EQ(reply.outcome, kMalformed) << fields;
    EXPECT_FALSE(reply.detail.empty());
  }
  expect_untouched();
}

// It named a line and a column of the whole rule, which nobody had sent.
TEST_F(RulebookTest, AMistakeInAPatchNamesItsField) {
  const auto said = [&](const char* fields) { return patch("login", fields).detail; };
  EXPECT_THAT(said(R"({"limit":-1})"), StartsWith("'limit' must be "));
  EXPECT_THAT(said(R"({"limt":20})"), StartsWith("unknown key 'limt'; did you mean 'limit'"));
  EXPECT_THAT(said(R"({"match":{"path":["/a","b"]}})"), StartsWith("match.path[1]: "));
  EXPECT_THAT(said(R"({"on_deny":{"header":[{"name":"X"}]}})"),
              StartsWith("on_deny.header[0]: a header of 'on_deny' needs 'value'"));
  EXPECT_THAT(said(R"({"limit":null})"), StartsWith("a rule needs 'limit'"));
  EXPECT_THAT(said(R"({"limit":-1,"windw":"1m"})"), HasSubstr("\nunknown key 'windw'"));
  EXPECT_THAT(said(R"({"limit":20.0})"), HasSubstr("'20.0'; write plain decimal digits"));
  EXPECT_THAT(said(R"({"limit":99999999999999999999})"), HasSubstr("is 99999999999999999999"));
}

// The last one won, and nobody said so.
TEST_F(RulebookTest, AFieldThatComesTwiceIsRefusedByName) {
  for (const char* fields : {R"({"limit":1,"limit":2})", R"({"limit":1,"\u006cimit":2})",
                             R"({"match":{"path":"/a"},"on_deny":{"limit":1,"limit":1}})",
                             R"({"x":99999999999999999999,"a":[{"limit":1,"limit":2}]})"}) {
    const auto reply = patch("login", fields);
    EXPECT_EQ(reply.outcome, kMalformed) << fields;
    EXPECT_EQ(reply.detail, "limit: expected the field only once") << fields;
  }
  EXPECT_THAT(put("login", R"({"id":"login","limit":1,"window":"1m","limit":2})").detail,
              HasSubstr("'limit'; it is already set"));
  expect_untouched();
}

TEST_F(RulebookTest, APatchIsWrittenToTheFile) {
  const auto reply = change({.kind = kPatch,
                             .id = "login",
                             .text = R"({"limit":20})",
                             .keep = RuleChange::Keep::kInFile});
  EXPECT_EQ(reply.outcome, kDone) << reply.detail;
  EXPECT_THAT(file(), HasSubstr("# Ours."));
  EXPECT_THAT(file(), HasSubstr("limit: 20"));
}

TEST_F(RulebookTest, APatchKeepsTheSignsOfAHeader) {
  const auto* a = R"({"match":{"header":[{"name":"v","value":2.0}],"path":"/\ud83d\ude00-1.5\""}})";
  EXPECT_EQ(patch("login", a).detail, "") << "the escapes are no YAML";
  EXPECT_THAT(json_of("login"), testing::AllOf(HasSubstr(R"(:"2.0")"), HasSubstr(R"(-1.5\"")")));
}

TEST_F(RulebookTest, TakesARuleInYaml) {
  EXPECT_EQ(put("search", "# Ours, too.\nid: search\nlimit: 3\nwindow: 1m\n").outcome, kDone);
  EXPECT_EQ(limit_of("search"), 3);
}

TEST_F(RulebookTest, SaysWhatBecomesOfARule) {
  const auto version = book_.view()->version;
  for (const std::string text : {"id: login\nlimit: 7\nwindow: 1m\n",
                                 "{\n \"id\": \"login\",\n \"limit\": 7, \"window\": \"1m\"}"}) {
    const auto verdict = book_.judge({.id = "login", .text = text}, nullptr, kNow);
    EXPECT_TRUE(verdict.is_ok()) << testing::PrintToString(said(verdict));
    EXPECT_THAT(verdict.changes, ElementsAre(HasSubstr("changed login: ")));
    EXPECT_EQ(verdict.json, R"({"id":"login","limit":7,"window":"1m"})");
  }
  EXPECT_THAT(
      book_.judge({.id = "new", .text = "id: new\nlimit: 7\nwindow: 1m"}, nullptr, kNow).changes,
      ElementsAre(HasSubstr("added new: ")));
  EXPECT_THAT(book_.judge({.id = "login", .text = "id: login\nlimit: 5\nwindow: 1m"}, nullptr, kNow)
                  .changes,
              IsEmpty());
  EXPECT_EQ(book_.view()->version, version);
  EXPECT_EQ(limit_of("login"), 5);
}

TEST_F(RulebookTest, SaysWhatIsWrongWithARuleAtItsPlace) {
  struct Case {
    std::string text;
    std::string said;
  };
  for (const Case& c : {
           Case{"id: login\nlimt: 5\nlimit: 5\nwindow: 1m", "2:1: "},
           Case{"id: login\nlimit: -5\nwindow: 1m", "2:8: "},
           Case{"{\"id\": \"login\",\n\"limit\": 1, \"window\": \"1x\"}", "2:23: "},
           Case{"id: login\nlimit: [5\nwindow: 1m", "the one opened at line 2, column 8"},
           Case{"id: login\nlimit: 5\nwindow: 1m\nlimit: 6", "it is already set in line 2"},
           Case{"", "1:"},
           Case{"id: other\nlimit: 5\nwindow: 1m", "1:1: The rule's id must be"},
           Case{"- id: login", "1:1: "},
       }) {
    const auto verdict = book_.judge({.id = "login", .text = c.text}, nullptr, kNow);
    EXPECT_FALSE(verdict.is_ok()) << c.text;
    EXPECT_TRUE(verdict.json.empty());
    EXPECT_THAT(said(verdict), testing::Contains(HasSubstr(c.said))) << c.text;
  }
  EXPECT_THAT(said(book_.judge({.id = "envoy:edge", .text = "id: envoy:edge\nlimit: 1\nwindow: 1m"},
                               nullptr, kNow)),
              ElementsAre(HasSubstr("Envoy")));
}

TEST_F(RulebookTest, SaysWhatBecomesOfAFile) {
  const auto verdict = book_.judge(
      {.id = "", .text = std::string(kFile) + "  - id: third\n    limit: 1\n    window: 1m\n"},
      nullptr, kNow);
  EXPECT_TRUE(verdict.is_ok());
  EXPECT_THAT(verdict.changes, ElementsAre(HasSubstr("added third: ")));
  EXPECT_TRUE(verdict.json.empty());
  const auto wrong =
      book_.judge({.id = "", .text = "rules:\n  - id: login\n    limit: x\n"}, nullptr, kNow);
  EXPECT_FALSE(wrong.is_ok());
  EXPECT_THAT(said(wrong), testing::Contains(HasSubstr("3:12: ")));
}

}  // namespace
}  // namespace weir
