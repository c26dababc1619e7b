#include "observe/denials.h"

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/shared_pages_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'000'000'000'000);
constexpr std::int64_t kSecond = 1'700'000'000;

DenialFacts denial(std::uint64_t key, Instant at = kNow) {
  return {.at = at, .rule = 3, .key_hash = key, .cost = 1, .limit = 5, .retry_after = 7s};
}

class DenialsTest : public testing::Test {
 protected:
  std::vector<DenialRecord> read(std::int64_t first = 0, std::int64_t last = kSecond * 2) const {
    std::vector<DenialRecord> all;
    core_->each(first, last, [&](const DenialRecord& one) { all.push_back(one); });
    std::ranges::sort(all, {}, &DenialRecord::at);
    return all;
  }

  // Takes much memory, which begins as zeros.
  const std::unique_ptr<CoreDenials> core_ = std::make_unique<CoreDenials>();
};

TEST_F(DenialsTest, AreReadAsTheyWere) {
  EXPECT_TRUE(read().empty());
  core_->add({.at = kNow,
              .rule = 3,
              .cause = DenialCause::kBlock,
              .is_shadow = true,
              .status = 429,
              .key_hash = 77,
              .cost = 2,
              .limit = 5,
              .remaining = 1,
              .retry_after = 7s,
              .client = *IpAddress::parse("192.0.2.1"),
              .door = DenialDoor::kNginx},
             {.method = "OPTIONS", .key = "alice", .path = "/login", .country = "nl"});
  const auto all = read();
  ASSERT_EQ(all.size(), 1u);
  const DenialRecord& one = all.front();
  EXPECT_EQ(one.at, kNow);
  EXPECT_EQ(one.rule, 3u);
  EXPECT_EQ(one.cause, DenialCause::kBlock);
  EXPECT_TRUE(one.is_shadow);
  EXPECT_EQ(one.status, 429);
  EXPECT_EQ(one.times, 1u);
  EXPECT_EQ(one.key_hash, 77u);
  EXPECT_EQ(one.cost, 2);
  EXPECT_EQ(one.limit, 5);
  EXPECT_EQ(one.remaining, 1);
  EXPECT_EQ(one.retry_after, 7s);
  EXPECT_EQ(door_name(one.door), "nginx");
  EXPECT_EQ(one.country, (std::array{'N', 'L'}));
  EXPECT_EQ(method_name(one.method), "OPTIONS");
  EXPECT_EQ(one.key, "") << "nobody asked for keys";
  EXPECT_EQ(one.path, "") << "nor for paths";
  EXPECT_EQ(one.client, IpAddress()) << "nor for clients";
}

TEST_F(DenialsTest, HaveTheBeginningsOfKeysAndPathsWhereThatIsWanted) {
  core_->keep_texts();
  DenialFacts known = denial(1);
  known.client = *IpAddress::parse("2001:db8::1");
  core_->add(known, {.key = "alice", .path = "/login"});
  const std::string long_text(100, 'x');
  core_->add(denial(2, kNow + 1s), {.key = long_text, .path = long_text});
  const auto all = read();
  EXPECT_EQ(all[0].key, "alice");
  EXPECT_EQ(all[0].path, "/login");
  EXPECT_EQ(all[0].client.to_string(), "2001:db8::1");
  EXPECT_EQ(all[1].key, std::string(CoreDenials::kTextMax, 'x'));
  EXPECT_EQ(all[1].path, std::string(CoreDenials::kTextMax, 'x'));
}

TEST_F(DenialsTest, KeepNoPartOfACharacter) {
  const std::string most(CoreDenials::kTextMax - 1, 'x');
  EXPECT_EQ(CoreDenials::kept(most + "\xc3\xa9"), most);
  EXPECT_EQ(CoreDenials::kept(most + "yz"), most + "y");
  EXPECT_EQ(CoreDenials::kept(std::string(100, '\x80')), "");
}

// A header that the client may choose can name the country.
TEST_F(DenialsTest, ACountryIsTwoLettersOrUnknown) {
  for (const std::string_view text : {"", "n", "n1", "<b", "nld", "\xc3\xa9"}) {
    core_->add(denial(1, kNow), {.method = text, .country = text});
    EXPECT_EQ(method_name(read().back().method), "") << text;
    EXPECT_EQ(read().back().country, (std::array{'\0', '\0'})) << text;
  }
}

// Regression: the record kept a second's first wait; a key in debt owes more with each request.
TEST_F(DenialsTest, TheLongestWaitOfASecondStays) {
  for (const Duration wait : {7s, 9s, 8s}) {
    DenialFacts facts = denial(1);
    facts.retry_after = wait;
    core_->add(facts, {});
  }
  const auto all = read();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.front().times, 3u);
  EXPECT_EQ(all.front().retry_after, 9s);
}

TEST_F(DenialsTest, OfOneKeyAndReasonAreCountedInOneEntryASecond) {
  for (int i = 0; i < 1'000; ++i) core_->add(denial(1), {});
  core_->add(denial(2), {});
  DenialFacts blocked = denial(1);
  blocked.cause = DenialCause::kBlock;
  core_->add(blocked, {});
  DenialFacts proxied = denial(1);  // Regression: was shown as a check, which has no status
  proxied.status = 429;
  core_->add(proxied, {});
  core_->add(denial(1, kNow + 1s), {});
  std::vector<std::uint32_t> times;
  for (const auto& one : read()) times.push_back(one.times);
  std::ranges::sort(times);
  EXPECT_EQ(times, (std::vector<std::uint32_t>{1, 1, 1, 1, 1'000}));
}

// Regression: chance chooses a connection's core, so one second had as many entries as cores.
TEST_F(DenialsTest, OfSeveralCoresAreAddedUp) {
  const auto other = std::make_unique<CoreDenials>();
  core_->add(denial(1, kNow + 20ms), {});
  core_->add(denial(2, kNow + 30ms), {});
  core_->add(denial(1, kNow + 1s), {});
  for (int i = 0; i < 3; ++i) other->add(denial(1, kNow + 10ms), {});
  auto all = read();
  other->each(0, kSecond * 2, [&](const DenialRecord& one) { all.push_back(one); });
  const auto sums = added_up(std::move(all));
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[0].at, kNow + 10ms);
  EXPECT_EQ(sums[0].times, 4u);
  EXPECT_EQ(sums[1].key_hash, 2u);
  EXPECT_EQ(sums[2].at, kNow + 1s);
}

TEST_F(DenialsTest, AreFoundByTheirSeconds) {
  for (int i = 0; i < 10; ++i) core_->add(denial(1, kNow + i * 1s), {});
  EXPECT_EQ(read(kSecond + 3, kSecond + 5).size(), 3u);
  EXPECT_EQ(read(kSecond + 9).size(), 1u);
  EXPECT_EQ(read(kSecond + 10).size(), 0u);
}

// Otherwise a flood would leave nothing of the minutes before it.
TEST_F(DenialsTest, AFloodTakesItsShareOfEachSecondAndNoMore) {
  core_->add(denial(1), {});
  constexpr int kFlood = 600;
  for (int second = 1; second <= kFlood; ++second) {
    for (std::uint64_t key = 0; key < 100; ++key) {
      core_->add(denial(1'000 + key, kNow + second * 1s), {});
    }
  }
  const auto all = read();
  EXPECT_EQ(all.size(), 1 + kFlood * CoreDenials::kPerSecond);
  EXPECT_EQ(all.front().key_hash, 1u) << "of ten minutes ago";
}

TEST_F(DenialsTest, ChanceDecidesWhichOfASecondStay) {
  int late = 0;
  constexpr int kSeconds = 400;
  for (int second = 0; second < kSeconds; ++second) {
    for (std::uint64_t key = 1; key <= 32; ++key) core_->add(denial(key, kNow + second * 1s), {});
  }
  for (const auto& one : read()) late += one.key_hash > 16 ? 1 : 0;
  const int all = kSeconds * static_cast<int>(CoreDenials::kPerSecond);
  EXPECT_GT(late, all * 4 / 10);
  EXPECT_LT(late, all * 6 / 10);
}

// Otherwise one rule's flood could hide that another rule denied somebody in the same second.
TEST_F(DenialsTest, TheFirstOfEachRuleHasAnEntryWhateverFloodsOthers) {
  for (int second = 0; second < 50; ++second) {
    const Instant at = kNow + second * 1s;
    DenialFacts quiet = denial(1, at);
    for (std::uint64_t key = 0; key < 300; ++key) {
      core_->add(denial(1'000 + key, at), {});
      quiet.rule = static_cast<RuleNumber>(10 + key / 60);  // five rules
      if (key % 60 == 59) core_->add(quiet, {});
    }
    std::vector<RuleNumber> rules;
    for (const auto& one : read(kSecond + second, kSecond + second)) rules.push_back(one.rule);
    std::ranges::sort(rules);
    ASSERT_EQ(rules, (std::vector<RuleNumber>{3, 3, 3, 10, 11, 12, 13, 14})) << second;
  }
}

TEST_F(DenialsTest, OfMoreRulesThanEntriesChanceDecides) {
  int late = 0;
  for (int second = 0; second < 200; ++second) {
    DenialFacts facts = denial(1, kNow + second * 1s);
    for (facts.rule = 1; facts.rule <= 16; ++facts.rule) core_->add(facts, {});
  }
  for (const auto& one : read()) late += one.rule > 8 ? 1 : 0;
  EXPECT_GT(late, 200 * 8 * 4 / 10);
  EXPECT_LT(late, 200 * 8 * 6 / 10);
}

TEST_F(DenialsTest, WhatHasNoEntryIsCounted) {
  std::uint64_t seed = 7;
  std::uint64_t added = 0;
  for (int i = 0; i < 5'000; ++i) {
    seed = seed * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
    DenialFacts facts = denial(seed >> 60, kNow + i / 500 * 1s);
    facts.rule = static_cast<RuleNumber>(seed >> 40 & 3);
    core_->add(facts, {});
    ++added;
    if (i % 97 != 0) continue;
    std::uint64_t known = 0;
    for (const auto& one : read()) known += one.times + one.forgotten;
    ASSERT_EQ(known, added);
  }
}

TEST_F(DenialsTest, TheOldestMakeRoom) {
  const int seconds = static_cast<int>(CoreDenials::kEntries) + 10;
  for (int i = 0; i < seconds; ++i) core_->add(denial(1, kNow + i * 1s), {});
  const auto all = read();
  ASSERT_EQ(all.size(), CoreDenials::kEntries);
  EXPECT_EQ(all.front().at, kNow + 10s);
  EXPECT_EQ(core_->whole_since(), CoreDenials::second_of(kNow) + 11);
}

TEST_F(DenialsTest, AreReadWhileTheyAreWritten) {
  core_->keep_texts();
  std::atomic<bool> is_over = false;
  std::thread reader([&] {
    while (!is_over) {
      for (const auto& one : read()) {
        EXPECT_EQ(one.key, "key-" + std::to_string(one.key_hash));
        EXPECT_EQ(one.path, one.key);
        EXPECT_EQ(one.limit, static_cast<std::int64_t>(one.key_hash));
      }
    }
  });
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    DenialFacts facts = denial(i % 16, kNow + i / 32 * 1s);
    facts.limit = static_cast<std::int64_t>(facts.key_hash);
    const std::string key = "key-" + std::to_string(facts.key_hash);
    core_->add(facts, {.key = key, .path = key});
  }
  is_over = true;
  reader.join();
}

// As a worker of nginx may be, whose place another takes.
TEST_F(DenialsTest, AreReadAfterProcessesWereKilledWhileTheyWrote) {
  const SharedPages shared(sizeof(CoreDenials));
  auto& core = *::new (shared.data()) CoreDenials();
  Instant now = kNow;
  for (int killed = 0; killed < 40; ++killed, now += 24h * 365) {
    const pid_t writer = ::fork();
    if (writer == 0) {
      const itimerval tick{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 1}};
      ::setitimer(ITIMER_VIRTUAL, &tick, nullptr);  // ends this process within milliseconds
      for (Instant at = now;; at += 1s) core.add(denial(1, at), {});
    }
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  for (std::size_t i = 0; i < CoreDenials::kEntries; ++i, now += 1s) core.add(denial(2, now), {});
  std::size_t whole = 0;
  core.each(0, CoreDenials::second_of(now),
            [&](const DenialRecord& one) { whole += one.key_hash == 2 ? 1 : 0; });
  EXPECT_EQ(whole, CoreDenials::kEntries);
}

TEST_F(DenialsTest, AreALineOfALog) {
  DenialRecord one{denial(0x9f), "al\x1b[31mice"};
  one.status = 429;
  EXPECT_EQ(to_text(one, "login"),
            "denied: rule login, key \"al?[31mice\", cause limit, 0 of 5 left, cost 1, again in 7 "
            "s, status 429");
  one = {denial(0x9f)};
  one.is_shadow = true;
  one.times = 3;
  one.retry_after = {};
  EXPECT_EQ(to_text(one, ""),
            "denied in shadow: no rule, key hash 000000000000009f, cause limit, 0 of 5 left, "
            "cost 1, 3 times in this second");
}

}  // namespace
}  // namespace weir
