// Of nodes that see a key near its limit, one tells people: by their beats' field and a real Redis.

#include "store/redis/fleet/limits_field.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/testing/asks_fixture.h"
#include "engine/testing/late_store.h"
#include "redis/redis_server.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

#include "store/redis/fleet/beat_script.inc"

constexpr std::string_view kKey = "weir:{fleet}:limits";

class Node : public AsksFixture {
 public:
  explicit Node(std::string name, Algorithm algorithm = Algorithm::kFixedWindow)
      : algorithm_(algorithm), field_(std::move(name), notices_) {
    engine_.join(fleet_, [] {});
    engine_.notices = &notices_;
    redis_.answer_at_once();
  }
  void TestBody() override {}

  // A key of an hour's window is full; so much of the window is left.
  void see(std::string_view key, Duration left) {
    now_ += 2h - (now_.time_since_epoch() + left) % 1h;
    hit(rule_, key, 10);
  }
  std::vector<std::string> words() {
    std::vector<std::string> words;
    field_.say(words, now_);
    return words;
  }
  void hear(const resp::Reply& told) { EXPECT_EQ(field_.hear(told, now_), ""); }
  bool is_due() const { return *field_.due() <= now_; }
  std::size_t told() { return notices_.take(now_).notices.size(); }

 private:
  const Algorithm algorithm_;
  const Rule rule_{.id = "r",
                   .quota = *Quota::make({.algorithm = algorithm_, .limit = 10, .window = 1h}),
                   .notify_at = {100}};
  LateStore redis_{*store_};
  TestFleet fleet_{redis_};
  LimitNotices notices_{KeyTexts::kHidden, kStart};
  LimitsField field_;
};

class LimitsFieldTest : public ::testing::Test {
 protected:
  resp::Reply ask(const std::vector<std::string>& words) {
    const std::string count = std::to_string(words.size());
    std::vector<std::string_view> all = {"EVAL", kBeatScript, "1", kKey, "limits", count};
    all.insert(all.end(), words.begin(), words.end());
    return redis_.call(all).at("limits");
  }
  void beat(Node& node) { node.hear(ask(node.words())); }

  testing::RedisServer server_;
  testing::RedisConnection redis_{server_};
  Node here_{"here"};
  Node there_{"there"};
};

TEST_F(LimitsFieldTest, OneOfTwoNodesTellsOncePerWindow) {
  EXPECT_FALSE(here_.is_due());
  here_.see("a", 30min);
  there_.see("a", 29min);
  EXPECT_TRUE(here_.is_due());
  beat(there_);
  beat(here_);
  EXPECT_EQ(there_.told(), 1u);
  EXPECT_EQ(here_.told(), 0u);
  EXPECT_FALSE(here_.is_due());
  here_.see("b", 20min);
  beat(here_);
  EXPECT_EQ(here_.told(), 1u) << "another key";
}

TEST_F(LimitsFieldTest, TheNextWindowHasItsOwnNotice) {
  here_.see("a", 1min);
  beat(here_);
  there_.see("a", 59min);
  beat(there_);
  EXPECT_EQ(here_.told() + there_.told(), 2u);
}

TEST_F(LimitsFieldTest, ASlidingWindowIsToldOfOnceInItsWholeLength) {
  Node here("here", Algorithm::kSlidingWindow);
  Node there("there", Algorithm::kSlidingWindow);
  here.see("a", 30min);
  const std::vector<std::string> words = here.words();
  here.hear(ask(words));
  there.see("a", 30min);
  // So much later is the end of its window.
  std::vector<std::string> later = there.words();
  later[2] = std::to_string(3'600'000 + 3'590'000);
  there.hear(ask(later));
  EXPECT_EQ(here.told(), 1u);
  EXPECT_EQ(there.told(), 0u);
  there.see("b", 30min);
  later[2] = std::to_string(3'600'000 + 3'600'000);
  there.words();
  there.hear(ask(later));
  EXPECT_EQ(there.told(), 1u) << "the next window";
}

TEST_F(LimitsFieldTest, AnAnswerThatIsLostIsAskedForAgain) {
  here_.see("a", 30min);
  ask(here_.words());
  there_.see("a", 30min);
  beat(there_);
  EXPECT_TRUE(here_.is_due());
  beat(here_);
  EXPECT_EQ(here_.told(), 1u);
  EXPECT_EQ(there_.told(), 0u);
}

TEST_F(LimitsFieldTest, ARedisThatHasLostItMayBeToldAgain) {
  here_.see("a", 30min);
  beat(here_);
  redis_.call({"FLUSHALL"});
  there_.see("a", 30min);
  beat(there_);
  EXPECT_EQ(here_.told() + there_.told(), 2u);
}

TEST_F(LimitsFieldTest, WhereSomebodyElseHasWrittenEachNodeTells) {
  here_.see("a", 30min);
  const auto words = here_.words();
  redis_.call({"LPUSH", std::string(kKey) + ":" + words[1], "x"});
  beat(here_);
  EXPECT_EQ(here_.told(), 1u);
}

TEST_F(LimitsFieldTest, NothingStaysForLongerThanTwoWindows) {
  here_.see("a", 30min);
  const auto words = here_.words();
  here_.hear(ask(words));
  const auto left = redis_.call({"PTTL", std::string(kKey) + ":" + words[1]}).integer();
  ASSERT_TRUE(left.has_value());
  EXPECT_GT(*left, 0);
  EXPECT_LE(*left, 2 * 3'600'000);
}

}  // namespace
}  // namespace weir
