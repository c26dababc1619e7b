#include "store/redis/fleet/about_field.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "proto/resp/reply_reader.h"
#include "store/redis/fleet/fleet_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::resp_list;
using testing::resp_text;

constexpr Instant kNow = instant_from_epoch_us(1'700'000'000'000'000);

NodeAbout web_1() {
  return {.title = "web-1",
          .address = "https://[2001:db8::1]:8443",
          .version = "0.1.0",
          .mode = "leased",
          .leases = 300,
          .memory = 1000,
          .beat = 250us,
          .degraded = "it is slow",
          .since = kNow - 5s,
          .clock_lead = -1h};
}

TEST(NodeAbout, IsReadAsItWasWritten) {
  const auto read = node_about(to_bytes(web_1(), kNow), kNow + 1h);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->title, "web-1");
  EXPECT_EQ(read->address, "https://[2001:db8::1]:8443");
  EXPECT_EQ(read->version, "0.1.0");
  EXPECT_EQ(read->mode, "leased");
  EXPECT_EQ(read->leases, 300u);
  EXPECT_EQ(read->memory, 1000u);
  EXPECT_EQ(read->beat, 250us);
  EXPECT_EQ(read->degraded, "it is slow");
  EXPECT_EQ(read->since, kNow + 1h - 5s) << "by the reader's clock, whatever the other's says";
  EXPECT_EQ(read->clock_lead, -1h);
  EXPECT_EQ(node_about(to_bytes({.clock_lead = 1h}, kNow), kNow)->clock_lead, 1h);
  EXPECT_FALSE(node_about(to_bytes({.title = "n"}, kNow), kNow)->leases) << "unknown is not 0";
}

// Other versions read these bytes; docs/internals/redis.md shows them.
TEST(NodeAbout, HasTheseBytes) {
  const std::string bytes = to_bytes(web_1(), kNow);
  EXPECT_EQ(bytes,
            "1\x05web-1\x1ahttps://[2001:db8::1]:8443\x05"
            "0.1.0\x06leased\xad\x02\xe8\x07\xfa\x01\x0ait is slow\x05\xa1\x38");
  EXPECT_EQ(node_about(bytes + "what a later version says", kNow)->title, "web-1");
}

TEST(NodeAbout, CutOffOrOfAnotherVersionIsNone) {
  const std::string bytes = to_bytes(web_1(), kNow);
  const std::size_t before = bytes.size() - 2;  // of a version that says nothing of its clock
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(node_about(bytes.substr(0, size), kNow).has_value(), size == before) << size;
  }
  EXPECT_FALSE(node_about("2" + bytes.substr(1), kNow));
}

TEST(NodeAbout, OfTheMostBytesFits) {
  NodeAbout most = web_1();
  most.title = std::string(1000, 't');
  most.address = "http://" + std::string(193, 'a');
  most.version = most.mode = std::string(1000, 'v');
  most.leases = most.memory = ~std::uint64_t{0};
  most.degraded = std::string(1000, 'd');
  most.beat = 1000h;
  most.since = Instant{};
  most.clock_lead = Duration::min();
  const std::string bytes = to_bytes(most, kNow);
  EXPECT_LE(bytes.size(), AboutField::kBytesMax);
  ASSERT_TRUE(node_about(bytes, kNow));
  EXPECT_EQ(node_about(bytes, kNow)->title.size(), NodeAbout::kTitleMax);
}

TEST(NodeAbout, NothingButTheWebBecomesALink) {
  for (const std::string_view address :
       {"javascript:alert(1)", "http://", "https:///x", "http://a/b",
        "http://a\"onclick=", "ftp://a", "http://a b", "//a", "data:text/html,x",
        "http://user@host", "http://a?b", "HTTP://a"}) {
    EXPECT_FALSE(is_console_address(address)) << address;
    NodeAbout about = web_1();
    about.address = address;
    EXPECT_FALSE(node_about(to_bytes(about, kNow), kNow)) << address;
  }
  for (const std::string_view address : {"http://10.0.0.1:8080", "https://weir.example.com"}) {
    EXPECT_TRUE(is_console_address(address)) << address;
  }
}

TEST(NodeAbout, ATitleThatIsNotPrintableIsNone) {
  for (const std::string_view title : {"a\nb", "\x1b[31m", "\xe2\x80\xae", "\x7f"}) {
    NodeAbout about = web_1();
    about.title = title;
    EXPECT_FALSE(node_about(to_bytes(about, kNow), kNow)) << title;
  }
}

TEST(AboutField, SaysEveryFewSecondsAndKeepsWhatOthersSay) {
  FleetState state(1, kNow);
  AboutField field("me", web_1, state);
  EXPECT_LE(*field.due(), kNow);
  std::vector<std::string> words;
  field.say(words, kNow);
  ASSERT_EQ(words.size(), 5u);
  EXPECT_EQ(words[0], "me");
  EXPECT_EQ(words[4], to_bytes(web_1(), kNow));
  EXPECT_EQ(*field.due(), kNow + AboutField::kEvery);

  const auto hear = [&](const std::string& reply) {
    resp::ReplyReader reader;
    ASSERT_EQ(reader.read(reply), resp::ReplyReader::Status::kReply);
    EXPECT_EQ(field.hear(reader.reply(), kNow), "");
  };
  const auto others = [&] { return state.shown(Mode::kStrict, {}).others; };
  hear(resp_list(
      {resp_text("a"), resp_text(words[4]), resp_text("b"), resp_text("garbage"), resp_text("c")}));
  ASSERT_EQ(others().size(), 1u);
  EXPECT_EQ(others()[0].id, "a");
  EXPECT_EQ(others()[0].title, "web-1");
  hear(resp_text("WRONGTYPE"));
  EXPECT_EQ(others().size(), 1u);
  hear(resp_list({}));
  EXPECT_TRUE(others().empty());
}

TEST(AboutField, NodesOfALargeFleetSpeakMoreSeldomAndTheirWordsCountUntilThen) {
  FleetState state(1, kNow);
  AboutField field("me", web_1, state);
  for (const auto& [nodes, every] :
       std::map<std::int64_t, Duration>{{1, 2s},
                                        {128, 2s},
                                        {192, 3s},
                                        {500, 6s},
                                        {2000, 6s},
                                        {std::numeric_limits<std::int64_t>::max(), 6s}}) {
    state.set_heard({.live = nodes}, kNow);
    std::vector<std::string> words;
    field.say(words, kNow);
    EXPECT_EQ(*field.due() - kNow, every) << nodes;
    EXPECT_GE(std::stol(words[1]) * 1s, 2 * every);
  }
}

}  // namespace
}  // namespace weir
