#include "proto/sniffer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr Instant kNow{};

// What the two protocols were told, in order.
struct Journal {
  std::vector<std::string> events;
  std::string http1;  // bytes
  std::string http2;
};

class FakeSession final : public Session {
 public:
  FakeSession(Journal& journal, std::string& bytes, std::size_t space)
      : journal_(journal), bytes_(bytes), space_(space) {}
  void attach(Waker&) override { journal_.events.emplace_back("attach"); }
  void woken(Instant) override { journal_.events.emplace_back("woken"); }
  std::span<char> input_space() override {
    if (finished_) return {};
    buffer_.assign(space_, '?');  // the old bytes are gone, as after a reallocation
    return {buffer_.data(), buffer_.size()};
  }
  void received(std::size_t size, Instant) override { bytes_.append(buffer_, 0, size); }
  void peer_closed(Instant) override { journal_.events.emplace_back("peer_closed"); }
  std::string_view output() const override { return "output"; }
  void sent(std::size_t, Instant) override { journal_.events.emplace_back("sent"); }
  void stamp(Duration) override { journal_.events.emplace_back("stamp"); }
  Instant deadline() const override { return kNow + std::chrono::seconds(7); }
  void expired(Instant) override {
    journal_.events.emplace_back("expired");
    finished_ = true;
  }
  void drain() override {
    journal_.events.push_back("drain after '" + bytes_ + "'");
    finished_ = bytes_.empty();
  }
  bool finished() const override { return finished_; }

 private:
  Journal& journal_;
  std::string& bytes_;
  const std::size_t space_;
  std::string buffer_;
  bool finished_ = false;
};

class FakeFactory final : public SessionFactory {
 public:
  FakeFactory(Journal& journal, std::string& bytes, std::size_t space)
      : journal_(journal), bytes_(bytes), space_(space) {}
  std::unique_ptr<Session> make_session(const Peer& peer, Instant) override {
    peers.push_back(peer);
    return std::make_unique<FakeSession>(journal_, bytes_, space_);
  }
  std::vector<Peer> peers;

 private:
  Journal& journal_;
  std::string& bytes_;
  const std::size_t space_;
};

struct SnifferTest : testing::Test {
  void send(std::string_view bytes) {
    const auto space = session->input_space();
    ASSERT_LE(bytes.size(), space.size());
    std::ranges::copy(bytes, space.begin());
    session->received(bytes.size(), kNow);
  }

  Journal journal;
  FakeFactory http1{journal, journal.http1, 64};
  FakeFactory http2{journal, journal.http2, 10};  // less than a preface
  SniffingFactory factory{http1, http2};
  Peer peer{.address = IpAddress::parse("192.0.2.1")};
  std::unique_ptr<Session> session = factory.make_session(peer, kNow);
};

TEST_F(SnifferTest, ARequestGoesToHttp1AtOnce) {
  send("GET / HTTP/1.1\r\n");
  EXPECT_EQ(journal.http1, "GET / HTTP/1.1\r\n");
  send(kPreface);  // too late for a preface
  EXPECT_EQ(journal.http1, "GET / HTTP/1.1\r\n" + std::string(kPreface));
  EXPECT_EQ(http2.peers.size(), 0);
}

TEST_F(SnifferTest, ThePrefaceGoesToHttp2WithWhatFollowsIt) {
  send(std::string(kPreface) + "frames");
  EXPECT_EQ(journal.http2, std::string(kPreface) + "frames");
  send("more");
  EXPECT_EQ(journal.http2, std::string(kPreface) + "framesmore");
  EXPECT_EQ(journal.http1, "");
  ASSERT_EQ(http2.peers.size(), 1);
  EXPECT_EQ(http2.peers[0].address, peer.address);
}

TEST_F(SnifferTest, WhoeverSpeaksCanWake) {
  struct : Waker {
    void wake() noexcept override {}
  } waker;
  session->attach(waker);
  send(kPreface);
  session->woken(kNow);
  EXPECT_THAT(journal.events, testing::ElementsAre("attach", "attach", "woken"));
}

TEST(Sniffer, DecidesTheSameHoweverTheBytesAreSplit) {
  for (const auto& text : {std::string(kPreface) + "f", std::string("POST /check HTTP/1.1\r\n"),
                           std::string("PRI * HTTP/1.1\r\n\r\nX")}) {
    for (std::size_t first = 0; first <= text.size(); ++first) {
      for (std::size_t second = first; second <= text.size(); ++second) {
        auto test = Journal();
        auto http1 = FakeFactory(test, test.http1, 64);
        auto http2 = FakeFactory(test, test.http2, 10);
        auto factory = SniffingFactory(http1, http2);
        const auto session = factory.make_session({}, kNow);
        for (const auto& part :
             {text.substr(0, first), text.substr(first, second - first), text.substr(second)}) {
          std::ranges::copy(part, session->input_space().begin());
          if (!part.empty()) session->received(part.size(), kNow);
        }
        const bool is_http2 = text.starts_with(kPreface);
        EXPECT_EQ(test.http1, is_http2 ? "" : text) << first << ' ' << second;
        EXPECT_EQ(test.http2, is_http2 ? text : "") << first << ' ' << second;
      }
    }
  }
}

TEST_F(SnifferTest, ADifferenceDecidesBeforeAllIsThere) {
  for (std::size_t size = 0; size < kPreface.size(); ++size) {
    auto test = Journal();
    auto one = FakeFactory(test, test.http1, 64);
    auto two = FakeFactory(test, test.http2, 10);
    auto sniffer = SniffingFactory(one, two);
    const auto sniffing = sniffer.make_session({}, kNow);
    const auto text = std::string(kPreface.substr(0, size)) + '!';
    std::ranges::copy(text, sniffing->input_space().begin());
    sniffing->received(text.size(), kNow);
    EXPECT_EQ(test.http1, text);
  }
}

TEST_F(SnifferTest, APrefaceThatEndsTooEarlyIsABrokenRequest) {
  send("PRI * HT");
  EXPECT_EQ(journal.http1, "");
  session->peer_closed(kNow);
  EXPECT_EQ(journal.http1, "PRI * HT");
  EXPECT_THAT(journal.events, testing::ElementsAre("peer_closed"));
}

TEST_F(SnifferTest, APrefaceThatDoesNotGoOnExpires) {
  send("PRI");
  EXPECT_EQ(session->deadline(), kNow + std::chrono::seconds(7));
  session->expired(kNow);
  EXPECT_TRUE(session->finished());
  EXPECT_TRUE(session->input_space().empty());
}

TEST_F(SnifferTest, ADrainEndsASilentConnection) {
  session->drain();
  EXPECT_TRUE(session->finished());
}

// The loop gives one byte, then drains, and then gives the rest.
TEST_F(SnifferTest, ADrainWaitsForTheRequestThatHasBegun) {
  send("P");
  session->drain();
  EXPECT_FALSE(session->finished());
  send("OST / HTTP/1.1");
  EXPECT_EQ(journal.http1, "POST / HTTP/1.1");
  EXPECT_THAT(journal.events, testing::ElementsAre("drain after 'P'"));
}

TEST_F(SnifferTest, ADrainWaitsForThePreface) {
  send("P");
  session->drain();
  send(kPreface.substr(1));
  EXPECT_EQ(journal.http2, kPreface);
  EXPECT_THAT(journal.events, testing::ElementsAre("drain after 'P'"));
}

TEST_F(SnifferTest, PassesOnWhatElseHappens) {
  send(kPreface);
  EXPECT_EQ(session->output(), "output");
  session->stamp(Duration{1});
  session->sent(1, kNow);
  session->drain();
  session->peer_closed(kNow);
  EXPECT_THAT(journal.events,
              testing::ElementsAre("stamp", "sent", "drain after '" + std::string(kPreface) + "'",
                                   "peer_closed"));
}

}  // namespace
}  // namespace weir
