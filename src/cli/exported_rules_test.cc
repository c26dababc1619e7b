#include "cli/exported_rules.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/expected_file_testing.h"
#include "rules/packed/packed_rules.h"

namespace weir {
namespace {

std::string lines_of(const ConfigErrors& errors) {
  std::string lines;
  for (const ConfigError& error : errors) lines += error.to_string() + "\n";
  return lines;
}

// The refusals, a line each.
std::string refused(std::string_view text, WorkerStore store = WorkerStore::kKv) {
  const auto config = parse_config(text, "rules.yaml");
  if (!config) return lines_of(config.error());
  const auto result = exported_rules(*config, config_sources(text).rules, store, "rules.yaml");
  return result ? std::string() : lines_of(result.error());
}

TEST(ExportedRules, BeginWithTheStoreAndAreThoseInForce) {
  constexpr std::string_view kText = R"(
rules:
  - {id: login, match: {path: /login}, limit: 5, window: 1m}
  - {id: off, enabled: false, match: {}, limit: 1, window: 1s}
)";
  const auto config = *parse_config(kText, "rules.yaml");
  const auto sources = config_sources(kText).rules;
  for (const auto& [store, letter] :
       {std::pair(WorkerStore::kKv, 'k'), std::pair(WorkerStore::kDurable, 'd')}) {
    const auto bytes = *exported_rules(config, sources, store, "rules.yaml");
    EXPECT_EQ(bytes.front(), letter);
    const auto rules = unpacked_rules(std::string_view(bytes).substr(1));
    ASSERT_TRUE(rules && rules->size() == 1);
    EXPECT_EQ(rules->front().id, "login");
  }
}

TEST(ExportedRules, SayOnceWhatTwoLimitsHaveInCommon) {
  EXPECT_EQ(refused("rules:\n  - {id: r, match: {}, limit: 3, window: day,"
                    " more_limits: [{limit: 9, window: month}]}\n"),
            "rules.yaml:2:5: r: the Worker knows no calendar; write 'window' as a length such as "
            "24h\n");
}

TEST(ExportedRules, RefuseWithItsPlaceWhatTheWorkerCannotDo) {
  const std::filesystem::path folder = "testdata/export";
  for (const auto& path : yaml_files(folder)) {
    const std::string name = path.stem().string();
    for (const auto& [store, store_name] :
         {std::pair(WorkerStore::kKv, ".kv"), std::pair(WorkerStore::kDurable, ".durable")}) {
      expect_file(folder / (name + store_name + ".expected"), refused(text_of_file(path), store));
    }
  }
}

// "2026-03-27 07:59:59", UTC.
Instant utc(const std::string& text) {
  std::tm tm{};
  EXPECT_NE(strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &tm), nullptr) << text;
  return instant_from_epoch_us(std::int64_t{timegm(&tm)} * 1'000'000);
}

// worker/test/matching.test.mjs asks the Worker's part.
TEST(ExportedRules, KeepTheHours) {
  std::ifstream file("../../worker/test/schedules.json");
  const boost::json::value table = boost::json::parse(file);
  ASSERT_FALSE(table.as_array().empty());
  for (const boost::json::value& row : table.as_array()) {
    const boost::json::object rule{{"id", "a"},
                                   {"match", boost::json::object{}},
                                   {"limit", 1},
                                   {"window", "1m"},
                                   {"active", row.at("active")}};
    const std::string text =
        boost::json::serialize(boost::json::object{{"rules", boost::json::array{rule}}});
    EXPECT_EQ(refused(text), "");
    const auto config = parse_config(text, "rules.yaml");
    const Rule& read = config->rules.front();
    for (const auto& [at, held] : row.at("holds").as_object()) {
      EXPECT_EQ(read.active->holds(utc(at)), held.as_bool()) << text << ' ' << at;
    }
  }
}

}  // namespace
}  // namespace weir
