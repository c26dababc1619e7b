#include "cli/node/state_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);

class StateFileTest : public testing::Test {
 protected:
  ~StateFileTest() override {
    ::unlink(path_.c_str());
    ::unlink((path_ + ".broken").c_str());
  }
  void save_blocks() {
    auto blocks = BlockList(hasher_);
    blocks.add({.rule = "login", .key = "short", .since = kNow, .until = kNow + 1min}, kNow);
    blocks.add({.rule = "login", .key = "long", .since = kNow, .until = kNow + 1h}, kNow);
    StateFile(path_, blocks).save(kNow);
  }

  const std::string path_ = testing::TempDir() + "weir_state_file";
  KeyHasher hasher_{HashSecret{}};
  BlockList blocks_{hasher_};
  StateFile file_{path_, blocks_};
};

TEST_F(StateFileTest, KeepsBlocksUntilTheirEnd) {
  save_blocks();
  file_.load(kNow + 5min);
  EXPECT_EQ(blocks_.size(), 1u);
  EXPECT_EQ(blocks_.until("login", "long", kNow + 5min), kNow + 1h);
}

TEST_F(StateFileTest, IsWrittenOnlyWhenSomethingChanged) {
  save_blocks();
  file_.load(kNow);
  ::unlink(path_.c_str());
  file_.save(kNow);
  EXPECT_FALSE(std::filesystem::exists(path_));
  blocks_.lift("login", "long");
  file_.save(kNow);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(StateFileTest, ThatIsNotWholeIsMovedAside) {
  std::ofstream(path_) << "weir blocks 1\n7 5 den";
  file_.load(kNow);
  EXPECT_TRUE(blocks_.empty());
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(std::filesystem::exists(path_ + ".broken"));
}

TEST_F(StateFileTest, MayBeMissing) {
  file_.load(kNow);
  EXPECT_TRUE(blocks_.empty());
}

}  // namespace
}  // namespace weir
