#include "logs/sorted_log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

namespace weir::lab {
namespace {

constexpr Instant kLatest = instant_from_epoch_us(2'000'000'000'000'000);
const std::string kFormat = "$msec \"$request\" $remote_addr";

std::string written(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + "/sorted_log_test." + name;
  std::ofstream(path) << text;
  return path;
}

std::string line(std::int64_t second, std::string_view path) {
  return std::to_string(1'700'000'000 + second) + " \"GET /" + std::string(path) +
         " HTTP/1.1\" 192.0.2.1\n";
}

std::string paths(SortedLog& log) {
  std::string text;
  while (const auto* request = log.next()) text += request->uri.substr(1);
  return text;
}

TEST(SortedLog, SortsAndMerges) {
  SortedLog log(kLatest);
  EXPECT_EQ(
      log.add(written("a", line(1, "a") + line(5, "e") + line(3, "c") + line(3, "d")), kFormat),
      "");
  EXPECT_EQ(log.add(written("b", line(2, "b") + line(6, "f")), kFormat), "");
  EXPECT_EQ(paths(log), "abcdef");
  EXPECT_EQ(log.counts().lines, 6U);
  EXPECT_EQ(log.counts().late, 0U);
  EXPECT_EQ(log.progress(), 1);
}

TEST(SortedLog, AnEmptyFileHasNoLines) {
  const std::string common =
      R"(192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET /a HTTP/1.1" 200 5)";
  SortedLog log(kLatest);
  EXPECT_EQ(log.add(written("none", ""), ""), "");
  EXPECT_EQ(log.add(written("some", common + "\n"), ""), "");
  EXPECT_EQ(log.add(written("blank", "\n\r\n\n"), ""), "");
  EXPECT_EQ(paths(log), "a");
  EXPECT_EQ(log.counts().lines, 1U);
  EXPECT_EQ(log.format_names(), "common");
  EXPECT_TRUE(log.knows().status);
  EXPECT_EQ(log.progress(), 1);
  SortedLog none(kLatest);
  EXPECT_EQ(none.add(written("none", ""), ""), "");
  EXPECT_EQ(none.next(), nullptr);
  const std::string too_long(2 * LogFile::kLineMax, 'x');
  EXPECT_NE(none.add(written("too_long", too_long), ""), "") << "it has a line";
}

TEST(SortedLog, CountsWhatComesTooLate) {
  std::string text = line(0, "x");
  for (std::size_t i = 0; i < SortedLog::kWindow; ++i) text += line(1, "x");
  SortedLog log(kLatest);
  EXPECT_EQ(log.add(written("late", text + line(0, "late")), kFormat), "");
  EXPECT_EQ(paths(log).find("late"), std::string::npos);
  EXPECT_EQ(log.counts().late, 1U);
}

TEST(SortedLog, SortsFewerLinesIfTheyAreLong) {
  const std::string longest(LogFile::kLineMax - 100, 'x');
  std::string text = line(0, longest);
  for (std::size_t i = 0; i < SortedLog::kWindowBytes / longest.size() + 2; ++i) {
    text += line(1, longest);
  }
  SortedLog log(kLatest);
  EXPECT_EQ(log.add(written("longest", text + line(0, "late")), kFormat), "");
  EXPECT_EQ(paths(log).find("late"), std::string::npos);
  EXPECT_EQ(log.counts().late, 1U);
}

TEST(SortedLog, IsNotHeldUpByTheFuture) {
  SortedLog log(kLatest);
  const auto text = line(1, "a") + line(250'000'000, "z") + line(2, "b") + line(999'999'999, "y") +
                    "9999999999 \"GET / HTTP/1.1\" 192.0.2.1\n" + line(3, "c");
  EXPECT_EQ(log.add(written("future", text), kFormat), "");
  EXPECT_EQ(paths(log), "abcz");
  EXPECT_EQ(log.counts().unread, 2U);
  EXPECT_EQ(log.counts().shown[0].reason, "its time is in the future");
  EXPECT_EQ(log.counts().shown[0].number, 4U);
}

TEST(SortedLog, ShowsTheFirstUnreadLines) {
  std::string text = line(1, "a");
  for (int i = 0; i < 20; ++i) text += "nonsense\n";
  SortedLog log(kLatest);
  EXPECT_EQ(log.add(written("unread", text), kFormat), "");
  EXPECT_EQ(paths(log), "a");
  EXPECT_EQ(log.counts().unread, 20U);
  EXPECT_EQ(log.counts().shown.size(), LogCounts::kShown);
  EXPECT_EQ(log.counts().shown[0].beginning, "nonsense");
}

TEST(SortedLog, KnowsTheFormatOfALogThatBeginsWithLongLines) {
  const std::string endless(10'000'000, 'x');
  const std::string hit = R"(192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5)";
  SortedLog log(kLatest);
  EXPECT_EQ(log.add(written("long", endless + "\n\n" + endless + "\n" + hit + "\n"), ""), "");
  EXPECT_EQ(paths(log), "a");
  EXPECT_EQ(log.format_names(), "common");
  EXPECT_EQ(log.counts().unread, 2U);
  EXPECT_EQ(log.counts().shown[1].number, 3U);
}

TEST(SortedLog, RefusesLogsOfNoKnownFormat) {
  SortedLog log(kLatest);
  EXPECT_NE(log.add(written("unknown", "nonsense\n"), ""), "");
  EXPECT_NE(log.add("/nowhere", ""), "");
  EXPECT_NE(log.add(written("a", line(1, "a")), "$nothing"), "");
}

}  // namespace
}  // namespace weir::lab
