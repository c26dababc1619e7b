#include "nginx/zone/owed_ledger.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/shared_pages_testing.h"

namespace weir::nginx {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kFleet = 7;

class OwedLedgerTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = std::size_t{64} << 10;

  struct Inherited {
    KeyHash key;
    std::uint64_t tag;
    std::int64_t limit;
    std::int64_t units;
    std::int64_t entered;

    friend bool operator==(const Inherited&, const Inherited&) = default;
  };

  OwedLedger ledger(std::uint64_t fleet = kFleet) {
    return {memory_.bytes(), {.fleet = fleet, .process = ::getpid()}};
  }
  static void note(OwedLedger& ledger, std::uint64_t key, std::int64_t units,
                   std::int64_t entered = 0) {
    const Quota quota = *Quota::make({Algorithm::kFixedWindow, 100, 1h});
    auto* const note = ledger.open({.key = {key, key}, .quota = &quota, .cost = 0, .tag = 9});
    ASSERT_NE(note, nullptr);
    note->entered = entered;
    note->units = units;
  }
  static std::vector<Inherited> inherit(OwedLedger& ledger) {
    std::vector<Inherited> inherited;
    ledger.inherit([&](const Charge& charge, std::int64_t entered) {
      inherited.push_back({charge.key, charge.tag, charge.quota->limit(), charge.cost, entered});
    });
    return inherited;
  }

  const SharedPages memory_{kBytes};
};

TEST_F(OwedLedgerTest, WhatADeadProcessOwesIsInheritedOnce) {
  run_and_kill([&] {
    auto theirs = ledger();
    note(theirs, 1, 30, 20);
    note(theirs, 2, 0);
  });
  auto own = ledger();
  EXPECT_EQ(inherit(own), (std::vector<Inherited>{{{1, 1}, 9, 100, 30, 20}}));
  EXPECT_TRUE(inherit(own).empty());
}

TEST_F(OwedLedgerTest, WhatTheLivingOweIsTheirs) {
  auto own = ledger();
  note(own, 1, 30);
  EXPECT_TRUE(inherit(own).empty());
  run_and_kill([&] {
    auto theirs = OwedLedger(memory_.bytes(), {.fleet = kFleet, .process = ::getpid()});
    if (!inherit(theirs).empty()) ::abort();
  });
}

TEST_F(OwedLedgerTest, WhatIsOwedToAnotherFleetIsForgotten) {
  run_and_kill([&] {
    auto theirs = ledger(8);
    note(theirs, 1, 30);
  });
  auto own = ledger();
  EXPECT_TRUE(inherit(own).empty());
  auto other = ledger(8);
  EXPECT_TRUE(inherit(other).empty());
}

// A new worker may have the process number of a killed one.
TEST_F(OwedLedgerTest, AProcessInheritsFromOneOfTheSameNumber) {
  auto before = ledger();
  note(before, 1, 30);
  auto after = ledger();
  EXPECT_EQ(inherit(after).size(), 1u);
}

TEST_F(OwedLedgerTest, AFullLedgerTakesNoMoreAndNotesThatAreClosedAreFree) {
  auto own = ledger();
  const Quota quota;
  std::vector<OwedUnits::Note*> notes;
  for (;;) {
    auto* const note = own.open({.key = {}, .quota = &quota});
    if (note == nullptr) break;
    notes.push_back(note);
  }
  EXPECT_GT(notes.size(), 300u);
  EXPECT_EQ(own.open({.key = {}, .quota = &quota}), nullptr);
  for (auto* const note : notes) own.close(*note);
  EXPECT_NE(own.open({.key = {}, .quota = &quota}), nullptr);
}

}  // namespace
}  // namespace weir::nginx
