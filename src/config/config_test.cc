// The files in testdata/ are the specification: each file in good/ must load, and each in broken/
// must give exactly the lines of its .expected file. After a deliberate change of messages or
// fields, WEIR_UPDATE_EXPECTED=1 config_test rewrites these files, docs/weir.schema.json and the
// table in docs/reference/settings.md: read the diff.

#include "config/config.h"
#include "config/config_warnings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/duration_text.h"
#include "base/expected_file_testing.h"
#include "config/fields/field_value.h"
#include "config/fields/fields.h"
#include "rules/request/country_file_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> mistakes_of(std::string_view text) {
  std::vector<std::string> lines;
  const auto parsed = parse_config(text, "weir.yaml");
  if (!parsed)
    for (const ConfigError& error : parsed.error()) lines.push_back(error.to_string());
  return lines;
}

TEST(BrokenConfigs, GiveTheExpectedMessages) {
  const auto files = yaml_files("testdata/broken");
  EXPECT_GE(files.size(), 20u);
  for (const fs::path& path : files) {
    const auto parsed = parse_config(text_of_file(path), path.filename().string());
    std::string lines;
    if (!parsed)
      for (const ConfigError& error : parsed.error()) lines += error.to_string() + '\n';
    EXPECT_NE(lines, "") << path << " is accepted";
    expect_file(fs::path(path).replace_extension(".expected"), lines);
  }
}

TEST(WarnedConfigs, GiveTheExpectedWarnings) {
  const auto files = yaml_files("testdata/warned");
  EXPECT_GE(files.size(), 3u);
  for (const fs::path& path : files) {
    const auto parsed = parse_config(text_of_file(path), path.filename().string());
    ASSERT_TRUE(parsed.has_value()) << path;
    std::string lines;
    const auto name = path.filename().string();
    for (const ConfigError& warning : config_warnings(*parsed, name)) {
      lines += warning.to_string() + '\n';
    }
    expect_file(fs::path(path).replace_extension(".expected"), lines);
  }
}

TEST(GoodConfigs, Load) {
  const auto files = yaml_files("testdata/good");
  EXPECT_GE(files.size(), 5u);
  for (const fs::path& path : files) {
    EXPECT_THAT(mistakes_of(text_of_file(path)), IsEmpty()) << path;
  }
}

// The gateway takes these rules; other hosts refuse them and say what to do.
TEST(ConfigsForGateways, AreRefusedByOthers) {
  for (const fs::path& path : yaml_files("testdata/for_gateways")) {
    const auto name = path.filename().string();
    const auto taken = parse_config(text_of_file(path), name, ServedBy::kGateway);
    EXPECT_TRUE(taken.has_value()) << path;
    const auto refused = parse_config(text_of_file(path), name);
    ASSERT_FALSE(refused.has_value()) << path;
    std::string lines;
    for (const ConfigError& error : refused.error()) {
      lines += error.to_string() + '\n';
    }
    expect_file(fs::path(path).replace_extension(".expected"), lines);
  }
}

TEST(Config, HoldsEveryField) {
  const auto parsed = load_config("testdata/good/full.yaml");
  ASSERT_TRUE(parsed.has_value());
  const Config& config = *parsed;
  EXPECT_EQ(config.settings->listen.http, "127.0.0.1:8080");
  EXPECT_EQ(config.settings->threads, 2u);
  EXPECT_EQ(config.settings->max_keys, 1'048'576u);
  ASSERT_THAT(config.rules, SizeIs(6));

  const Rule& login = config.rules[0];
  EXPECT_EQ(login.id, "login");
  EXPECT_EQ(login.quota.algorithm(), Algorithm::kSlidingWindow);
  EXPECT_EQ(login.quota.limit(), 5);
  EXPECT_EQ(login.quota.window(), 1min);
  EXPECT_TRUE(login.enabled);

  EXPECT_EQ(config.rules[1].quota.algorithm(), Algorithm::kFixedWindow);
  EXPECT_EQ(config.rules[2].quota.algorithm(), Algorithm::kSlidingLog);
  EXPECT_FALSE(config.rules[2].enabled);
  EXPECT_EQ(config.rules[3].quota.algorithm(), Algorithm::kTokenBucket);
  EXPECT_EQ(config.rules[3].quota.capacity(), 250);
  EXPECT_EQ(config.rules[4].quota.algorithm(), Algorithm::kAdaptive);
  EXPECT_EQ(config.rules[5].quota.algorithm(), Algorithm::kExponentialBackoff);
}

TEST(Config, CountsOverAllPlacesInAModeOfItsOwn) {
  const std::string text =
      "store: {redis: 'redis://here', world: 'redis://there'}\n"
      "rules: [{id: a, limit: 1, window: 1s, scope: world, mode: async},\n"
      "  {id: b, limit: 1, window: 1s, scope: place, mode: async},\n"
      "  {id: c, limit: 1, window: 1s}]";
  const auto parsed = parse_config(text, "test");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->rules[0].mode, Mode::kWorld);
  EXPECT_EQ(parsed->rules[1].mode, Mode::kAsync);
  EXPECT_EQ(parsed->rules[2].mode, std::nullopt);
  const auto in_nginx = parse_config(text, "test", ServedBy::kGateway);
  ASSERT_FALSE(in_nginx.has_value());
  ASSERT_THAT(in_nginx.error(), SizeIs(2));
  EXPECT_THAT(in_nginx.error()[0].to_string(),
              testing::HasSubstr("test:1:39: nginx's workers share"));
  EXPECT_THAT(in_nginx.error()[1].to_string(),
              testing::HasSubstr("test:2:46: 'scope: world' is not for"));
}

// An editor may leave a file like this for a moment.
TEST(Config, RefusesAFileOfNoBytes) {
  const auto loaded = load_config("/dev/null");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().front().to_string(),
            "/dev/null: the file is empty; if no rules are meant, write 'rules: []' or a comment");
}

// Otherwise the third block, a day, would outlive the memory of the first two.
TEST(Config, RemembersBlocksBeyondTheirOwnLength) {
  const auto parsed = parse_config(
      "rules: [{id: a, limit: 1, window: 1s, on_deny: {block: [5m, 1h, 1d]}},\n"
      "  {id: b, limit: 1, window: 1s, on_deny: {block: [5m, 366d], block_memory: 366d}}]",
      "test");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->rules[0].denial.block_memory, 24h + 3 * 24h);
  EXPECT_EQ(parsed->rules[1].denial.block_memory, kWindowMax);
}

TEST(Config, ReadsWhatHoldsInASurge) {
  const auto parsed = parse_config(
      "rules:\n  - {id: a, limit: 5, window: 1m, on_surge: {limit: 7%}}\n"
      "  - {id: b, limit: 5, window: 1m}\n",
      "weir.yaml");
  EXPECT_EQ(parsed->rules[0].surge_percent, 7);
  EXPECT_EQ(parsed->rules[1].surge_percent, 100);
}

TEST(Config, ReadsAtWhichPartsOfALimitToNotify) {
  const auto parsed = parse_config(
      "rules:\n  - {id: a, limit: 5, window: 1m, notify_at: [100%, 7%]}\n"
      "  - {id: b, limit: 5, window: 1m, notify_at: 80%}\n",
      "weir.yaml");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_THAT(parsed->rules[0].notify_at, testing::ElementsAre(7, 100, 0, 0));
  EXPECT_THAT(parsed->rules[1].notify_at, testing::ElementsAre(80, 0, 0, 0));
}

TEST(Config, HoldsHowEnvoyIsAnswered) {
  const auto parsed = parse_config(
      "listen: {http2_age_max: 1h}\n"
      "envoy: {response_headers: true, limit_header: X-Limit, response_metadata: true}",
      "test");
  ASSERT_TRUE(parsed.has_value());
  const Config& config = *parsed;
  const auto& settings = config.settings;
  EXPECT_EQ(settings->listen.http2_age_max, 1h);
  EXPECT_TRUE(settings->envoy.response_headers);
  EXPECT_EQ(settings->envoy.limit_header, "X-Limit");
  EXPECT_EQ(settings->envoy.reset_header, "RateLimit-Reset");
  EXPECT_TRUE(settings->envoy.response_metadata);
}

// Only load_config() reads the key, so that a text can be checked without its files.
TEST(Config, SaysWhatIsWrongWithTheKeyOfTokens) {
  const fs::path folder = fs::path(testing::TempDir()) / "weir_config_test_jwt";
  fs::create_directories(folder);
  const auto load = [&](const std::string& field, const std::string& key) {
    std::ofstream(folder / "key", std::ios::binary) << key;
    std::ofstream(folder / "weir.yaml", std::ios::binary)
        << "jwt:\n  " << field << ": " << (folder / "key").string() << "\n";
    return load_config((folder / "weir.yaml").string());
  };
  const auto mistake = [&](const std::string& field, const std::string& key) {
    const auto loaded = load(field, key);
    return loaded ? std::string() : loaded.error().front().to_string();
  };
  EXPECT_THAT(mistake("secret_file", "short\n"),
              testing::AllOf(testing::HasSubstr("weir.yaml:2:16: "),
                             testing::HasSubstr("shorter than 32 bytes")));
  EXPECT_THAT(mistake("public_key_file", "no key"), testing::HasSubstr("holds no public key"));
  const auto good = load("secret_file", std::string(32, 's') + "\n");
  ASSERT_TRUE(good.has_value());
  EXPECT_NE(good->sources.token_key, nullptr);
  fs::remove_all(folder);
  EXPECT_THAT(mistakes_of("jwt: {secret_file: /no/such/file}"), IsEmpty());
}

TEST(Config, OpensTheDatabaseOfCountries) {
  const fs::path folder = fs::path(testing::TempDir()) / "weir_config_test_countries";
  fs::create_directories(folder);
  const auto load = [&](const std::string& database) {
    fs::remove(folder / "db");
    std::ofstream(folder / "db", std::ios::binary) << database;
    std::ofstream(folder / "weir.yaml", std::ios::binary)
        << "rules: [{id: a, limit: 500, window: 1m, match: {country: DE}}]\n"
        << "country_database: " << (folder / "db").string() << "\n";
    return load_config((folder / "weir.yaml").string());
  };
  constexpr CountryNetwork kNetworks[] = {{"192.0.2.0", 24, "DE"}};
  const auto good = load(country_file(kNetworks));
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->sources.country_database->country(*IpAddress::parse("192.0.2.1")), "DE");
  const auto broken = load("DE");
  ASSERT_FALSE(broken.has_value());
  EXPECT_THAT(broken.error().front().to_string(),
              testing::AllOf(testing::HasSubstr("weir.yaml:2:19: "),
                             testing::HasSubstr("no database in MaxMind's format")));
  fs::remove_all(folder);
}

TEST(Config, LeavesUnsetFieldsUnset) {
  for (const std::string_view text : {"", "# nothing\n", "---\n", "{}", "rules:\nlisten:\n"}) {
    const auto parsed = parse_config(text, "weir.yaml");
    ASSERT_TRUE(parsed.has_value()) << text;
    const Config& config = *parsed;
    for (const auto& setting : all_settings()) {
      EXPECT_FALSE(config.settings.is_set(setting.name)) << setting.name;
    }
    EXPECT_THAT(config.rules, IsEmpty());
  }
}

TEST(Config, ReadsWindowsToTheMicrosecond) {
  const auto parsed = load_config("testdata/good/windows.yaml");
  ASSERT_TRUE(parsed.has_value());
  std::vector<Duration> windows;
  for (const Rule& rule : parsed->rules) windows.push_back(rule.quota.window());
  EXPECT_THAT(windows, ElementsAre(60s, 1500ms, 60s, 90min, 9 * 24h + 3h + 4min + 5s + 6ms + 7us,
                                   500ms, 1001us));
}

TEST(Config, ReportsAFileThatCannotBeReadWithoutALine) {
  const auto parsed = load_config("testdata/no_such_file.yaml");
  ASSERT_FALSE(parsed.has_value());
  const ConfigErrors& errors = parsed.error();
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].line, 0u);
  EXPECT_EQ(errors[0].to_string(),
            "testdata/no_such_file.yaml: cannot be read: No such file or directory");
  EXPECT_FALSE(load_config("testdata").has_value());
}

// Regression: fopen() waited for a writer, on the thread that starts or reloads.
TEST(Config, AFifoThatNobodyWritesToIsEmpty) {
  const fs::path fifo = fs::path(testing::TempDir()) / "weir_config_test_fifo";
  fs::remove(fifo);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto loaded = load_config(fifo.string());
  fs::remove(fifo);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error().front().to_string(),
              testing::HasSubstr("weir_config_test_fifo: the file is empty"));
}

TEST(Config, ReadsAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const std::string_view text = "rules:\n  - {id: a, limit: 1, window: 1m}\n";
  EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  const auto loaded = load_config("/dev/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_THAT(loaded->rules, SizeIs(1));
}

TEST(Config, ReadsNoMoreOfAnEndlessFileThanItMay) {
  const auto text = weir::read_file("/dev/zero", 1'000);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->size(), 1'001u);
}

TEST(Config, RefusesAFileBeyondItsBound) {
  const std::string full(std::size_t{1} << 20, '#');
  EXPECT_THAT(mistakes_of(full), IsEmpty());
  EXPECT_THAT(mistakes_of(full + '#'),
              ElementsAre("weir.yaml:1:1: the file is larger than 1 MiB, more than a "
                          "configuration can be"));
}

TEST(Config, StopsReportingAfterAHundredMistakes) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "x" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(mistakes_of(text), SizeIs(100));
  const auto lines = mistakes_of(text + "y: 1\nz: 1\n");
  EXPECT_THAT(lines, SizeIs(101));
  EXPECT_EQ(lines.back(), "weir.yaml:101:1: more mistakes follow; fix these first");
}

TEST(Config, ReportsAMistakeBehindAnAliasWhereItStands) {
  EXPECT_THAT(mistakes_of("rules:\n"
                          "  - {id: a, limit: &limit ten, window: 1m}\n"
                          "  - {id: b, limit: *limit, window: 1m}\n"),
              ElementsAre("weir.yaml:2:20: 'limit' must be a whole number from 0 to "
                          "1000000000000, but is the text 'ten'",
                          "weir.yaml:2:20: 'limit' must be a whole number from 0 to "
                          "1000000000000, but is the text 'ten'"));
}

std::string in_code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string value_cell(const Field& field) {
  switch (field.type) {
    case FieldType::kInteger:
      return std::to_string(field.range.min) + " to " + std::to_string(field.range.max);
    case FieldType::kDuration:
      return "a duration, " + format_duration(Duration(field.range.min)) + " to " +
             format_duration(Duration(field.range.max));
    case FieldType::kListenAddress: return "HOST:PORT or `unix:/path`";
    default: return expected_text(field);
  }
}

std::string default_cell(const Field& field) {
  if (field.presence == Field::Presence::kRequired) return "required";
  return field.default_text.empty() ? "" : in_code(field.default_text);
}

std::string option_cell(const Option& option) {
  if (option.name.empty()) return "";
  return in_code(option.name) + (option.variable.empty() ? "" : ", " + in_code(option.variable));
}

std::string settings_table() {
  std::string table =
      "| setting | value | default | option, variable | by a reload | meaning |\n"
      "|---|---|---|---|---|---|\n";
  for (const auto& [name, field, section] : all_settings()) {
    const bool by_restart = field.change == Field::Change::kByRestart;
    for (const auto& cell :
         {in_code(name), value_cell(field), default_cell(field), option_cell(field.option),
          std::string(by_restart ? "" : "yes"), std::string(field.description)}) {
      table += "| " + cell + " ";
    }
    table += "|\n";
  }
  return table;
}

TEST(ConfigManual, HasTheTableOfSettings) {
  const std::string path = "../../docs/reference/settings.md";
  const std::string manual = text_of_file(path);
  const std::string begin = "<!-- settings -->\n";
  const auto start = manual.find(begin) + begin.size();
  const auto end = manual.find("<!-- end of settings -->");
  ASSERT_LE(start, end);
  ASSERT_NE(end, std::string::npos);
  expect_file(path, manual.substr(0, start) + settings_table() + manual.substr(end));
}

TEST(ConfigManual, HasARowForEveryFieldOfARule) {
  const std::string manual = text_of_file("../../docs/reference/rules.md");
  for (const Field& field : kRuleSection.fields) {
    EXPECT_THAT(manual, testing::HasSubstr("\n| `" + std::string(field.name) + "` |"));
  }
}

// Editors download docs/weir.schema.json.
TEST(ConfigSchema, IsTheOneInTheDocumentation) {
  expect_file("../../docs/weir.schema.json", config_schema());
}

}  // namespace
}  // namespace weir
