#include "cli/node/tenant_keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
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
  ~TenantKeeperTest() override { changer_.stop(); }  // it may still end what it has answered

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
  // The changer does nothing else until this is set.
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
  TenantKeeper::World world(SharedTenants* fleet) {
    return {.changer = changer_,
            .rules = [this] { return book_.rules(); },
            .apply = [] {},
            .now = [this] { return now_.load(); },
            .tell = [](TrafficEvent) {},
            .fleet = fleet};
  }

  std::atomic<Instant> now_{kNow};
  TenantKeeper keeper_{world(nullptr), HashSecret{}};
};

// A node whose beats the test answers in the place of Redis.
class TenantKeeperInFleetTest : public TenantKeeperTest {
 protected:
  ~TenantKeeperInFleetTest() override { changer_.stop(); }

  // A version that another node has made, with keys k0, k1 and so on.
  SharedTenants::Version others(std::uint64_t number, int rows) const {
    TenantTable::Edits edits;
    for (int i = 0; i < rows; ++i) {
      edits.rows.push_back({.key = none_.hash("k" + std::to_string(i)), .limit = 1});
    }
    std::ranges::sort(edits.rows, std::less(), &TenantTable::Row::key);
    const auto table = none_.edited(std::move(edits)).table;
    return {{number, table->digest()}, table};
  }
  // The answer of a Redis with this version: the whole version, or word that more follows.
  static SharedTenants::Heard heard_of(const SharedTenants::Version& there, bool is_all) {
    SharedTenants::Heard heard{
        .head = there.head, .secret = there.table->secret(), .is_all = is_all};
    for (std::size_t i = 0; is_all && i < TenantTable::kBuckets; ++i) {
      const auto bucket = static_cast<std::uint16_t>(i);
      if (there.table->is_empty(bucket)) continue;
      heard.place = there.head.number * TenantTable::kBuckets + bucket;
      heard.buckets.emplace_back(bucket, there.table->bucket_bytes(bucket));
    }
    return heard;
  }
  void hear_of(const SharedTenants::Version& there, bool is_all) {
    fleet_.say();
    fleet_.hear(heard_of(there, is_all), kNow);
  }
  // Beats until the node offers something to a Redis with this version.
  SharedTenants::Step await_offer(const SharedTenants::Version& there) {
    for (;;) {
      const auto said = fleet_.say();
      if (said.step) return *said.step;
      fleet_.hear(heard_of(there, true), kNow);
    }
  }
  // Redis takes it. Returns the head that it replaces.
  SharedHead take_offer(const SharedTenants::Version& there) {
    const auto step = await_offer(there);
    fleet_.hear({.head = step.to.head, .has_done = true}, kNow);
    return step.from;
  }
  std::future<TenantReply> load(Kind kind = Kind::kMerge, std::optional<std::string> if_tag = {}) {
    const auto reply = std::make_shared<std::promise<TenantReply>>();
    node_.change({.kind = kind, .text = "key,limit\nann,5\n", .if_tag = std::move(if_tag)},
                 [reply](TenantReply said) { reply->set_value(std::move(said)); });
    return reply->get_future();
  }

  const TenantTable none_{HashSecret{}};
  SharedTenants fleet_{[this](Instant) { node_.follow_fleet(); }};
  TenantKeeper node_{world(&fleet_), HashSecret{}};
};

// Once a client that got a 409 and loaded again at once got a second 409.
TEST_F(TenantKeeperInFleetTest, ALoadIsMadeOnWhatOthersHaveChangedBefore) {
  const auto theirs = others(7, 3);
  hear_of(theirs, false);
  auto reply = load();
  hear_of(theirs, true);
  EXPECT_EQ(take_offer(theirs), theirs.head);
  const TenantReply said = reply.get();
  EXPECT_EQ(said.outcome, ChangeOutcome::kDone);
  EXPECT_EQ(said.view.version, 8u);
  EXPECT_EQ(said.view.table->size(), 4u);
}

TEST_F(TenantKeeperInFleetTest, ALoadAsksRedisFirstWhatOthersHaveChanged) {
  hear_of(others(1, 1), true);
  auto reply = load();
  const auto theirs = others(2, 3);
  hear_of(theirs, true);
  EXPECT_EQ(take_offer(theirs), theirs.head);
  EXPECT_EQ(reply.get().view.version, 3u);
}

// Once it was refused, and a client that loaded again was overtaken again.
TEST_F(TenantKeeperInFleetTest, ALoadThatIsOvertakenIsMadeOnWhatHasOvertakenIt) {
  for (const auto& [kind, first, rows] :
       {std::tuple(Kind::kMerge, 1, 4u), {Kind::kReplace, 9, 1u}}) {
    hear_of(others(static_cast<std::uint64_t>(first), 1), true);
    auto reply = load(kind);
    await_offer(others(static_cast<std::uint64_t>(first), 1));
    const auto theirs = others(static_cast<std::uint64_t>(first) + 1, 3);
    hear_of(theirs, false);
    hear_of(theirs, true);
    EXPECT_EQ(take_offer(theirs), theirs.head);
    const TenantReply said = reply.get();
    EXPECT_EQ(said.outcome, ChangeOutcome::kDone) << said.detail;
    EXPECT_EQ(said.view.table->size(), rows);
  }
}

// A key has another hash there.
TEST_F(TenantKeeperInFleetTest, ALoadIsReadAgainIfAnotherMakesTheFirstTable) {
  const SharedTenants::Version nothing{{}, std::make_shared<const TenantTable>(HashSecret{})};
  hear_of(nothing, true);
  auto reply = load();
  await_offer(nothing);
  HashSecret secret;
  secret.bytes.front() = std::byte{1};
  const TenantTable strange(secret);
  const auto table = strange.edited({.rows = {{.key = strange.hash("bob"), .limit = 1}}}).table;
  const SharedTenants::Version theirs{{1, table->digest()}, table};
  hear_of(theirs, true);
  EXPECT_EQ(take_offer(theirs), theirs.head);
  const TenantReply said = reply.get();
  EXPECT_EQ(said.outcome, ChangeOutcome::kDone) << said.detail;
  EXPECT_EQ(said.view.table->size(), 2u);
  EXPECT_EQ(said.view.table->find("ann")->limit, 5);
}

TEST_F(TenantKeeperInFleetTest, ALoadThatIsMeantForAVersionIsNotMadeOnAnother) {
  const auto first = others(1, 1);
  hear_of(first, true);
  auto reply = load(Kind::kReplace, tenant_tag(1, *first.table));
  await_offer(first);
  hear_of(others(2, 3), true);
  const TenantReply refused = reply.get();
  EXPECT_EQ(refused.outcome, ChangeOutcome::kOutdated);
  EXPECT_EQ(refused.view.version, 2u) << "the author can look at it";
}

TEST_F(TenantKeeperInFleetTest, ALoadThatIsAlwaysOvertakenEnds) {
  hear_of(others(1, 1), true);
  auto reply = load();
  for (std::uint64_t number = 2; reply.wait_for(0s) != std::future_status::ready; ++number) {
    ASSERT_LT(number, 100u);
    const auto before = others(number - 1, static_cast<int>(number - 1));
    for (bool is_offered = false; !is_offered && reply.wait_for(0s) != std::future_status::ready;) {
      is_offered = fleet_.say().step.has_value();
      if (!is_offered) fleet_.hear(heard_of(before, true), kNow);
    }
    hear_of(others(number, static_cast<int>(number)), true);
  }
  const TenantReply refused = reply.get();
  EXPECT_EQ(refused.outcome, ChangeOutcome::kNotNow);
  EXPECT_EQ(refused.retry_after, TenantKeeper::kRetryAfter);
}

TEST_F(TenantKeeperInFleetTest, WhoCannotReadWhatOthersHaveChangedIsToAskAgain) {
  hear_of(others(7, 3), false);
  auto reply = load();
  fleet_.fail();
  const TenantReply refused = reply.get();
  EXPECT_EQ(refused.outcome, ChangeOutcome::kNotNow);
  EXPECT_NE(refused.detail.find("Then load the whole table: "), std::string::npos);
  EXPECT_EQ(refused.retry_after, TenantKeeper::kRetryAfter);
  EXPECT_EQ(refused.view.version, 0u);
}

TEST_F(TenantKeeperInFleetTest, OneKeyIsPutOnTopOfManyChangesOfOthers) {
  hear_of(others(1, 1), true);
  const auto reply = std::make_shared<std::promise<TenantReply>>();
  node_.change({.kind = Kind::kPut, .key = "ann", .text = R"({"limit":5})"},
               [reply](TenantReply said) { reply->set_value(std::move(said)); });
  for (std::uint64_t number = 2; number < 40; ++number) {
    await_offer(others(number - 1, static_cast<int>(number - 1)));
    hear_of(others(number, static_cast<int>(number)), true);
  }
  take_offer(others(39, 39));
  EXPECT_EQ(reply->get_future().get().outcome, ChangeOutcome::kAdded);
}

TEST_F(TenantKeeperTest, MakesChangesOfSingleKeysThatWaitTogether) {
  auto go_on = hold();
  std::vector<std::future<TenantReply>> replies;
  for (int i = 0; i < 10; ++i) replies.push_back(put("k" + std::to_string(i), i));
  auto again = put("k3", 33);
  auto removed = change({.kind = Kind::kRemove, .key = "k4"});
  auto unknown = change({.kind = Kind::kRemove, .key = "k4"});
  auto malformed = change({.kind = Kind::kPut, .key = "k5", .text = "{}"});
  auto outdated = change({.kind = Kind::kRemove, .key = "k6", .if_tag = "0-7"});
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

// Made with others it would have a version that its author had not seen.
TEST_F(TenantKeeperTest, MakesAChangeThatIsMeantForAVersionAlone) {
  auto go_on = hold();
  auto first = put("ann", 1);
  const auto meant = [&](const char* key, std::uint64_t version) {
    return change(
        {.kind = Kind::kPut, .key = key, .text = R"({"limit":5})", .if_version = version});
  };
  auto late = meant("ann", 0);
  auto next = meant("ann", 1);
  auto same = meant("bob", 1);
  auto removed = change({.kind = Kind::kRemove, .key = "ann", .if_version = 2});
  go_on.set_value();
  EXPECT_EQ(first.get().outcome, ChangeOutcome::kAdded);
  const TenantReply said = late.get();
  EXPECT_EQ(said.outcome, ChangeOutcome::kOutdated);
  EXPECT_NE(said.detail.find("is at version 1"), std::string::npos) << said.detail;
  EXPECT_EQ(next.get().view.version, 2u);
  EXPECT_EQ(same.get().outcome, ChangeOutcome::kOutdated);
  EXPECT_EQ(removed.get().view.version, 3u);
  EXPECT_EQ(keeper_.view().table->size(), 0u);
}

// Once a killed process forgot changes that it had answered up to five seconds before.
TEST_F(TenantKeeperTest, KeepsWhatNoRedisHasBeforeItAnswers) {
  const std::string path = testing::TempDir() + "tenant_keeper_test.tenants";
  std::remove(path.c_str());
  EXPECT_EQ(keeper_.keep_in(path), std::nullopt);
  EXPECT_EQ(put("ann", 5).get().outcome, ChangeOutcome::kAdded);
  TenantKeeper again(world(nullptr), HashSecret{});
  EXPECT_EQ(again.keep_in(path), std::nullopt);
  EXPECT_EQ(again.view().version, 1u);
  EXPECT_EQ(again.view().table->find("ann")->limit, 5);
  std::remove(path.c_str());
}

// The next change wrote over a damaged file that could not be moved.
TEST_F(TenantKeeperTest, DoesNotStartOverADamagedFileThatCannotBeMoved) {
  const std::string path = testing::TempDir() + "tenant_keeper_test.damaged";
  std::filesystem::remove_all(path + ".broken");
  std::ofstream(path) << "weir tenants 2 0\n";
  std::filesystem::create_directories(path + ".broken/in_use");
  const auto fault = keeper_.keep_in(path);
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->message.starts_with(path + " is damaged, and cannot be moved to " + path))
      << fault->message;
  std::filesystem::remove_all(path + ".broken");
  TenantKeeper again(world(nullptr), HashSecret{});
  EXPECT_FALSE(again.keep_in(path));
  EXPECT_TRUE(std::filesystem::remove(path + ".broken"));
}

TEST_F(TenantKeeperTest, RefusesWhatComesWhenTheChangerHasStopped) {
  changer_.stop();
  EXPECT_EQ(put("ann", 1).get().outcome, ChangeOutcome::kNotNow);
  EXPECT_EQ(keeper_.view().version, 0u);
}

TEST_F(TenantKeeperTest, NamesTheBadRowsOfAllParts) {
  const auto part = [this](std::size_t number, const std::string& text) {
    return change({.kind = Kind::kReplace,
                   .text = text,
                   .part = TenantChange::Part{.load = "x", .number = number, .of = 3}})
        .get();
  };
  EXPECT_EQ(part(1, "key,limit\na,1\nb,-1\n").outcome, ChangeOutcome::kDone) << "more are to come";
  EXPECT_EQ(part(2, "c,-1\n").outcome, ChangeOutcome::kDone);
  const TenantReply reply = part(3, "d,4\ne,-1\n");
  EXPECT_EQ(reply.outcome, ChangeOutcome::kMalformed);
  const std::string limit = ": limit: expected a whole number from 0 to 10^12";
  EXPECT_EQ(reply.detail, "line 3" + limit + "\n" + "line 4" + limit + "\n" + "line 6" + limit);
  EXPECT_EQ(keeper_.view().version, 0u);
  std::string text = "key,limit\n";
  for (std::size_t i = 0; i < TenantReader::kMistakesShown; ++i) text += "a,-1\n";
  EXPECT_EQ(part(1, text).outcome, ChangeOutcome::kMalformed) << "no more would be named";
  text += "a,-1\n";
  EXPECT_TRUE(part(1, text).detail.ends_with("\nand at least 1 more")) << "of the first part";
  EXPECT_EQ(part(1, "key,limit\na,1\n").waiting, 1u);
  EXPECT_EQ(part(2, "b,2\n").waiting, 2u);
  EXPECT_TRUE(part(3, text).detail.ends_with("\nand 2 more")) << "of all parts";
  EXPECT_EQ(part(1, "kex,limit\n").outcome, ChangeOutcome::kMalformed);
}

// A file with its header alone removed every row.
TEST_F(TenantKeeperTest, ALoadWithoutRowsRemovesNone) {
  EXPECT_EQ(put("ann", 1).get().outcome, ChangeOutcome::kAdded);
  const auto reply = change({.kind = Kind::kReplace, .text = "key,limit\n"}).get();
  EXPECT_EQ(reply.outcome, ChangeOutcome::kMalformed);
  EXPECT_TRUE(reply.detail.starts_with("it has no rows, and nothing is changed; "));
  EXPECT_EQ(change({.kind = Kind::kMerge, .text = "key,limit\n"}).get().view.table->size(), 1u);
  EXPECT_EQ(change({.kind = Kind::kClear}).get().outcome, ChangeOutcome::kDone);
  EXPECT_EQ(keeper_.view().table->size(), 0u);
}

TEST_F(TenantKeeperTest, SaysWhenAnotherLoadIsForgotten) {
  EXPECT_EQ(part(1, "key,limit\na,1\n").waiting, 1u);
  now_ = kNow + 20s;
  const TenantReply reply =
      change({.kind = Kind::kMerge, .part = TenantChange::Part{.load = "y", .of = 2}}).get();
  EXPECT_EQ(reply.outcome, ChangeOutcome::kConflict);
  EXPECT_EQ(reply.detail,
            "Another load is under way on this node. If no part of it comes, it is forgotten in "
            "40 s.");
  EXPECT_EQ(reply.retry_after, 40s);
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
