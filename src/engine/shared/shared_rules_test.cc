#include "engine/shared/shared_rules.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Version = SharedRules::Version;

constexpr Instant kNow = instant_from_epoch_us(0);

// One node, and a Redis that is only a version.
class SharedRulesTest : public testing::Test {
 protected:
  // Does what beat.lua does.
  void beat(std::vector<SharedRules::Word> others = {}) {
    const SharedRules::Said said = rules_.say();
    if (said.offer && there_.head.number < said.offer->head.number) there_ = *said.offer;
    others.push_back({.node = "me", .word = said.word});
    rules_.hear(there_, others, kNow);
  }
  // Beats after it has offered.
  std::optional<SharedHead> offer(const std::string& bytes) {
    auto offered =
        std::async(std::launch::async, [this, bytes] { return rules_.offer(bytes, 10s); });
    while (rules_.current().bytes != bytes) std::this_thread::yield();
    while (offered.wait_for(1ms) != std::future_status::ready) beat();
    return offered.get();
  }
  void change_elsewhere(std::uint64_t number, const std::string& bytes) {
    there_ = {.head = {number, number * 1'000 + bytes.size()}, .bytes = bytes};
  }
  std::string why_not() const { return rules_.hold().nodes.back().why_not; }

  Version there_;
  int news_ = 0;
  SharedRules rules_{"me", [this](Instant) { ++news_; }};
};

TEST_F(SharedRulesTest, TheFirstOfferIsVersionOne) {
  beat();
  EXPECT_EQ(rules_.hold().version, 0u);
  EXPECT_EQ(why_not(), "");
  const auto offered = offer("a");
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->number, 1u);
  EXPECT_EQ(there_.bytes, "a");
  EXPECT_EQ(why_not(), "it is taking them");
  rules_.judge(*offered, {});
  EXPECT_EQ(why_not(), "");
  EXPECT_FALSE(rules_.news());
}

TEST_F(SharedRulesTest, AVersionOfOthersIsNewsUntilItIsJudged) {
  change_elsewhere(7, "theirs");
  beat();
  beat();
  EXPECT_EQ(news_, 2);
  const auto news = rules_.news();
  ASSERT_TRUE(news);
  EXPECT_EQ(news->version.bytes, "theirs");
  EXPECT_TRUE(news->has_skipped) << "six";
  rules_.judge(news->version.head, std::string(1'000, 'x'));
  beat();
  EXPECT_EQ(news_, 2);
  EXPECT_EQ(why_not(), std::string(SharedRules::kWhyMax, 'x'));
}

TEST_F(SharedRulesTest, AnOfferOnAnOlderVersionLosesAndTheOtherIsNews) {
  beat();
  change_elsewhere(1, "theirs");
  EXPECT_FALSE(offer("mine"));
  EXPECT_EQ(there_.bytes, "theirs");
  EXPECT_EQ(rules_.news()->version.bytes, "theirs");
  EXPECT_FALSE(rules_.news()->has_replaced);
  EXPECT_FALSE(rules_.news()->has_skipped);
  rules_.judge(rules_.current().head, {});
  EXPECT_EQ(offer("mine")->number, 2u);
}

TEST_F(SharedRulesTest, WithoutRedisAnOfferHoldsAloneAndIsToldLater) {
  beat();
  rules_.judge(*rules_.offer("mine", 0ms), {});
  EXPECT_FALSE(rules_.hold().is_told);
  EXPECT_EQ(why_not(), "");
  // A second offer replaces it.
  rules_.judge(*rules_.offer("mine too", 0ms), {});
  beat();
  EXPECT_EQ(there_.bytes, "mine too");
  EXPECT_TRUE(rules_.hold().is_told);
  EXPECT_FALSE(rules_.news());
}

TEST_F(SharedRulesTest, AnOfferThatIsAloneGivesWayToANewerVersion) {
  rules_.judge(*rules_.offer("mine", 0ms), {});
  change_elsewhere(3, "theirs");
  beat();
  const auto news = rules_.news();
  ASSERT_TRUE(news);
  EXPECT_EQ(news->version.bytes, "theirs");
  EXPECT_TRUE(news->has_replaced);
}

TEST_F(SharedRulesTest, AnOfferThatAReloadDropsIsNotTold) {
  rules_.judge(*rules_.offer("mine", 0ms), {});
  rules_.judge(rules_.current().head, "the file has other rules");
  beat();
  EXPECT_EQ(there_.head.number, 0u);
  EXPECT_EQ(rules_.current().head.number, 0u);
}

// The answer to the offer comes late.
TEST_F(SharedRulesTest, AnOfferThatWasDroppedWhileItWasToldCounts) {
  rules_.judge(*rules_.offer("mine", 0ms), {});
  there_ = *rules_.say().offer;
  rules_.judge(rules_.current().head, "the file has other rules");
  rules_.hear({.head = there_.head}, {}, kNow);
  EXPECT_EQ(rules_.current().bytes, "mine");
  beat();
  EXPECT_EQ(why_not(), "the file has other rules");
}

TEST_F(SharedRulesTest, ARedisThatHasLostTheVersionGetsItAgain) {
  change_elsewhere(7, "theirs");
  beat();
  rules_.judge(rules_.current().head, {});
  for (const Version& earlier : {Version(), Version{.head = {6, 1}, .bytes = "old"}}) {
    there_ = earlier;
    beat();
    beat();
    EXPECT_EQ(there_.head.number, 7u);
    EXPECT_EQ(there_.bytes, "theirs");
    EXPECT_FALSE(rules_.news());
  }
}

TEST_F(SharedRulesTest, OfTwoVersionsOfOneNumberRedisHasTheOneThatCounts) {
  change_elsewhere(7, "theirs");
  beat();
  rules_.judge(rules_.current().head, {});
  change_elsewhere(7, "of another");
  beat();
  EXPECT_EQ(rules_.news()->version.bytes, "of another");
}

TEST_F(SharedRulesTest, NodesSayWhatTheyRunOrWhyNot) {
  SharedRules other("other", [](Instant) {});
  SharedRules late("late", [](Instant) {});
  rules_.judge(*offer("a"), {});
  other.hear(there_, {}, kNow);
  other.judge(there_.head, "its file has other rules");
  const std::string other_word = other.say().word;
  const std::string late_word = late.say().word;
  beat({{.node = "nginx", .word = {}},
        {.node = "garbage", .word = "1x"},
        {.node = "late", .word = late_word},
        {.node = "other", .word = other_word}});
  std::vector<std::string> all;
  for (const auto& node : rules_.hold().nodes) all.push_back(node.name + ": " + node.why_not);
  const std::string takes_none =
      "it takes no rules of other nodes: an nginx, or another build of "
      "Weir";
  EXPECT_EQ(all, (std::vector<std::string>{"nginx: " + takes_none, "garbage: " + takes_none,
                                           "late: it has not taken them yet",
                                           "other: its file has other rules", "me: "}));
}

TEST_F(SharedRulesTest, WaitsForNodesThatMayTakeTheVersionNoLongerThanItIsAskedTo) {
  SharedRules other("other", [](Instant) {});
  rules_.judge(*offer("a"), {});
  std::string word = other.say().word;
  beat({{.node = "other", .word = word}});
  EXPECT_EQ(rules_.await_nodes(1ms).nodes.front().why_not, "it has not taken them yet");
  other.hear(there_, {}, kNow);
  other.judge(there_.head, {});
  word = other.say().word;
  auto hold = std::async(std::launch::async, [this] { return rules_.await_nodes(10s); });
  Instant now = kNow;
  while (hold.wait_for(1ms) != std::future_status::ready) {
    rules_.hear(there_, {{.node = "other", .word = word}, {.node = "nginx", .word = {}}},
                now += 1ms);
  }
  EXPECT_EQ(hold.get().nodes.front().why_not, "");
}

}  // namespace
}  // namespace weir
