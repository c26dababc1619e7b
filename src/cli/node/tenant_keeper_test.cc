#include "cli/node/tenant_keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Kind = TenantChange::Kind;

constexpr Instant kNow = instant_from_epoch_us(0);

class TenantKeeperTest : public testing::Test {
 protected:
  TenantKeeperTest() { book_.load({.text = "rules: []"}, kNow); }

  std::future<TenantReply> change(TenantChange change) {
    const auto reply = std::make_shared<std::promise<TenantReply>>();
    keeper_.change(std::move(change),
                   [reply](TenantReply said) { reply->set_value(std::move(said)); });
    return reply->get_future();
  }
  std::future<TenantReply> put(const std::string& key, int limit) {
    return change(
        {.kind = Kind::kPut, .key = key, .text = R"({"limit":)" + std::to_string(limit) + "}"});
  }
  TenantReply part(std::size_t number, const std::string& text) {
    return change({.kind = Kind::kMerge,
                   .text = text,
                   .part = TenantChange::Part{.load = "x", .number = number, .of = 2}})
        .get();
  }
  // The changer does nothing else before that.
  std::promise<void> hold() {
    std::promise<void> go_on;
    changer_.run(
        [waits = std::make_shared<std::future<void>>(go_on.get_future())] {
          waits->wait();
          return RuleReply();
        },
        [](const RuleReply&) {});
    return go_on;
  }

  Rulebook book_{"",
                 [](std::vector<Rule> rules, RequestSources) {
                   return std::make_shared<const RuleSet>(std::move(rules));
                 },
                 [] {}};
  RuleChanger changer_{book_, nullptr};
  std::atomic<Instant> now_{kNow};
  TenantKeeper keeper_{{.changer = changer_,
                        .rules = [this] { return book_.rules(); },
                        .apply = [] {},
                        .now = [this] { return now_.load(); },
                        .tell = [](TrafficEvent) {}},
                       HashSecret{}};
};

TEST_F(TenantKeeperTest, MakesChangesOfSingleKeysThatWaitTogether) {
  auto go_on = hold();
  std::vector<std::future<TenantReply>> replies;
  for (int i = 0; i < 10; ++i) replies.push_back(put("k" + std::to_string(i), i));
  auto again = put("k3", 33);
  auto removed = change({.kind = Kind::kRemove, .key = "k4"});
  auto unknown = change({.kind = Kind::kRemove, .key = "k4"});
  auto malformed = change({.kind = Kind::kPut, .key = "k5", .text = "{}"});
  auto outdated = change({.kind = Kind::kRemove, .key = "k6", .if_version = 7});
  auto last = put("k7", 77);
  go_on.set_value();
  for (auto& reply : replies) {
    const TenantReply said = reply.get();
    EXPECT_EQ(said.outcome, ChangeOutcome::kAdded);
    EXPECT_EQ(said.view.version, 1u);
  }
  EXPECT_EQ(again.get().outcome, ChangeOutcome::kDone);
  EXPECT_EQ(removed.get().outcome, ChangeOutcome::kDone);
  EXPECT_EQ(unknown.get().outcome, ChangeOutcome::kUnknown);
  EXPECT_EQ(malformed.get().outcome, ChangeOutcome::kMalformed);
  EXPECT_EQ(outdated.get().outcome, ChangeOutcome::kOutdated);
  const TenantView view = last.get().view;
  EXPECT_EQ(view.version, 2u);
  EXPECT_EQ(view.table->size(), 9u);
  EXPECT_EQ(view.table->find("k3")->limit, 33);
  EXPECT_EQ(view.table->find("k4"), std::nullopt);
  EXPECT_EQ(view.table->find("k7")->limit, 77);
}

TEST_F(TenantKeeperTest, RefusesWhatComesWhenTheChangerHasStopped) {
  changer_.stop();
  EXPECT_EQ(put("ann", 1).get().outcome, ChangeOutcome::kNotNow);
  EXPECT_EQ(keeper_.view().version, 0u);
}

TEST_F(TenantKeeperTest, ForgetsALoadThatHasStopped) {
  EXPECT_EQ(part(1, "key,limit\na,1\n").waiting, 1u);
  now_ = kNow + TenantKeeper::kPartMax - 1us;
  keeper_.save();
  EXPECT_EQ(part(2, "b,2\n").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(part(1, "key,limit\na,1\n").waiting, 1u);
  now_ = now_.load() + TenantKeeper::kPartMax;
  keeper_.save();
  EXPECT_EQ(part(2, "c,2\n").outcome, ChangeOutcome::kConflict);
  EXPECT_EQ(keeper_.view().table->size(), 2u);
}

}  // namespace
}  // namespace weir
