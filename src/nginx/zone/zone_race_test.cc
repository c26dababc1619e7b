// Workers that use all parts of a zone at once. Each is a thread here, so that ThreadSanitizer sees
// what processes do to each other in memory that all of them map.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "nginx/zone/block_log.h"
#include "nginx/zone/concurrency.h"
#include "nginx/zone/fleet_board.h"
#include "nginx/zone/owed_ledger.h"
#include "nginx/zone/rule_board.h"
#include "nginx/zone/zone.h"
#include "weir/quota.h"

namespace weir::nginx {
namespace {

using std::chrono::hours;

constexpr Instant kNow = Instant(hours(24 * 365 * 55));
constexpr int kWorkers = 4;
constexpr int kRounds = 200;

void run_workers(const std::function<void(int)>& work) {
  std::vector<std::jthread> workers;
  for (int worker = 0; worker < kWorkers; ++worker) workers.emplace_back(work, worker);
}

class ZoneRaceTest : public testing::Test {
 protected:
  ZoneRaceTest() : memory_(new(std::align_val_t{kPage}) std::byte[Zone::kBytesMin]()) {
    Zone::format({memory_.get(), Zone::kBytesMin}, kNow);
  }

  static constexpr std::size_t kPage = 4096;
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete[](memory, std::align_val_t{kPage});
    }
  };
  const std::unique_ptr<std::byte[], Free> memory_;
  const Zone zone_{memory_.get()};
};

// Else a worker that starts while another changes a rule would go on without the change.
TEST_F(ZoneRaceTest, AWorkerThatStartsHearsOfAllChanges) {
  run_workers([this](int worker) {
    for (int round = 0; round < kRounds; ++round) {
      RuleBoard board(zone_.rules(), 1);
      const std::uint64_t of_file = board.version_of_file();
      // Some look at once, others when the rules have changed twice.
      for (int turn = 0; worker % 2 == 0 && board.version() < of_file + 3 && turn < 100; ++turn) {
        std::this_thread::yield();
      }
      RuleBoard::Hold hold(board);
      const auto version = hold.read();
      ASSERT_TRUE(version);
      const std::string& text = version->rules;
      ASSERT_EQ(text, std::string(text.size(), text.empty() ? ' ' : text.front()));
      ASSERT_TRUE(text.empty() || version->number > of_file);
      ASSERT_TRUE(hold.write(std::string(100, static_cast<char>('a' + worker))));
    }
  });
  EXPECT_EQ(RuleBoard(zone_.rules(), 1).version(), 1 + std::uint64_t{kWorkers} * kRounds);
}

TEST_F(ZoneRaceTest, NoMoreRequestsAreUnderWayThanTheLimitWhileWorkersComeAndGo) {
  constexpr std::array<KeyHash, 3> kKeys = {{{1, 2}, {1, 3}, {2, 2}}};
  constexpr std::int64_t kLimit = 3;
  std::array<std::atomic<std::int64_t>, kKeys.size()> under_way{};
  run_workers([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      Concurrency requests(zone_.under_way());
      std::array<std::int64_t, kKeys.size()> own{};
      for (std::size_t i = 0; i < 3 * kKeys.size(); ++i) {
        const std::size_t key = i % kKeys.size();
        if (!requests.enter(kKeys[key], kLimit).has_entered()) continue;
        ++own[key];
        EXPECT_LE(++under_way[key], kLimit);
      }
      for (std::size_t key = 0; key < kKeys.size(); ++key) {
        under_way[key] -= own[key];
        if (own[key] > 0) requests.leave(kKeys[key]);
      }
    }
  });
  Concurrency last(zone_.under_way());
  for (const KeyHash& key : kKeys) EXPECT_EQ(last.enter(key, kLimit).under_way, 1);
}

TEST_F(ZoneRaceTest, EachWorkerKnowsAllBlocksInTheEnd) {
  const KeyHasher hasher{HashSecret{}};
  std::vector<std::unique_ptr<BlockLog>> logs;
  for (int i = 0; i < kWorkers; ++i)
    logs.push_back(std::make_unique<BlockLog>(zone_.blocks(), hasher));
  const auto key_of = [](int worker, int round) {
    return std::to_string(worker) + "-" + std::to_string(round % 20);
  };
  const std::uint32_t generation = logs.front()->generation();
  run_workers([&](int worker) {
    BlockLog& log = *logs[static_cast<std::size_t>(worker)];
    for (int round = 0; round < 4 * kRounds; ++round) {
      const std::string key = key_of(worker, round);
      log.list().lift("login", key, kNow);
      log.list().add({.rule = "login", .key = key, .since = kNow, .until = kNow + hours(1)}, kNow);
      log.learn(kNow);
    }
  });
  EXPECT_GT(logs.front()->generation(), generation) << "it never started over";
  for (const auto& log : logs) {
    log->learn(kNow);
    for (int round = 0; round < 20 * kWorkers; ++round) {
      EXPECT_TRUE(log->list().until("login", key_of(round % kWorkers, round / kWorkers), kNow));
    }
  }
}

TEST_F(ZoneRaceTest, OneWorkerHasTheSeatAndOthersReadWholeNotes) {
  std::atomic<int> seated{0};
  run_workers([&](int number) {
    const FleetBoard::Worker worker{.fleet = 7, .process = number + 1};
    for (int round = 0; round < kRounds; ++round) {
      const auto news = zone_.board().look(worker, FleetBoard::Wish::kSeat, kNow);
      const NodesHeard& nodes = news.known.nodes;
      EXPECT_TRUE(nodes.silent == 0 || nodes.silent == nodes.live);
      if (!news.has_seat) continue;
      EXPECT_EQ(++seated, 1);
      zone_.board().note(worker, {.nodes = {.live = 2 + round, .silent = 2 + round}});
      --seated;
      zone_.board().leave(worker);
    }
  });
}

// The heirs note and close units of their own meanwhile.
TEST_F(ZoneRaceTest, OneWorkerInheritsWhatADeadOneOwed) {
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 100, hours(1)});
  const auto charge_of = [&](std::uint64_t key) {
    return Charge{.key = {key, key}, .quota = &quota};
  };
  constexpr std::uint64_t kNotes = 200;
  std::array<std::atomic<std::int64_t>, kNotes> inherited{};
  std::jthread([&] {
    OwedLedger ledger(zone_.owed(), {.fleet = 7, .process = dead});
    for (std::uint64_t key = 0; key < kNotes; ++key) {
      ledger.open(charge_of(key))->units.store(3, std::memory_order_release);
    }
  }).join();
  const std::array<std::int32_t, 2> living = {::getpid(), 1};
  run_workers([&](int worker) {
    if (static_cast<std::size_t>(worker) >= living.size()) return;
    OwedLedger ledger(zone_.owed(),
                      {.fleet = 7, .process = living[static_cast<std::size_t>(worker)]});
    for (int round = 0; round < kRounds; ++round) {
      OwedUnits::Note* const note = ledger.open(charge_of(kNotes));
      if (note != nullptr) note->units.store(1, std::memory_order_release);
      ledger.inherit([&](const Charge& charge, std::int64_t) {
        ASSERT_LT(charge.key.low, kNotes);
        inherited[charge.key.low] += charge.cost;
      });
      if (note != nullptr) ledger.close(*note);
    }
  });
  for (const auto& units : inherited) EXPECT_EQ(units, 3);
}

}  // namespace
}  // namespace weir::nginx
