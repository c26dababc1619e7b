#include "load/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::load {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

LoadResult example() {
  LoadResult result;
  result.outcome.tally = {.replies = 1'500'000, .allowed = 1'499'990, .denied = 7, .failed = 3};
  for (int count = 0; count < 999; ++count) result.outcome.latency.record(128us);
  result.outcome.latency.record(5ms);
  result.lost = 2;
  result.elapsed = 2s;
  result.cpu = 500ms;
  return result;
}

TEST(Report, ForAPerson) {
  const std::string text = text_report("POST /check at 127.0.0.1:1", {.depth = 16}, example());
  EXPECT_THAT(text, HasSubstr("POST /check at 127.0.0.1:1\n"));
  EXPECT_THAT(text, HasSubstr("64 connections, 16 pipelined on each, 100,000 keys uniformly"));
  EXPECT_THAT(text, HasSubstr("requests   1,500,000 in 2.00 s\n"));
  EXPECT_THAT(text, HasSubstr("rate       750,000 req/s\n"));
  EXPECT_THAT(text, HasSubstr("1,499,990 allowed, 7 denied\n"));
  EXPECT_THAT(text, HasSubstr("errors     5 (3 bad status, 2 connection lost,"));
  EXPECT_THAT(text, HasSubstr("max 5.000 ms\n"));
  EXPECT_THAT(text, HasSubstr("client     25 % of one CPU"));
  EXPECT_THAT(text, HasSubstr("\nclosed loop: latencies are service times\n"));
}

TEST(Report, OpenLoopSaysSo) {
  const std::string text = text_report("GET /", {.rate = 250'000}, example());
  EXPECT_THAT(text, HasSubstr("open loop at 250000 req/s: latencies count from when"));
  EXPECT_THAT(text, Not(HasSubstr("closed loop")));
  EXPECT_THAT(json_report({.rate = 1}, example()), HasSubstr(R"("loop":"open")"));
}

TEST(Report, Zipf) {
  const LoadPlan plan{.keys = {.keys = 5, .distribution = Distribution::kZipf}};
  EXPECT_THAT(text_report("x", plan, example()), HasSubstr("5 keys by Zipf's law (exponent 1)"));
}

// 128.511 us: the end of the bucket that has 128 us.
TEST(Report, ForAScript) {
  EXPECT_EQ(json_report({.depth = 16}, example()),
            R"({"loop":"closed","connections":64,"pipeline":16,"threads":1,"keys":100000,)"
            R"("elapsed_s":2,"requests":1500000,"requests_per_s":750000,)"
            R"("allowed":1499990,"denied":7,"errors":5,)"
            R"("bad_status":3,"lost":2,"unanswered":0,"unsent":0,)"
            R"("reconnects":0,"client_cpu_s":0.5,"latency_ms":{)"
            R"("p50":0.128511,"p90":0.128511,"p99":0.128511,"p99.9":0.128511,"max":5}})"
            "\n");
}

TEST(Report, NothingHappened) {
  EXPECT_THAT(text_report("x", {}, {}), HasSubstr("rate       0 req/s\n"));
  EXPECT_THAT(json_report({}, {}), HasSubstr(R"("requests_per_s":0,)"));
}

}  // namespace
}  // namespace weir::load
