#include "store/redis/fleet/busiest_field.h"

#include <gtest/gtest.h>

#include "observe/traffic.h"
#include "proto/resp/reply_reader.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

class BusiestFieldTest : public ::testing::Test {
 protected:
  std::vector<std::string> say() {
    std::vector<std::string> words;
    field_.say(words, now_);
    return words;
  }
  // Hears texts, as from beat.lua.
  void hear(const std::vector<std::string>& texts) {
    std::string bytes = "*" + std::to_string(texts.size()) + "\r\n";
    for (const std::string& text : texts) {
      bytes += "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    }
    hear_bytes(bytes);
  }
  void hear_bytes(const std::string& bytes) {
    resp::ReplyReader reader;
    ASSERT_EQ(reader.read(bytes), resp::ReplyReader::Status::kReply);
    EXPECT_EQ(field_.hear(reader.reply(), now_), "");
  }
  std::size_t nodes() const { return keys_.of("api", KeysBy::kAsked, now_).size(); }

  Instant now_ = instant_from_epoch_us(60'000'000'000);
  Traffic traffic_;
  RuleNumber api_ = traffic_.rules().number_of("api");
  FleetKeys keys_{KeyTexts::kHidden};
  BusiestField field_{"me", traffic_.rules(), keys_};
  const RuleKeys api_keys_{.rule = "api", .asked = {.total = 3, .keys = {{5, 3, 3}}}, .denied = {}};
  const std::string word_ = to_bytes({&api_keys_, 1});
};

TEST_F(BusiestFieldTest, SaysEveryFewSecondsWhatThisNodeKnows) {
  CoreTraffic& core = traffic_.add_core();
  ASSERT_TRUE(core.record_rule(api_, RuleOutcome::kDenied, 5, now_));
  core.sample_key({api_, RuleOutcome::kDenied, 5, "alice"}, now_);
  const auto words = say();
  ASSERT_EQ(words.size(), 5u);
  EXPECT_EQ(words[0], "me");
  EXPECT_EQ(words[1], "15");
  const auto rules = busiest_word(words[4]);
  ASSERT_TRUE(rules && rules->size() == 1);
  EXPECT_EQ(rules->front().denied.keys, (std::vector<KeyEstimate>{{5, 1, 1, ""}}));
  EXPECT_EQ(field_.due(), now_ + 5s);
}

TEST_F(BusiestFieldTest, ReadsWhatOthersSayAndTakesGarbageForNothing) {
  say();
  hear({"a", word_, "b", "garbage", "c", "", "d", word_});
  EXPECT_EQ(nodes(), 2u);
  now_ += 5s;
  say();
  hear({"a"});
  EXPECT_EQ(nodes(), 0u);
}

TEST_F(BusiestFieldTest, TroubleIsItsOwn) {
  say();
  hear({"a", word_});
  now_ += 5s;
  say();
  hear_bytes("$9\r\nWRONGTYPE\r\n");
  EXPECT_EQ(keys_.trouble(), "WRONGTYPE");
  EXPECT_EQ(nodes(), 1u);
  now_ += 11s;
  EXPECT_EQ(nodes(), 0u);
  say();
  hear_bytes("*2\r\n:7\r\n*1\r\n:8\r\n");
  EXPECT_EQ(keys_.trouble(), "");
}

}  // namespace
}  // namespace weir
