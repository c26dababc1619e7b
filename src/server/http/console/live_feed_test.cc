#include "server/http/console/live_feed.h"

#include <boost/json.hpp>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "observe/recent_traffic.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

// A node whose seconds pass when the test says.
struct World {
  World() { pass(1); }

  // Each second has `checks` checks, of which the first `limit` are allowed.
  void pass(int seconds, int checks = 0) {
    for (int i = 0; i < seconds; ++i) {
      for (int check = 0; check < checks; ++check) {
        door.ask(post("/check", R"({"key":"a","limit":3,"window":60})"));
      }
      door.now = std::max(door.now, recent.next_tick());
      recent.tick(door.now);
      feed.tick({.traffic = recent.snapshot(), .rules = rules, .wall_lead = 2s}, door.now);
    }
  }

  // The last second that has ended.
  std::int64_t own_second() const {
    return std::chrono::floor<std::chrono::seconds>(door.now.time_since_epoch()).count() - 1;
  }

  json::object message() { return json::parse(feed.message()->json()).as_object(); }

  TestDoor door{{.rules = {{.id = "login", .quota = *Quota::make({.limit = 5, .window = 60s})}}}};
  RecentTraffic recent{door.traffic, door.now};
  RuleSetPtr rules = std::make_shared<const RuleSet>(std::vector<Rule>{});
  LiveFeed& feed = door.live;
};

// One of a fleet, as its figures and what it hears of the others say.
struct FleetWorld : World {
  json::object pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      World::pass(1);
      if (!heard.empty()) {
        recent.hear({.second = own_second() - 2, .nodes = heard, .has_self = true}, door.now);
      }
      live.tick({.traffic = recent.snapshot(), .rules = rules}, door.now);
    }
    return json::parse(live.message()->json()).as_object();
  }

  SharedStoreFigures shared{.is_healthy = true, .others = {{.id = "other", .title = "web-2"}}};
  std::vector<RecentTraffic::NodeSecond> heard;
  NodeView view = [this] {
    NodeView made = door.view;
    made.figures = [this] { return NodeFigures{.shared = shared, .about = {.title = "web-1"}}; };
    return made;
  }();
  LiveFeed live{view, door.events, door.desk, door.blocks};
};

double number(const json::value& value) { return value.to_number<double>(); }

TEST(LiveFeed, SaysWhatTheLastSecondWas) {
  World world;
  world.pass(9);
  world.pass(1, 10);
  const json::object said = world.message();
  EXPECT_EQ(said.at("version"), "1.2.3");
  EXPECT_EQ(said.at("node"), "here");
  EXPECT_EQ(number(said.at("rules_version")), 7);
  const double now = static_cast<double>(epoch_us(world.door.now)) / 1e6;
  EXPECT_NEAR(number(said.at("t")), now + 2, 0.001) << "by the wall clock";
  for (const std::string_view part : {"fleet", "here"}) {
    const json::object& figures = said.at(part).as_object();
    EXPECT_EQ(number(figures.at("requests")), 10) << part;
    EXPECT_EQ(number(figures.at("denied")), 7) << part;
    EXPECT_NEAR(number(figures.at("deny_rate")), 0.7, 1e-9) << part;
    EXPECT_NEAR(number(figures.at("burst_ratio")), 5, 1e-9) << part;
  }
  EXPECT_EQ(number(said.at("fleet").at("nodes")), 1);
  EXPECT_EQ(number(said.at("here").at("max_keys")), 1024);
  EXPECT_EQ(said.at("redis").at("state"), "disabled");
  ASSERT_EQ(said.at("nodes").as_array().size(), 1u);
  EXPECT_EQ(said.at("nodes").at(0).at("name"), "here");
  EXPECT_EQ(said.at("nodes").at(0).at("here"), true);
  world.pass(1);
  EXPECT_EQ(number(world.message().at("here").at("requests")), 0);
}

TEST(LiveFeed, IsMadeOnceASecond) {
  World world;
  const LiveMessagePtr one = world.feed.message();
  EXPECT_EQ(world.feed.message(), one);
  world.pass(1);
  EXPECT_NE(world.feed.message(), one);
}

TEST(LiveFeed, TellsWhatTheLastDayWas) {
  World world;
  world.pass(1, 10);
  world.pass(120, 1);
  const json::object day = json::parse(world.feed.history(24h)).as_object();
  EXPECT_EQ(number(day.at("span")), 86'400);
  EXPECT_EQ(number(day.at("step")), 60);
  EXPECT_EQ(day.at("scope"), "node");
  double requests = 0;
  double seconds = 0;
  for (const json::value& point : day.at("points").as_array()) {
    requests += number(point.at("requests"));
    seconds += number(point.at("seconds"));
    EXPECT_EQ(number(point.at("nodes")), 1);
  }
  EXPECT_EQ(requests, 130);
  EXPECT_EQ(seconds, 122);
  EXPECT_NEAR(number(day.at("points").as_array().back().at("t")),
              number(world.message().at("fleet").at("t")), 0.01);
  EXPECT_EQ(json::parse(world.feed.history(1min)).at("points").as_array().size(), 60u);
}

TEST(LiveFeed, TellsWhichRulesDenySinceWhen) {
  World world;
  const auto login = [&](int times) {
    for (int i = 0; i < times; ++i) {
      world.door.ask(post("/check", R"({"key":"a","rule":"login"})"));
    }
    world.pass(1);
  };
  login(8);
  const double first = number(world.message().at("fleet").at("t"));
  login(3);
  world.rules = world.door.rules;
  const RuleNumber rule = world.door.traffic.rules().number_of("login");
  world.door.now += 1h;  // nobody looks at a clock that somebody sets
  const json::object said = json::parse(world.feed.history(1min)).as_object();
  ASSERT_EQ(said.at("rules").as_array().size(), 1u);
  const json::object& line = said.at("rules").at(0).as_object();
  EXPECT_EQ(line.at("rule"), "login");
  EXPECT_EQ(number(line.at("requests")), 11);
  EXPECT_EQ(number(line.at("denied")), 6);
  EXPECT_NEAR(number(line.at("denying_since")), first - 1, 0.01);
  EXPECT_TRUE(line.at("denying_before").as_bool()) << "the node has just begun";
  EXPECT_NEAR(number(line.at("last_denied")), first + 1, 0.01);
  EXPECT_FALSE(line.contains("shadow"));
  EXPECT_EQ(number(said.at("others").at("denied")), 0);
  const json::object alone = json::parse(world.feed.history(1min, rule)).as_object();
  EXPECT_FALSE(alone.contains("rules"));
  const json::array& points = alone.at("points").as_array();
  ASSERT_GE(points.size(), 2u);
  EXPECT_EQ(number(points[points.size() - 2].at("denied")), 3);
  EXPECT_EQ(number(points.back().at("denied")), 3);
}

// Groups are no nodes.
TEST(LiveFeed, ShowsOfALargeFleetItsSumsAndThisNodeAlone) {
  World world;
  for (int i = 0; i < 8; ++i) {
    world.pass(1, 3);
    world.recent.hear({.second = world.own_second() - 2,
                       .nodes = {{.name = "group 0", .counts = {.all = {600, 0}}, .totals = {}},
                                 {.name = "group 1", .counts = {.all = {700, 0}}, .totals = {}}},
                       .has_self = true,
                       .large = LargeFleet{.nodes = 500, .first = "another"}},
                      world.door.now);
  }
  world.pass(1, 3);
  const json::object message = world.message();
  EXPECT_EQ(message.at("fleet").at("nodes"), 500);
  EXPECT_EQ(message.at("fleet").at("requests"), 1300);
  ASSERT_EQ(message.at("nodes").as_array().size(), 1u);
  EXPECT_EQ(message.at("nodes").at(0).at("here"), true);
  EXPECT_EQ(message.at("nodes").at(0).at("requests"), 3);
  EXPECT_EQ(message.at("events").as_array().size(), 1u) << "nobody has joined or gone";
}

// A fleet's seconds are heard late, and not at all while Redis is away.
TEST(LiveFeed, DrawsWhatAnOutageHadAtItsOwnSeconds) {
  World world;
  const auto pass_with_fleet = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      world.pass(1, 3);
      const std::int64_t second = world.own_second() - 2;
      world.recent.hear({.second = second,
                         .nodes = {{.name = "here", .counts = {.all = {3, 0}}, .totals = {}},
                                   {.name = "other", .counts = {.all = {17, 0}}, .totals = {}}},
                         .has_self = true},
                        world.door.now);
    }
  };
  pass_with_fleet(5);
  EXPECT_EQ(world.message().at("fleet").at("alone"), false);
  world.pass(8, 3);
  EXPECT_EQ(world.message().at("fleet").at("alone"), true);
  pass_with_fleet(5);
  world.pass(1, 3);
  const json::array all = json::parse(world.feed.history(10min)).at("points").as_array();
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_NEAR(number(all[i].at("t")) - number(all[i - 1].at("t")), 1, 0.01) << i;
    const double requests = number(all[i].at("requests"));
    EXPECT_TRUE(requests == 3 || requests == 20) << requests;
  }
  EXPECT_NEAR(number(world.message().at("fleet").at("t")), number(all.back().at("t")), 0.01);
  EXPECT_NEAR(number(world.message().at("fleet").at("burst_ratio")), 1, 1e-9) << "it was steady";
}

TEST(LiveFeed, TellsWhenTheNodeStarted) {
  World world;
  world.pass(3);
  const json::array events = world.message().at("events").as_array();
  ASSERT_EQ(events.size(), 1u) << "once";
  EXPECT_EQ(events[0].at("kind"), "start");
  EXPECT_EQ(number(events[0].at("t")),
            static_cast<double>(epoch_us(world.door.view.info.started)) / 1e6 + 2);
  EXPECT_EQ(events[0].at("text"),
            "the node has started; counters and changes of rules by hand are forgotten");
}

TEST(LiveFeed, TellsOnceHowAReloadEnded) {
  World world;
  world.door.reloads.failed(world.door.now);
  world.pass(3);
  world.door.reloads.found_same(world.door.now);
  world.pass(3);
  const json::array events = world.message().at("events").as_array();
  ASSERT_EQ(events.size(), 3u) << "after the start";
  EXPECT_EQ(events[1].at("kind"), "reload_failed");
  EXPECT_EQ(events[2].at("kind"), "reload");
  EXPECT_EQ(events[2].at("text"), "nothing in the rules has changed");
}

TEST(LiveFeed, TellsWhatBecomesOfRedisAndOfOtherNodes) {
  FleetWorld world;
  world.heard = {{.name = "here"}, {.name = "other"}};
  EXPECT_EQ(world.pass(9).at("redis").at("state"), "up");
  world.shared.is_healthy = false;
  EXPECT_EQ(world.pass(1).at("redis").at("state"), "down");
  world.shared.is_healthy = true;
  world.shared.losses = 1;
  EXPECT_EQ(world.pass(1).at("redis").at("state"), "up");
  world.heard.pop_back();
  std::vector<std::string_view> kinds;
  const json::object said = world.pass(9);
  for (const json::value& event : said.at("events").as_array()) {
    kinds.push_back(event.at("kind").as_string());
  }
  EXPECT_EQ(kinds, (std::vector<std::string_view>{"start", "redis_lost", "redis_back",
                                                  "redis_emptied", "node_gone"}));
  EXPECT_EQ(said.at("events").as_array().back().at("text"),
            "web-2 (other) is gone: it died, or does not reach Redis");
}

TEST(LiveFeed, TellsWhichNodesChangesByHandDoNotReach) {
  FleetWorld world;
  RuleHold& hold = world.shared.rules.emplace();
  hold = {.version = 1, .nodes = {{.name = "here"}, {.name = "other"}, {.name = "third"}}};
  EXPECT_EQ(world.pass(9).at("events").at(0).at("text"), "the node has started")
      << "Redis has the rest";
  for (RuleHold::Node& node : hold.nodes) node.why_not = "its file has other rules";
  hold.nodes[2].why_not = "it is of another version";
  EXPECT_EQ(world.pass(2).at("events").as_array().size(), 1u) << "they may be about to take them";
  json::object said = world.pass(9);
  ASSERT_EQ(said.at("events").as_array().size(), 3u) << "once";
  EXPECT_EQ(said.at("events").at(1).at("text"),
            "changes by hand do not reach third: it is of another version");
  EXPECT_EQ(said.at("events").at(2).at("text"),
            "changes by hand do not reach web-1 (here); web-2 (other): its file has other "
            "rules");
  EXPECT_EQ(said.at("nodes").at(0).at("apart"), "its file has other rules");
  hold.nodes.pop_back();
  for (RuleHold::Node& node : hold.nodes) node.why_not.clear();
  said = world.pass(9);
  ASSERT_EQ(said.at("events").as_array().size(), 4u);
  EXPECT_EQ(said.at("events").at(3).at("text"),
            "changes by hand reach web-1 (here); web-2 (other) again");
  EXPECT_FALSE(said.at("nodes").at(0).as_object().contains("apart"));
}

TEST(LiveFeed, TellsUnusualTrafficAndWhatOthersTell) {
  World world;
  world.door.events.add({.kind = TrafficEvent::Kind::kBegan,
                         .rule = "login",
                         .at = 784'111'900,
                         .rate = 42.04,
                         .band = {.low = 1, .median = 5, .high = 10}});
  world.pass(1);
  world.feed.tell("switch", "login", "now follows token_bucket");
  world.door.events.add(
      {.kind = TrafficEvent::Kind::kEnded, .rule = "login", .at = 784'111'910, .rate = 50});
  world.pass(1);
  const json::array events = world.message().at("events").as_array();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(json::serialize(events[1]), R"({"id":2,"t":784111900,"kind":"surge","rule":"login",)"
                                        R"("text":"42.0 requests/s in the five quietest of )"
                                        R"(seven seconds; usual are 1.0 to 10.0"})");
  EXPECT_EQ(events[2].at("kind"), "switch");
  EXPECT_EQ(events[3].at("kind"), "surge_end");
  EXPECT_EQ(events[3].at("text"),
            "as usual again, after up to 50.0 requests/s in the five quietest of seven seconds");
  world.pass(1);
  EXPECT_EQ(world.message().at("events").as_array().size(), 4u) << "each is told once";
}

// Blocks by people on other nodes, too. All consoles get the same message, public ones included.
TEST(LiveFeed, SaysWhomAHandHasBlocked) {
  World world;
  world.rules = world.door.rules;
  const Instant began = world.door.now;
  const auto told = [&](LiveFeed& feed) {
    feed.tick({.traffic = world.recent.snapshot(), .rules = world.rules}, world.door.now);
    const json::object said = json::parse(feed.message()->json()).as_object();
    return std::string(said.at("events").as_array().back().at("text").as_string());
  };
  const auto block = [&](std::string_view key, Instant since) {
    world.door.blocks.learn({.rule = "login",
                             .key = std::string(key),
                             .since = since,
                             .until = since + 5min,
                             .reason = BlockReason::kManual,
                             .by = "carol",
                             .why = "bots"},
                            BlockAudience::kFleet, world.door.now);
  };
  for (std::string_view key : {"a@example.com", "192.0.2.0/24"}) {
    block(key, began);
    EXPECT_EQ(told(world.feed).find(key), std::string::npos) << "keys are secret";
  }
  EXPECT_EQ(told(world.feed), "a network is blocked for 5m, by carol, because \"bots\"");
  world.door.blocks.add({.rule = "login",
                         .key = "192.0.2.0/24",
                         .since = world.door.now,
                         .until = world.door.now + 1h,
                         .reason = BlockReason::kManual},
                        world.door.now);
  world.door.blocks.lift("login", "192.0.2.0/24", world.door.now);
  EXPECT_EQ(told(world.feed), "a network is blocked no more");
  const json::array events = world.message().at("events").as_array();
  EXPECT_EQ(events.at(events.size() - 2).at("text"), "a network is blocked for 1h");
  world.door.traffic.keep_key_texts();
  block("a@example.com", began + 1us);
  EXPECT_EQ(told(world.feed), "a@example.com is blocked for 5m, by carol, because \"bots\"");
  block("of-old", TestDoor::kStart - 1h);
  EXPECT_EQ(told(world.feed).find("of-old"), std::string::npos) << "it was told when it came";
  block("ahead", began + 1h);
  EXPECT_TRUE(told(world.feed).starts_with("ahead is blocked for ")) << "a clock of another node";
  EXPECT_EQ(number(world.message().at("events").as_array().back().at("t")),
            static_cast<double>(epoch_us(world.door.now)) / 1e6);
  world.door.now += 10min;
  block("short", began + 2us);
  EXPECT_EQ(told(world.feed).find("short"), std::string::npos) << "it was over when it came";
  LiveFeed open(world.door.view, world.door.events, world.door.desk, world.door.blocks,
                LiveFeed::People::kHidden);
  block("a@example.com", began + 8min);
  EXPECT_TRUE(told(open).ends_with(" is blocked for 5m")) << "no names for everybody";
}

TEST(LiveFeed, KeepsTheNewestEvents) {
  World world;
  std::string longest;
  for (int i = 0; i < 100; ++i) longest += "eleven more ";
  for (int i = 0; i < 200; ++i) world.feed.tell("rules", "", longest);
  world.pass(1);
  const json::array events = world.message().at("events").as_array();
  ASSERT_EQ(events.size(), LiveFeed::kEventsMax);
  EXPECT_EQ(number(events.back().at("id")), 201);
  EXPECT_LT(events.back().at("text").as_string().size(), 310u);
  EXPECT_TRUE(std::string_view(events.back().at("text").as_string()).ends_with("eleven more ..."));
}

}  // namespace
}  // namespace weir
