#include "engine/asks/asks_pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/testing/asks_fixture.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

class AsksPoolTest : public AsksFixture {
 protected:
  static RuleSetPtr rules_of(std::vector<std::string> ids) {
    std::vector<Rule> rules;
    for (std::string& id : ids) {
      rules.push_back({.id = std::move(id), .quota = *Quota::make({.limit = 10, .window = 1min})});
    }
    return std::make_shared<const RuleSet>(std::move(rules));
  }
  // Decides an ask from the pool, and returns what is left.
  std::int64_t left(const Rule& rule, std::string_view key = "k") {
    pool_.take_again(taken_, Operation::kSpendAll);
    EXPECT_TRUE(taken_->add({.rule = &rule, .key = key}));
    EXPECT_EQ(taken_->size(), 1u);
    EXPECT_EQ(taken_->decide(now_), Asks::Progress::kAnswered);
    return taken_->answer(0).decision.remaining;
  }

  const RuleSetPtr rules_ = rules_of({"a", "b"});
  AsksPool pool_{engine_, blocks_, rules_, DenialDoor::kHttp};
  AsksPtr taken_;
};

TEST_F(AsksPoolTest, CountsUnderTheNamesThatOthersCountUnder) {
  EXPECT_EQ(left(*rules_->find("b")), 9);
  EXPECT_EQ(hit(*rules_->find("b"), "k"), "+8 ");
  EXPECT_EQ(left(*rules_->find("a")), 9);
  const RuleSetPtr elsewhere = rules_of({"b"});
  EXPECT_EQ(left(*elsewhere->find("b")), 7) << "a rule that the pool does not have";
  pool_.use_rules(elsewhere);
  EXPECT_EQ(left(*elsewhere->find("b")), 6);
}

TEST_F(AsksPoolTest, FollowsTheEngineToAnotherHasher) {
  EXPECT_EQ(left(*rules_->find("a")), 9);
  HashSecret secret{};
  secret.bytes.front() = std::byte{1};
  const KeyHasher other(secret);
  engine_.use_hasher(other);
  EXPECT_EQ(left(*rules_->find("a")), 9);
  EXPECT_EQ(hit(*rules_->find("a"), "k"), "+8 ");
}

TEST_F(AsksPoolTest, TakesTheSameAsksAgainIfTheyAreItsOwn) {
  left(*rules_->find("a"));
  const Asks* const first = taken_.get();
  left(*rules_->find("a"));
  EXPECT_EQ(taken_.get(), first);
  AsksPool other(engine_, blocks_, rules_, DenialDoor::kHttp);
  other.take_again(taken_, Operation::kSpendAll);
  EXPECT_NE(taken_.get(), first);
  EXPECT_EQ(pool_.take(Operation::kLook).get(), first);
  taken_.reset();
}

TEST_F(AsksPoolTest, AKeyMayBeWrittenWhereItStays) {
  for (const std::string key : {"short", "longer than what a string has room for in itself"}) {
    pool_.take_again(taken_, Operation::kSpendAll);
    std::string& text = taken_->next_key();
    text = key;
    EXPECT_TRUE(taken_->add({.rule = rules_->find("a"), .key = text}));
    taken_->next_key() = "another";
    EXPECT_EQ(taken_->ask(0).key, key);
    EXPECT_EQ(taken_->decide(now_), Asks::Progress::kAnswered);
    EXPECT_EQ(left(*rules_->find("a"), key), 8);
  }
}

TEST_F(AsksPoolTest, ForgetsTheHoldThatAsksWereToEndIfTheyWereNotDecided) {
  Rule watched{.id = "w", .quota = *Quota::make({.limit = 10, .window = 1min})};
  watched.notify_at = {50};  // so that memory is not asked at once
  for (const bool goes_back : {true, false}) {
    taken_ = pool_.take(Operation::kLook);
    taken_->holding().commit("00000000000000000000000000000000", 1, HoldingStore::Work::kIsDone);
    if (goes_back) taken_ = nullptr;
    EXPECT_EQ(left(watched), goes_back ? 9 : 8);
  }
}

}  // namespace
}  // namespace weir
