// A change of rules for which memory ends half way is in force, shown and in the file, or
// nothing of it is.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "base/allocation_testing.h"
#include "config/config.h"
#include "rulebook/rulebook.h"

namespace weir {
namespace {

using enum ChangeOutcome;

constexpr Instant kNow = instant_from_epoch_us(0);
constexpr auto kFile = "rules:\n  - {id: login, limit: 5, window: 1m}\n";
constexpr auto kOtherFile = "rules:\n  - {id: login, limit: 7, window: 1m}\n";

// Allocations at the end of a change, where it comes into force, are tried one by one.
constexpr std::size_t kTriedAll = 300;
constexpr std::size_t kStride = 41;

class RulebookMemoryTest : public testing::Test {
 protected:
  using Action = std::function<bool(Rulebook&)>;  // false: it was refused

  ~RulebookMemoryTest() override { std::filesystem::remove(path_); }

  static Config config_of(const char* text) { return *parse_config(text, "weir.yaml"); }
  std::string file() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  // Does it, with a shortage, and looks at all that it may have changed.
  bool is_done(const Action& action, const NoMemory::Shortage& shortage, std::int64_t limit) {
    std::ofstream(path_, std::ios::binary) << kFile;
    Rulebook book(
        path_,
        [](std::vector<Rule> rules, RequestSources) {
          return std::make_shared<const RuleSet>(std::move(rules));
        },
        [] {});
    book.load(config_of(kFile), kNow);
    bool is_done = false;
    {
      const NoMemory none(shortage);
      try {
        is_done = action(book);
      } catch (const std::bad_alloc&) {
        EXPECT_FALSE(is_done);
      }
    }
    EXPECT_EQ(book.rules()->find("login")->quota.limit(), is_done ? limit : 5);
    EXPECT_EQ(book.view()->version, is_done ? 2u : 1u);
    EXPECT_EQ(book.history().size(), is_done ? 2u : 1u);
    if (!is_done) {
      EXPECT_EQ(file(), kFile);
    }
    // The book takes the next change.
    const auto reply =
        book.change({.id = "login", .text = R"({"id":"login","limit":9,"window":60})"}, kNow);
    EXPECT_EQ(reply.outcome, kDone) << reply.detail;
    return is_done;
  }

  void try_all(const Action& action, std::int64_t limit) {
    const std::size_t before = allocations();
    EXPECT_TRUE(is_done(action, {.spared = SIZE_MAX / 2, .failing = 1}, limit));
    const std::size_t all = allocations() - before;  // more than the action's own
    for (std::size_t spared = 0; spared < all;) {
      const bool done = is_done(action, {.spared = spared, .failing = 1}, limit);
      if (HasFailure()) FAIL() << "after " << spared << " allocations, done: " << done;
      spared += spared + kTriedAll < all ? kStride : 1;
    }
  }

  const std::string path_ = testing::TempDir() + "weir_rulebook_memory_test.yaml";
};

TEST_F(RulebookMemoryTest, AChangeInTheFileIsMadeAsAWholeOrNotAtAll) {
  const RuleChange change{.id = "login",
                          .text = R"({"id":"login","limit":6,"window":"1m"})",
                          .keep = RuleChange::Keep::kInFile};
  try_all([&](Rulebook& book) { return book.change(change, kNow).outcome == kDone; }, 6);
}

TEST_F(RulebookMemoryTest, ALoadIsDoneAsAWholeOrNotAtAll) {
  const Config config = config_of(kOtherFile);
  const auto load = [&](Rulebook& book) {
    book.load(config, kNow);
    return true;
  };
  try_all(load, 7);
}

}  // namespace
}  // namespace weir
