#include "cli/kept/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace weir {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

class StateFileTest : public testing::Test {
 protected:
  StateFileTest() { fs::create_directories(folder_); }
  ~StateFileTest() override { fs::remove_all(folder_); }

  void save_blocks(Duration wall_lead = Duration{0}) {
    auto blocks = BlockList(hasher_);
    blocks.add({.rule = "login", .key = "short", .since = kNow, .until = kNow + 1min}, kNow);
    blocks.add({.rule = "login", .key = "long", .since = kNow, .until = kNow + 1h}, kNow);
    StateFile(path_, blocks).save({.now = kNow, .wall_lead = wall_lead});
  }
  std::string text() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::string failure(const std::string& path) {
    const auto error = StateFile(path, blocks_).load({.now = kNow});
    return error ? error->message : "";
  }
  std::optional<Instant> end_of(const std::string& key) {
    return blocks_.until("login", key, Instant{});
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "weir_state_file_test";
  const std::string path_ = (folder_ / "state").string();
  KeyHasher hasher_{HashSecret{}};
  BlockList blocks_{hasher_};
  StateFile file_{path_, blocks_};
};

TEST_F(StateFileTest, KeepsBlocksUntilTheirEnd) {
  save_blocks();
  EXPECT_FALSE(file_.load({.now = kNow + 5min}));
  EXPECT_EQ(blocks_.size(), 1u);
  EXPECT_EQ(end_of("long"), kNow + 1h);
}

// Another node that had not heard of the lift would bring the block back.
TEST_F(StateFileTest, KeepsLiftsAndTheInstantsOfActs) {
  const auto block = Block{.rule = "login", .key = "a", .since = kNow, .until = kNow + 1h};
  auto before = BlockList(hasher_);
  before.add(block, kNow);
  before.lift("login", "a", kNow + 1s);
  before.add({.rule = "login", .key = "b", .since = kNow, .until = kNow + 1h}, kNow);
  StateFile(path_, before).save({.now = kNow + 1s, .wall_lead = 7us});
  EXPECT_FALSE(file_.load({.now = kNow + 2s, .wall_lead = -9us}));
  EXPECT_EQ(blocks_.size(), 1u);
  EXPECT_EQ(blocks_.list("login", 1, kNow).front().since, kNow);
  blocks_.learn(block, std::nullopt, kNow + 2s);
  EXPECT_EQ(end_of("a"), std::nullopt);
}

// Once, if there were more blocks than the list takes, those that ended soonest stayed.
TEST_F(StateFileTest, TheLongestBlocksStayIfThereAreTooMany) {
  constexpr std::size_t kPlaces = 64;
  auto many = BlockList(hasher_);
  for (std::size_t i = 1; i <= 2 * kPlaces; ++i) {
    const auto until = kNow + std::chrono::minutes(i);
    many.add({.rule = "login", .key = std::to_string(i), .since = kNow, .until = until}, kNow);
  }
  StateFile(path_, many).save({.now = kNow});
  auto few = BlockList(hasher_, kPlaces);
  EXPECT_FALSE(StateFile(path_, few).load({.now = kNow}));
  EXPECT_EQ(few.size(), kPlaces);
  EXPECT_EQ(few.list("", 1, kNow).front().key, std::to_string(kPlaces + 1));
}

TEST_F(StateFileTest, IsWrittenOnlyWhenSomethingChanged) {
  save_blocks();
  EXPECT_FALSE(file_.load({.now = kNow}));
  fs::remove(path_);
  file_.save({.now = kNow});
  EXPECT_FALSE(fs::exists(path_));
  blocks_.lift("login", "long", kNow);
  file_.save({.now = kNow});
  EXPECT_TRUE(fs::exists(path_));
}

// The timeline of the old process stood still for ten minutes: the machine was suspended.
TEST_F(StateFileTest, EndsOfBlocksFollowTheWallClockOverARestart) {
  save_blocks(10min);
  EXPECT_FALSE(file_.load({.now = kNow + 12min, .wall_lead = 0s}));
  EXPECT_EQ(end_of("short"), std::nullopt);
  EXPECT_EQ(end_of("long"), kNow + 1h + 10min);
}

// A machine without a battery starts in 1970, until it hears from a time server.
TEST_F(StateFileTest, AClockThatIsBehindDoesNotMakeBlocksLonger) {
  save_blocks();
  const Instant then = instant_from_epoch_us(60'000'000);
  EXPECT_FALSE(file_.load({.now = then}));
  EXPECT_EQ(end_of("long"), then + 1h);
}

TEST_F(StateFileTest, ABlockThatIsNewerThanTheActOfAClockAheadIsKept) {
  auto before = BlockList(hasher_);
  before.learn({.rule = "login",
                .key = "a",
                .since = kNow + 1h,
                .until = kNow,
                .reason = BlockReason::kLifted},
               std::nullopt, kNow);
  before.add({.rule = "login",
              .key = "a",
              .since = kNow,
              .until = kNow + 30min,
              .reason = BlockReason::kManual},
             kNow);
  StateFile(path_, before).save({.now = kNow});
  EXPECT_FALSE(file_.load({.now = kNow + 1s}));
  EXPECT_EQ(end_of("a"), kNow + 30min);
}

TEST_F(StateFileTest, WithAnyBitFlippedIsMovedAsideAndNotLoadedInPart) {
  save_blocks();
  const std::string good = text();
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += 7) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    write(bad);
    const bool has_name = bit / 8 >= 11;  // "weir state "
    ASSERT_EQ(failure(path_).empty(), has_name) << bit;
    ASSERT_TRUE(blocks_.empty()) << bit;
    if (!has_name) continue;
    ASSERT_TRUE(fs::exists(path_ + ".broken")) << bit;
    fs::remove(path_ + ".broken");
  }
  for (const std::string& cut : {good.substr(0, good.size() - 1), good + "x", std::string()}) {
    write(cut);
    EXPECT_EQ(failure(path_), "");
    EXPECT_TRUE(blocks_.empty());
    EXPECT_TRUE(fs::exists(path_ + ".broken"));
  }
}

TEST_F(StateFileTest, AnotherFileInItsPlaceStaysAsItIs) {
  write("rules: []\n");
  EXPECT_EQ(failure(path_), path_ + " is not a state file; name another file, or move this one");
  EXPECT_EQ(text(), "rules: []\n");
  write("weir tenants 2 0\n");
  EXPECT_NE(failure(path_), "");
  EXPECT_FALSE(fs::exists(path_ + ".broken"));
  write("weir state 1\nend 0\n");  // an older version
  EXPECT_EQ(failure(path_), "");
  EXPECT_TRUE(fs::exists(path_ + ".broken"));
}

TEST_F(StateFileTest, APipeOrADeviceInItsPlaceStaysWhereItIs) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(failure(path_), path_ + " is not a state file; name another file, or move this one");
  EXPECT_TRUE(fs::is_fifo(path_));
}

TEST_F(StateFileTest, MayBeMissingAndIsThenWritten) {
  EXPECT_EQ(failure(path_), "");
  EXPECT_TRUE(blocks_.empty());
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(StateFileTest, AFolderInItsPlaceIsAnErrorAtOnce) {
  fs::create_directories(folder_ / "folder");
  EXPECT_THAT(failure((folder_ / "folder").string()),
              testing::AllOf(HasSubstr((folder_ / "folder").string()), HasSubstr("directory")));
  EXPECT_TRUE(fs::is_directory(folder_ / "folder"));
}

TEST_F(StateFileTest, AMissingFolderIsAnErrorAtOnce) {
  EXPECT_THAT(failure((folder_ / "no" / "state").string()),
              testing::AllOf(HasSubstr((folder_ / "no" / "state").string()),
                             HasSubstr("No such file or directory")));
}

TEST_F(StateFileTest, ThatNobodyMayReadStaysAsItIs) {
  const fs::path link = folder_ / "loop";
  fs::create_symlink(link, link);
  EXPECT_THAT(failure(link.string()), HasSubstr("cannot read the state file " + link.string()));
  EXPECT_TRUE(fs::is_symlink(link));
}

}  // namespace
}  // namespace weir
