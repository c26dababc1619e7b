#include "cli/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Settings settled(const ServeOptions& options, const Config& config) {
  return std::get<Settings>(settle(options, config));
}

std::vector<std::string> urls(const Settings& settings) {
  auto texts = std::vector<std::string>();
  for (const auto& listening : settings.listening) {
    texts.push_back(listening.url(listening.address));
  }
  return texts;
}

TEST(Settings, DefaultsServeThisMachineWithAllItsCores) {
  const auto settings = settled({}, {});
  EXPECT_THAT(urls(settings), ElementsAre("http://127.0.0.1:8080"));
  EXPECT_GE(settings.threads, 1);
  EXPECT_EQ(settings.max_keys, 1'048'576);
}

TEST(Settings, TheFileWinsOverDefaultsAndTheCommandLineOverTheFile) {
  const auto config = Config{.listen = {{"http", "127.0.0.1:1"}}, .threads = 2, .max_keys = 2'048};
  const auto from_file = settled({}, config);
  EXPECT_THAT(urls(from_file), ElementsAre("http://127.0.0.1:1"));
  EXPECT_EQ(from_file.threads, 2);
  EXPECT_EQ(from_file.max_keys, 2'048);

  const auto given =
      settled({.listen = {{"http", "[::1]:3"}}, .threads = 4, .max_keys = 4'096}, config);
  EXPECT_THAT(urls(given), ElementsAre("http://[::1]:3"));
  EXPECT_EQ(given.threads, 4);
  EXPECT_EQ(given.max_keys, 4'096);
}

TEST(Settings, RefusesAnAddressThatIsNone) {
  const auto result = settle({.listen = {{"http", "example.com:80"}}}, {});
  EXPECT_THAT(std::get<StartError>(result).message, HasSubstr("'example.com:80'"));
}

TEST(Settings, AUnixSocketsUrlNamesItsPath) {
  EXPECT_THAT(urls(settled({.listen = {{"http", "unix:/run/weir.sock"}}}, {})),
              ElementsAre("http://unix:/run/weir.sock"));
}

TEST(Settings, NamesWhatOnlyARestartChanges) {
  const auto running = settled({.threads = 2}, {});
  EXPECT_THAT(needs_restart(running, settled({.threads = 2}, {})), IsEmpty());
  EXPECT_THAT(needs_restart(running, settled({.threads = 3, .max_keys = 2'048}, {})),
              ElementsAre("threads 3 needs a restart; it stays 2",
                          "max_keys 2048 needs a restart; it stays 1048576"));
}

class AdminToken : public testing::Test {
 protected:
  ~AdminToken() override { ::unsetenv("WEIR_ADMIN_TOKEN"); }
  static void set_variable(const char* value) { ::setenv("WEIR_ADMIN_TOKEN", value, 1); }
  static std::string file_with(const std::string& text) {
    auto path = testing::TempDir() + "weir_admin_token";
    std::ofstream(path) << text;
    return path;
  }
  static std::optional<std::string> read(const std::string& file) {
    return std::get<std::optional<std::string>>(read_admin_token(file));
  }
  static std::string refusal(const std::string& file) {
    return std::get<StartError>(read_admin_token(file)).message;
  }
};

TEST_F(AdminToken, ComesFromTheFileElseFromTheEnvironmentElseThereIsNone) {
  EXPECT_EQ(read(""), std::nullopt);
  set_variable("from-the-environment");
  EXPECT_EQ(read(""), "from-the-environment");
  EXPECT_EQ(read(file_with("from-the-first-line\nnot this\n")), "from-the-first-line");
  EXPECT_EQ(read(file_with("written-on-windows\r\n")), "written-on-windows");
}

TEST_F(AdminToken, IsNotTakenWhenAnybodyCouldGuessIt) {
  EXPECT_THAT(refusal(file_with("short\n")), HasSubstr("16 or more"));
  EXPECT_THAT(refusal(file_with("two words of some length\n")), HasSubstr("one word"));
  EXPECT_THAT(refusal(file_with("")), HasSubstr("cannot read"));
  EXPECT_THAT(refusal("/no/such/file"), HasSubstr("/no/such/file"));
  set_variable("");
  EXPECT_THAT(refusal(""), HasSubstr("$WEIR_ADMIN_TOKEN"));
}

TEST_F(AdminToken, IsNotRepeatedInTheRefusal) {
  EXPECT_THAT(refusal(file_with("hunter2\n")), testing::Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace weir
