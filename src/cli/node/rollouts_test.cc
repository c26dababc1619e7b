#include "cli/node/rollouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "config/config.h"
#include "rulebook/rulebook.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Others = Rollouts::Others;

constexpr auto kText =
    "rules: [{id: r, limit: 1, window: 1m, enforce: 1%, rollout: "
    "{steps: [0%, 1%, 50%, 100%], every: 10s, stop_if: denied_keys>2%}}]";

// Makes a change at once.
class Desk final : public RuleDesk {
 public:
  Desk() {
    auto config = parse_config(kText, "rules.yaml");
    book_.load(*std::move(config), Instant{});
  }
  std::shared_ptr<const RulesView> view() const override { return book_.view(); }
  RuleHistory history() const override { return book_.history(); }
  void change(RuleChange change, Done done, Instant now) override {
    if (before_change) std::exchange(before_change, {})();
    done(book_.change(change, now));
  }
  void judge(RuleTrial, Judged, Instant) override {}

  std::function<void()> before_change;  // of another node

 private:
  Rulebook book_{{},
                 [](std::vector<Rule> rules, RequestSources sources) {
                   return std::make_shared<const RuleSet>(std::move(rules), std::move(sources));
                 },
                 [] {}};
};

class RolloutsTest : public ::testing::Test {
 protected:
  void look(int seconds, Others others = Others::kHear) { look(rollouts_, seconds, others); }
  void look(Rollouts& node, int seconds, Others others = Others::kHear) {
    for (int i = 0; i < seconds; ++i) {
      now_ += 1s;
      node.look(others, now_);
    }
  }
  void see(std::uint64_t keys) {
    for (std::uint64_t i = 0; i < keys; ++i) {
      core_.record_rule(rule_, RuleOutcome::kAllowed, Prng(i).next(), now_);
    }
  }
  void deny(std::string_view key, bool is_shadow = false) {
    core_.record_denial(
        {.at = now_, .rule = rule_, .is_shadow = is_shadow, .key_hash = Prng(key.size()).next()},
        {.key = key});
  }
  std::string rule() const { return desk_.view()->rules.front().json; }

  Desk desk_;
  Traffic traffic_;
  RuleNumber rule_ = traffic_.rules().number_of("r");
  CoreTraffic& core_ = (traffic_.keep_key_texts(), traffic_.add_core());
  std::vector<std::string> told_;
  std::int64_t told_at_ = 0;
  Instant now_ = instant_from_epoch_us(1'763'847'300'000'000);
  const Rollouts::World world_{
      .traffic = traffic_, .desk = desk_, .tell = [this](TrafficEvent event) {
        told_.push_back(std::move(event.text));
        told_at_ = event.at;
      }};
  Rollouts rollouts_{world_};
};

TEST_F(RolloutsTest, GoesStepByStepToTheEnd) {
  see(100);
  look(11);
  EXPECT_THAT(rule(), HasSubstr(R"("enforce":"50%","rollout")"));
  EXPECT_EQ(desk_.history().back()->author.who, "the rollout");
  EXPECT_THAT(desk_.history().back()->changes, ElementsAre("changed r: enforce from 1% to 50%"));
  look(11);
  EXPECT_EQ(rule(), R"({"id":"r","limit":1,"window":"1m","enforce":"100%"})");
  look(100);
  EXPECT_THAT(told_, ElementsAre("denies 1% of the keys", "denies 50% of the keys", "has ended"));
  EXPECT_EQ(told_at_, CoreDenials::second_of(desk_.history().back()->when)) << "one time";
  EXPECT_EQ(desk_.view()->version, 3u);
}

TEST_F(RolloutsTest, StopsAndSaysWhomItDenied) {
  see(100);
  look(3);
  deny("alice");
  deny("al\x1B[31mice");
  deny("shadowed by it", true);
  for (int i = 0; i < 2; ++i) deny("bobby-tables");
  look(1);
  EXPECT_THAT(rule(),
              AllOf(HasSubstr(R"("enforce":"0%")"), HasSubstr("it denied about 3 of about "),
                    HasSubstr(" minutes before: bobby-tables, "), HasSubstr("alice"),
                    HasSubstr("al?[31mice"), Not(HasSubstr("shadowed"))));
  EXPECT_THAT(desk_.history().back()->author.why, Not(HasSubstr("alice")));
  look(100);
  EXPECT_EQ(desk_.view()->version, 2u);
  EXPECT_THAT(told_,
              Contains(HasSubstr("denies 0% of the keys again, and has stopped: it denied")));
  const auto told = told_.size();
  Rollouts started_later(world_);
  look(started_later, 3);
  EXPECT_EQ(told_.size(), told) << "it stops nothing now";
}

TEST_F(RolloutsTest, OfTwoNodesOneMoves) {
  Rollouts other(world_);
  see(100);
  for (int i = 0; i < 6; ++i) {
    look(1);
    look(other, 1);
  }
  EXPECT_EQ(desk_.view()->version, 2u);
  EXPECT_THAT(rule(), HasSubstr("50%"));
}

TEST_F(RolloutsTest, MovesNothingThatHasChangedMeanwhile) {
  see(100);
  desk_.before_change = [&] {
    desk_.change(
        {.kind = RuleChange::Kind::kPatch, .id = "r", .text = R"({"limit":2})"},
        [](const RuleReply&) {}, now_);
  };
  look(11);
  EXPECT_THAT(rule(), AllOf(HasSubstr(R"("limit":2)"), HasSubstr(R"("enforce":"1%")")));
  look(20);
  EXPECT_THAT(rule(), HasSubstr(R"("enforce":"50%")"));
}

TEST_F(RolloutsTest, WithoutRedisItStandsStillOrGoesBack) {
  see(100);
  look(100, Others::kAway);
  EXPECT_THAT(rule(), HasSubstr(R"("enforce":"1%")"));
  for (int i = 1; i < 9; ++i) deny(std::string(static_cast<std::size_t>(i), 'k'));
  look(1, Others::kAway);
  EXPECT_THAT(rule(), HasSubstr(R"("enforce":"0%")"));
}

TEST_F(RolloutsTest, EndsWithItsRule) {
  see(100);
  look(1);
  desk_.change(
      {.kind = RuleChange::Kind::kRemove, .id = "r"}, [](const RuleReply&) {}, now_);
  look(20);
  EXPECT_THAT(told_, ElementsAre("denies 1% of the keys", "has ended"));
}

}  // namespace
}  // namespace weir
