// The table can fail: it reports every kind of wrong line, and no right one.

#include "algo/testing/decision_table.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "weir/quota.h"

namespace weir::algo::testing {
namespace {

void expect_rejected(const std::string& table) {
  ::testing::TestPartResultArray failures;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(&failures);
    run_tables(table);
  }
  EXPECT_GT(failures.size(), 0) << table;
}

TEST(DecisionTable, AcceptsWhatIsSo) {
  run_tables(R"(
    quota token_bucket 10/1s burst 10
    at 0ms      spend 10   ->  allow  left 0  limit 10  retry 0s  reset 1s  level 0
    at 0ms      spend 1    ->  deny   left 0  retry 100ms     # comments are skipped
    at +100ms   spend 1    ->  allow  left 0
    at -50ms    spend 1    ->  deny   retry 150ms
    at 1h       spend 1 x3 ->  allow  left 7
    at 1h       spend 11   ->  never
  )");
}

TEST(DecisionTable, RejectsWhatIsNot) {
  const char* const wrong[] = {
      "at 0s spend 1 -> deny",          "at 0s spend 1 -> allow left 8",
      "at 0s spend 1 -> allow limit 9", "at 0s spend 1 -> allow reset 1s",
      "at 0s spend 10 -> deny",         "at 0s spend 11 -> deny",
      "at 0s spend 6 x2 -> allow",      "at 0s spend 1 -> allow level 1",
  };
  for (const char* line : wrong) {
    expect_rejected(std::string("quota token_bucket 10/1s\n") + line);
  }
}

TEST(DecisionTable, RejectsWhatMakesNoSense) {
  const char* const wrong[] = {
      "at 0s spend 1 -> allow",
      "quota leaky_bucket 1/1s",
      "quota token_bucket 1",
      "quota token_bucket 1/1s burts",
      "wait 1s",
      "quota fixed_window 1/1us",
  };
  for (const char* line : wrong) {
    expect_rejected(line);
  }
  EXPECT_NONFATAL_FAILURE(run_tables("quota token_bucket 1/1s\nat 0s steal 1 -> allow"), "steal");
  EXPECT_NONFATAL_FAILURE(run_tables("quota token_bucket 1/1s\nat 0s spend 1 allow"), "->");
  EXPECT_NONFATAL_FAILURE(run_tables("quota token_bucket 1/1s\nat x spend 1 -> allow"), "duration");
  EXPECT_NONFATAL_FAILURE(run_tables("quota token_bucket 1/1s\nat 0s spend 1 -> allow tip 1"),
                          "tip");
}

// The answers of each algorithm, and the state that a switch of an adaptive quota carries over.
TEST(DecisionTable, AlgorithmsDecideAsTheirTablesSay) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("testdata")) {
    std::ifstream file(entry.path());
    run_tables(std::string{std::istreambuf_iterator<char>(file), {}}, entry.path());
    ++files;
  }
  EXPECT_EQ(files, kAlgorithmCount);
}

}  // namespace
}  // namespace weir::algo::testing
