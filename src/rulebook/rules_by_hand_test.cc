#include "rulebook/rules_by_hand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <utility>

#include "config/config.h"
#include "rulebook/rulebook.h"

namespace weir {
namespace {

const std::vector<RuleSource> kFile = {{.id = "login", .json = R"({"id":"login","limit":5})"},
                                       {.id = "search", .json = R"({"id":"search","limit":9})"}};
const std::vector<RuleSource> kChanged = {{.id = "login", .json = R"({"id":"login","limit":7})"},
                                          {.id = "search", .json = R"({"id":"search","limit":9})"},
                                          {.id = "new", .json = R"({"id":"new","limit":1})"}};

TEST(RulesByHand, TravelWithoutTheTextsOfTheFile) {
  const RuleAuthor carol{.who = "192.0.2.1", .by = "carol", .why = "bots"};
  ChangesByHand changes{.files = RuleFiles::of(kFile), .author = carol};
  const auto read = rules_by_hand_in(to_bytes(changes, kFile, kChanged));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->changes.author, carol);
  EXPECT_EQ(read->changes.files.hashes, changes.files.hashes);
  EXPECT_EQ(read->changes.files.alike, changes.files.alike);
  EXPECT_EQ(read->all, hash_of(kChanged));
  auto expected = kChanged;
  expected[1].json.clear();
  EXPECT_EQ(read->rules, expected);
  const auto removed = rules_by_hand_in(to_bytes(changes, kFile, {}));
  EXPECT_TRUE(removed->rules.empty());
  EXPECT_EQ(removed->changes.files.alike, changes.files.alike);
  changes.author.by = std::string(65, 'x');
  EXPECT_FALSE(rules_by_hand_in(to_bytes(changes, kFile, kChanged)));
}

TEST(RulesByHand, AFileIsItsRulesInTheirOrder) {
  const std::vector<RuleSource> turned = {kFile[1], kFile[0]};
  EXPECT_NE(hash_of(kFile), hash_of(turned));
  EXPECT_NE(hash_of(kFile), hash_of(kChanged));
  EXPECT_EQ(hash_of(kFile), hash_of(std::vector(kFile)));
}

TEST(RulesByHand, RefusesWhatIsCutOffOrHasMore) {
  const std::string bytes = to_bytes({.files = RuleFiles::of(kFile)}, kFile, kChanged);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(rules_by_hand_in(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(rules_by_hand_in(bytes + '\0'));
  EXPECT_FALSE(rules_by_hand_in("1" + bytes.substr(1)));
}

constexpr Instant kNow = instant_from_epoch_us(0);
constexpr const char* kText = R"({"rules": [{"id":"login","limit":5,"window":"1m"},
                                           {"id":"search","limit":9,"window":"1m"}]})";

// One node.
class Node {
 public:
  explicit Node(const std::string& text = kText) { book.load(*parse_config(text, "a"), kNow); }

  // Makes the change, and returns the rules as others hear of them.
  std::string put(const std::string& json, const std::string& by = "carol",
                  const std::string& id = "login") {
    std::string by_hand;
    const auto reply = book.change(
        {.id = id, .text = json, .author = {.who = "192.0.2.1", .by = by, .why = "bots"}},
        [&](std::string bytes) { by_hand = std::move(bytes); }, kNow);
    EXPECT_EQ(reply.outcome, ChangeOutcome::kDone) << reply.detail;
    return by_hand;
  }
  // Empty: it runs them.
  std::string follow(std::string_view by_hand, RuleAuthors authors = RuleAuthors::kOne) {
    try {
      changes = book.follow(by_hand, authors, kNow);
      return {};
    } catch (const RuleRefusal& refusal) {
      return refusal.detail;
    }
  }
  Rulebook::Loaded reload(const std::string& text, std::string_view by_hand) {
    auto config = *parse_config(text, "a");
    auto in_file = config_sources(config.text);
    return book.load(std::move(config), std::move(in_file), by_hand, kNow);
  }
  std::int64_t limit(std::string_view id = "login") const {
    return book.rules()->find(id)->quota.limit();
  }

  int applied = 0;
  std::vector<std::string> changes;
  Rulebook book{"",
                [](std::vector<Rule> rules, RequestSources) {
                  return std::make_shared<const RuleSet>(std::move(rules));
                },
                [this] { ++applied; }};
};

constexpr const char* kSeven = R"({"id":"login","limit":7,"window":"1m"})";
constexpr const char* kSix = R"({"id":"login","limit":6,"window":"1m"})";
constexpr const char* kOtherFile = "its file has other rules than the file they were made on";

TEST(RulesByHand, AreFollowedByANodeWithTheSameRulesInItsFile) {
  Node first;
  Node second(std::string("# A comment.\n") + kText);
  EXPECT_EQ(second.follow(first.put(kSix)), "");
  EXPECT_EQ(second.limit(), 6);
  EXPECT_EQ(second.changes,
            std::vector<std::string>{"changed login: sliding_window 5 per 1m, now sliding_window 6 "
                                     "per 1m"});
  EXPECT_EQ(second.book.history().back()->author,
            (RuleAuthor{.who = "192.0.2.1", .by = "carol", .why = "bots"}));
  Node other(R"({"rules": [{"id":"login","limit":5,"window":"1m"}]})");
  EXPECT_EQ(other.follow(first.put(kSix)), kOtherFile);
  EXPECT_EQ(other.limit(), 5);
  Node written(std::regex_replace(kText, std::regex("5"), "6"));
  EXPECT_EQ(written.follow(first.put(kSix)), "");
  EXPECT_EQ(written.changes, std::vector<std::string>()) << "its file has them";
  EXPECT_EQ(written.limit(), 6);
}

// The first node writes search to its file. Then the second, whose file is the first one still,
// changes search back, which its own file says.
TEST(RulesByHand, GoOnBetweenNodesOfWhichOneWroteToItsFile) {
  const auto in_file = config_sources(kText).rules;
  auto written = in_file;
  written[1].json = R"({"id":"search","limit":8,"window":"1m"})";
  auto in_force = written;
  in_force[0].json = kSix;
  ChangesByHand changes{.files = RuleFiles::of(in_file)};
  changes.files.add(in_file, written, "search");
  Node first(std::regex_replace(kText, std::regex("9"), "8"));
  Node second;
  for (Node* node : {&first, &second}) {
    EXPECT_EQ(node->follow(to_bytes(changes, written, in_force)), "");
    EXPECT_EQ(node->limit(), 6);
    EXPECT_EQ(node->limit("search"), 8);
  }
  EXPECT_EQ(first.follow(second.put(in_file[1].json, "carol", "search")), "");
  EXPECT_EQ(first.limit("search"), 9);
  EXPECT_EQ(first.limit(), 6);
  EXPECT_EQ(second.follow(first.put(kSeven)), "") << "and on";
  EXPECT_EQ(second.limit(), 7);
}

TEST(RulesByHand, TravelWithoutTextOnceTheyAreAsInTheFileAgain) {
  Node first;
  Node second;
  EXPECT_EQ(second.follow(first.put(kSix)), "");
  const std::string back = second.put(R"({"id":"login","limit":5,"window":"1m"})");
  EXPECT_EQ(back.find("limit"), std::string::npos);
}

// Most nodes may still have the first.
TEST(RulesByHand, ForgetTheSecondFileOfMany) {
  auto files = RuleFiles::of(kFile);
  auto before = kFile;
  for (std::size_t i = 0; i < 2 * RuleFiles::kMax; ++i) {
    auto after = before;
    after[0].json = "{" + std::to_string(i) + "}";
    files.add(before, after, "login");
    before = std::exchange(after, {});
    EXPECT_EQ(files.hashes.size(), std::min(i + 2, RuleFiles::kMax));
    EXPECT_EQ(files.hashes.front(), hash_of(kFile));
    EXPECT_EQ(files.hashes.back(), hash_of(before));
    EXPECT_THAT(files.alike, testing::ElementsAre("search"));
  }
  files.add(before, before, "search");
  EXPECT_THAT(files.alike, testing::ElementsAre("search")) << "the same again";
  files.add(hash_of(kFile));
  EXPECT_EQ(files.hashes.front(), hash_of(kFile));
  const std::uint64_t second = files.hashes[1];
  files.add(second);
  EXPECT_EQ(files.hashes.back(), second) << "the latest again";
  EXPECT_EQ(std::ranges::count(files.hashes, second), 1);
}

// Else each rule that was ever written to a file would travel for good.
TEST(RulesByHand, ForgetFilesThatDifferInRulesOfTooManyBytes) {
  std::vector<RuleSource> rules(100);
  for (std::size_t i = 0; i < rules.size(); ++i) rules[i].id = std::to_string(i);
  ChangesByHand changes{.files = RuleFiles::of(rules)};
  for (auto& rule : rules) {
    const auto before = rules;
    rule.json = std::string(1000, 'x');
    changes.files.add(before, rules, rule.id);
    EXPECT_LT(to_bytes(changes, rules, rules).size(), RuleFiles::kApartBytesMax + 3000);
    EXPECT_EQ(*(changes.files.hashes.end() - 2), hash_of(before));
    EXPECT_EQ(changes.files.hashes.back(), hash_of(rules));
  }
}

// A node that has started again has seen no version.
TEST(RulesByHand, AreOfSeveralAuthorsOnlyIfSeveralHaveMadeThem) {
  const auto told = [](const std::string& by_hand) {
    Node late;
    EXPECT_EQ(late.follow(by_hand, RuleAuthors::kSeveral), "");
    return late.book.history().back()->author;
  };
  Node node;
  node.put(kSeven);
  const RuleAuthor carol{.who = "192.0.2.1", .by = "carol", .why = "bots"};
  EXPECT_EQ(told(node.put(kSix)), carol) << "twice";
  Node next;
  next.follow(node.put(kSeven));
  EXPECT_EQ(told(next.put(kSix)), carol) << "at another node";
  const RuleAuthor several{.who = "several, the last \"dan\" at 192.0.2.1"};
  EXPECT_EQ(told(next.put(kSeven, "dan")), several);
  EXPECT_EQ(told(next.put(kSix, "dan")), several);
  Node loaded;
  loaded.reload(kText, next.put(kSeven, "dan"));
  EXPECT_EQ(told(loaded.put(kSix, "dan")), several);
  node.put(R"({"id":"login","limit":5,"window":"1m"})");
  EXPECT_EQ(told(node.put(kSix, "dan")).by, "dan") << "the file's rules were in force again";
}

TEST(RulesByHand, AreCheckedAsThoseOfARequestAre) {
  Node node;
  const std::vector<RuleSource> in_file = config_sources(kText).rules;
  const ChangesByHand changes{.files = RuleFiles::of(in_file)};
  const auto follow = [&](const std::string& id, const std::string& json) {
    return node.follow(
        to_bytes(changes, in_file, std::vector<RuleSource>{{.id = id, .json = json}}));
  };
  EXPECT_EQ(node.follow("junk"), "it cannot read them");
  EXPECT_EQ(follow("missing", ""), "it cannot read them");
  EXPECT_EQ(follow("login", kSix + std::string(",")).substr(0, 6), "rule:1");
  EXPECT_EQ(follow("search", kSix), "The rule's id must be the one in the path, 'search'.");
  EXPECT_EQ(follow("login", R"({"id":"login","limit":-6,"window":"1m"})").substr(0, 6), "rule:1");
  EXPECT_EQ(
      node.follow(to_bytes(changes, in_file, std::vector{in_file[0], in_file[0]})).substr(0, 12),
      "rule 'login'");
  EXPECT_EQ(node.applied, 1);
}

TEST(RulesByHand, StayInForceThroughALoadOfTheSameRules) {
  Node node;
  const std::string by_hand = node.put(kSix);
  const auto same = node.reload(std::string("# A comment.\n") + kText, by_hand);
  EXPECT_EQ(same.changes, std::vector<std::string>());
  EXPECT_EQ(same.lost, std::vector<std::string>());
  EXPECT_EQ(same.kept, std::vector<std::string>{"changed login: sliding_window 5 per 1m, now "
                                                "sliding_window 6 per 1m"});
  EXPECT_EQ(node.limit(), 6);
  const auto other = node.reload(R"({"rules": [{"id":"login","limit":5,"window":"1m"}]})", by_hand);
  EXPECT_EQ(other.refusal, kOtherFile);
  EXPECT_EQ(other.lost, std::vector<std::string>{"login"});
  EXPECT_EQ(other.kept, std::vector<std::string>());
  EXPECT_EQ(node.limit(), 5);
}

// The rules in force stay, and are the file's now. Its fields have another order.
TEST(RulesByHand, AreNotLostWhereTheFileHasThem) {
  Node node;
  node.put(R"({"id":"login","window":"1m","limit":6})");
  node.book.change({.kind = RuleChange::Kind::kRemove, .id = "search"}, kNow);
  const auto same = node.reload(R"({"rules": [{"id":"login","limit":6,"window":"1m"}]})", {});
  EXPECT_EQ(same.lost, std::vector<std::string>());
  EXPECT_EQ(node.book.view()->version, 4u);
  EXPECT_EQ(node.book.history().back()->changes, std::vector<std::string>());
}

}  // namespace
}  // namespace weir
