// Clients of each kind follow their transcripts (testdata/transcripts.txt).

#include <fstream>
#include <map>
#include <sstream>

#include "base/duration_text.h"
#include "store/redis/client/client_testing.h"
#include "store/redis/client/cluster_client.h"
#include "store/redis/client/sentinel_client.h"

namespace weir {
namespace {

// The world of one transcript.
class World {
 public:
  void play(std::istringstream& words, const std::string& verb) {
    std::string place;
    if (kOfAServer.contains(verb)) words >> place;
    std::string rest;
    std::getline(words >> std::ws, rest);
    if (verb == "url") {
      make(rest);
    } else if (verb == "masters") {
      make_masters();
    } else if (kOfAServer.contains(verb)) {
      serve(verb, place, rest);
    } else if (verb == "send" || verb == "send2") {
      send(verb == "send" ? call_ : other_, rest);
    } else if (verb == "patience") {
      patience_ = parse_duration(rest).value();
    } else if (verb == "advance") {
      const auto named = kTimes.find(rest);
      reactor_.advance(named != kTimes.end() ? named->second : parse_duration(rest).value());
    } else if (verb == "forget") {
      client_->forget(call_);
    } else if (verb == "go") {
      client_.reset();
    } else {
      EXPECT_EQ(shown(verb), rest);
    }
  }

 private:
  inline static const std::set<std::string> kOfAServer = {"accept", "break", "finished", "hang_up",
                                                          "hears",  "join",  "refuse",   "says"};
  inline static const std::map<std::string, Duration> kTimes = {
      {"maps_apart", ClusterClient::kMapsApart},
      {"try_again", ClusterClient::kTryAgain},
      {"ask_again", SentinelClient::kAskAgain},
      {"ask_again_soon", SentinelClient::kAskAgainSoon},
      {"sentinel_answers", SentinelClient::kAnswerMax}};

  void make(const std::string& url) {
    client_ = make_redis_client(*RedisUrl::parse(url),
                                {.reactor = reactor_, .dialer = dialer_, .seed = 3}, states_,
                                reactor_.now());
  }
  // a:1 has the lower half of a cluster, b:2 the upper.
  void make_masters() {
    make("redis-cluster://seed:1");
    serve("join", "seed:1", "cluster");
    reactor_.advance(ClusterClient::kMapsApart);
    serve("hears", "seed:1", "CLUSTER SLOTS");
    serve("says", "seed:1",
          "*2 | *3 | :0 | :8191 | *2 | +a | :1 | *3 | :8192 | :16383 | *2 | +b | :2");
    for (const char* master : {"a:1", "b:2"}) serve("join", master, "cluster");
  }
  void serve(const std::string& verb, const std::string& place, const std::string& rest) {
    if (verb == "join" || verb == "accept") {
      servers_.erase(place);
      servers_.emplace(place, Server(dialer_.accept(place), reactor_));
    }
    if (verb == "accept") return;
    if (verb == "refuse") return dialer_.refuse(place);
    Server& server = servers_.at(place);
    if (verb == "join") {
      std::istringstream words(rest);
      std::string mode, role;
      words >> mode >> role;
      server.welcome(mode, role.empty() ? "master" : role);
    } else if (verb == "hears") {
      EXPECT_EQ(server.hear(), rest);
    } else if (verb == "says") {
      server.say(split(rest));
    } else if (verb == "hang_up") {
      server.hang_up();
    } else if (verb == "break") {
      server.break_down();
    } else {
      EXPECT_TRUE(server.is_finished());
    }
  }
  void send(NotedCall& call, const std::string& text) {
    static const std::vector<std::string_view> words = {"GET", "k"};
    std::istringstream how(text);
    std::uint16_t slot = 0;
    std::string refusal;
    how >> slot >> refusal;
    const Instant now = reactor_.now();
    const auto refused = client_->send(words, slot, now + patience_, call, now);
    EXPECT_EQ(refused ? failure_name(*refused) : "", refusal);
  }
  std::string shown(const std::string& verb) const {
    if (verb == "wants") return dialer_.wanted();
    if (verb == "outcome") return call_.outcome;
    if (verb == "outcome2") return other_.outcome;
    if (verb == "reason") return client_->state().reason;
    EXPECT_EQ(verb, "said");
    std::string text;
    for (const std::string& one : states_.said) text += (text.empty() ? "" : " | ") + one;
    return text;
  }
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(" | ", at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 3;
    }
    return lines;
  }

  FakeReactor reactor_;
  FakeDialer dialer_{reactor_};
  NotedStates states_;
  NotedCall call_;
  NotedCall other_;
  Duration patience_ = std::chrono::milliseconds(20);
  std::unique_ptr<RedisClient> client_;
  std::map<std::string, Server> servers_;
};

TEST(RedisClients, DoAsTheirTranscriptsSay) {
  std::ifstream file("testdata/transcripts.txt");
  std::optional<World> world;
  int tables = 0;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    const testing::ScopedTrace trace("testdata/transcripts.txt", ++number, line);
    line = line.substr(0, std::min(line.find(" # "), line.find(" #\t")));
    line.erase(line.find_last_not_of(' ') + 1);
    std::istringstream words(line);
    std::string verb;
    if (!(words >> verb) || verb[0] == '#') continue;
    if (verb != "table") {
      world.value().play(words, verb);
    } else {
      world.emplace();
      ++tables;
    }
  }
  EXPECT_GT(tables, 15);
}

}  // namespace
}  // namespace weir
