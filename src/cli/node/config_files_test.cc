#include "cli/node/config_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/node/settings_testing.h"
#include "net/loop/file_watch.h"

namespace weir {
namespace {

using testing::HasSubstr;

class ConfigFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "weir-config-files-test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const char* name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  static Config load(const ServeOptions& options) { return *load_config_files(options); }
  static std::string mistake(const ServeOptions& options) {
    return load_config_files(options).error().front().to_string();
  }

  std::filesystem::path folder_;
};

constexpr const char* kEnvoy =
    "domain: edge\n"
    "descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1}}]\n";

TEST_F(ConfigFilesTest, NoFileIsTheEmptyConfiguration) {
  EXPECT_TRUE(load({}).rules.empty());
  EXPECT_EQ(describe_config_files({}, {}), "");
}

TEST_F(ConfigFilesTest, EnvoysRulesJoinOurs) {
  const auto envoy = write("rl.yaml", kEnvoy);
  const ServeOptions options{
      .config_file = write("weir.yaml", "envoy: {config: " + envoy +
                                            "}\nrules: [{id: mine, limit: 1, window: 1s}]\n")};
  const Config config = load(options);
  ASSERT_EQ(config.rules.size(), 3u);
  EXPECT_EQ(config.rules[0].id, "mine");
  EXPECT_EQ(config.rules[2].id, "edge/a");
  EXPECT_EQ(config.rules[2].quota.algorithm(), Algorithm::kFixedWindow);
  EXPECT_EQ(describe_config_files(options, config.settings), options.config_file + " and " + envoy);
}

TEST_F(ConfigFilesTest, TheCommandLineWins) {
  const Config config =
      load({.settings = said({"--envoy-config", write("rl.yaml", kEnvoy), "--envoy-algorithm",
                              "sliding_window", "--envoy-response-headers"}),
            .config_file = write("weir.yaml", "envoy: {config: /nowhere, shadow_mode: true}\n")});
  EXPECT_EQ(config.rules.back().quota.algorithm(), Algorithm::kSlidingWindow);
  EXPECT_TRUE(config.settings->envoy.response_headers);
  EXPECT_TRUE(config.settings->envoy.shadow_mode);
  EXPECT_FALSE(config.settings->envoy.all_or_nothing);
}

TEST_F(ConfigFilesTest, SaysWhichFileIsWrong) {
  EXPECT_THAT(mistake({.settings = said(
                           {"--envoy-config", write("rl.yaml", "domain: edge\nlimits: []\n")})}),
              HasSubstr("rl.yaml:2:1: unknown key 'limits'"));
  EXPECT_THAT(mistake({.config_file = (folder_ / "none.yaml").string()}), HasSubstr("none.yaml"));
  const auto ours = write("weir.yaml",
                          "rules: [{id: mine, limit: 1, window: 1s, "
                          "descriptor: {domain: edge, entries: [{key: a}]}}]\n");
  EXPECT_THAT(mistake({.settings = said({"--envoy-config", write("rl.yaml", kEnvoy)}),
                       .config_file = ours}),
              HasSubstr("the rules 'mine' and 'edge/a' are for the same descriptor"));
}

// Once is_directory() threw, on the thread that reloads.
TEST_F(ConfigFilesTest, ALoopOfLinksIsAMistake) {
  const auto loop = (folder_ / "loop").string();
  std::filesystem::create_symlink(loop, loop);
  EXPECT_THAT(mistake({.settings = said({"--envoy-config", loop})}),
              HasSubstr("loop: cannot be read: Too many levels of symbolic links"));
  EXPECT_THAT(mistake({.config_file = loop}), HasSubstr("loop: cannot be read"));
  const std::vector<std::string> paths = {loop};
  EXPECT_EQ(fingerprint(paths), fingerprint(paths));
}

// Once the iterator over the folder threw, in the loop that waits for signals.
TEST_F(ConfigFilesTest, AFolderThatMayNotBeReadEndsNothing) {
  write("rl.yaml", kEnvoy);
  const auto closed = folder_ / "closed";
  std::filesystem::create_directory(closed);
  const std::vector<std::string> paths = {folder_.string()};
  const auto before = fingerprint(paths);
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  const bool is_root = ::geteuid() == 0;
  EXPECT_EQ(is_root ? ::seteuid(65'534) : 0, 0);
  EXPECT_EQ(fingerprint(paths), before);
  EXPECT_NO_THROW(FileWatch{paths});
  EXPECT_EQ(is_root ? ::seteuid(0) : 0, 0);
}

TEST_F(ConfigFilesTest, TheUrlOfTheRedisIsCheckedWhereItStands) {
  ServeOptions options;
  options.config_file = write("weir.yaml", "store:\n  redis: http://10.0.0.5\n");
  EXPECT_THAT(mistake(options), HasSubstr("weir.yaml:2:10: 'redis': "));
}

}  // namespace
}  // namespace weir
