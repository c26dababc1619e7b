// Transcripts: what clients say and hear, in the files of testdata.
//
//   test NAME           a door and a client of its own for the lines that follow
//   each NAME           the same, new for each exchange
//   password WORD, token WORD, the store fails, client (another one), at TIME
//   > what is said      several lines are sent at once
//   < what is heard     line ends as blanks; ... stands for what comes before, or behind

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/duration_text.h"
#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'000'000'000'000'000);  // a window begins

std::vector<Rule> rules() {
  const auto three = Quota::make({.algorithm = Algorithm::kFixedWindow, .limit = 3, .window = 10s});
  const auto bucket =
      Quota::make({.algorithm = Algorithm::kTokenBucket, .limit = 4, .window = 1s, .burst = 2});
  return {{.id = "login", .quota = *three},
          {.id = "search", .quota = *three},
          {.id = "bucket", .quota = *bucket},
          {.id = "off", .quota = *three, .enabled = false}};
}

class Transcript {
 public:
  void read(const std::string& line) {
    if (line.empty() || line.starts_with('#')) return;
    if (const auto word = behind(line, "> ")) {
      if (was_heard_ && is_anew_) begin();
      was_heard_ = false;
      said_ += *word + "\r\n";
    } else if (const auto expected = behind(line, "< ")) {
      compare(client_->ask(std::exchange(said_, {})), *expected);
      was_heard_ = true;
    } else {
      direct(line);
    }
  }

 private:
  static std::optional<std::string> behind(const std::string& line, std::string_view start) {
    return line.starts_with(start) ? std::optional(line.substr(start.size())) : std::nullopt;
  }

  void direct(const std::string& line) {
    if (line.starts_with("test ") || line.starts_with("each ")) {
      is_anew_ = line.starts_with("each ");
      access_ = {};
      begin();
    } else if (const auto password = behind(line, "password ")) {
      access_.password = *password;
      begin();
    } else if (const auto token = behind(line, "token ")) {
      access_.admin_token = *token;
      begin();
    } else if (const auto time = behind(line, "at ")) {
      door_->now = kStart + parse_duration(*time).value();
    } else if (line == "client") {
      client_.emplace(*door_);
    } else if (line == "the store fails") {
      door_->store.broken = true;
    } else {
      ADD_FAILURE() << "what is this?";
    }
  }

  void begin() {
    client_.reset();
    door_.emplace(RespTestDoor::Options{.rules = rules(), .access = access_});
    door_->now = kStart;
    client_.emplace(*door_);
  }

  static void compare(std::string heard, std::string expected) {
    for (auto at = heard.find("\r\n"); at != std::string::npos; at = heard.find("\r\n", at)) {
      heard.replace(at, 2, " ");
    }
    while (heard.ends_with(' ')) heard.pop_back();
    if (expected.ends_with("...")) {
      expected.resize(expected.size() - 3);
      heard = heard.substr(0, expected.size());
    } else if (expected.starts_with("...")) {
      expected.erase(0, 3);
      heard = heard.substr(heard.size() - std::min(heard.size(), expected.size()));
    }
    EXPECT_EQ(heard, expected);
  }

  RespAccess access_;
  std::optional<RespTestDoor> door_;
  std::optional<RespTestClient> client_;
  std::string said_;
  bool is_anew_ = false;
  bool was_heard_ = true;
};

TEST(RespTranscripts, AreAsTheyAreWritten) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("testdata")) {
    ++files;
    std::ifstream file(entry.path());
    Transcript transcript;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      const ::testing::ScopedTrace trace(entry.path().c_str(), number, line);
      transcript.read(line);
    }
  }
  EXPECT_EQ(files, 4);
}

}  // namespace
}  // namespace weir
