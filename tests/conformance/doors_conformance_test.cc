// Every door gives the same answers, and all share one counter for one rule and key.

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "observe/traffic.h"
#include "proto/http2/http2_door.h"
#include "proto/http2/http2_test_peer.h"
#include "server/grpc/grpc_door.h"
#include "server/grpc/grpc_test_door.h"
#include "server/http/http_door.h"
#include "server/http/http_test_door.h"
#include "server/resp/resp_door.h"
#include "server/resp/resp_test_door.h"
#include "weir/clock.h"
#include "weir/limiter.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

class SetClock final : public Clock {
 public:
  Instant now() const noexcept override { return at; }
  Instant at = instant_from_epoch_us(1'700'006'400'000'000);
};

// One rule that is reached by its name, by requests and by descriptors.
Rule login_rule(const Quota& quota, Rule::Overdraft overdraft) {
  return {.id = "login",
          .quota = quota,
          .overdraft = overdraft,
          .match = RequestMatch(),
          .key_parts = {{.property = KeyPart::Property::kClient}},
          .descriptor = DescriptorMatch{.domain = "edge", .entries = {{.key = "remote_address"}}}};
}

// What a new connection of `door` answers to `bytes`.
std::string converse(SessionFactory& door, std::string_view bytes, Instant now) {
  const auto session = door.make_session({}, now);
  feed(*session, bytes, now);
  return drink(*session, now);
}

// A node with all its doors, and a program that shares its store.
class World {
 public:
  explicit World(const QuotaSpec& spec, Rule::Overdraft overdraft = Rule::Overdraft::kNone)
      : spec_(spec),
        rules_(std::make_shared<const RuleSet>(
            std::vector<Rule>{login_rule(*Quota::make(spec), overdraft)})) {}

  bool by_http(const std::string& key) {
    const auto reply =
        converse(http_, post("/check", R"({"rule":"login","key":")" + key + R"("})"), clock.at);
    return reply.find(R"("allowed":true)") != std::string::npos;
  }

  bool by_forward_auth(const std::string& key) {
    const auto reply = converse(http_,
                                get("/auth",
                                    "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\n"
                                    "X-Forwarded-For: " +
                                        key + "\r\n"),
                                clock.at);
    return reply.starts_with("HTTP/1.1 200 ");
  }

  bool by_resp(const std::string& key) {
    return converse(resp_, command({"WEIR.HIT", "login", key}), clock.at)
        .starts_with("*5\r\n:0\r\n");
  }

  bool by_grpc(const std::string& key) {
    Http2Peer peer(http2_, clock.at);
    const auto stream = peer.ask({.path = "/envoy.service.ratelimit.v3.RateLimitService/"
                                          "ShouldRateLimit",
                                  .fields = kGrpcFields,
                                  .body = framed(request_about("remote_address", key))});
    peer.talk(clock.at);
    rls::Response response;
    EXPECT_TRUE(response.ParseFromString(peer.reply(stream).body.substr(5)));
    return response.overall_code() == rls::Response::OK;
  }

  bool by_library(const std::string& key) {
    return limiter_.hit("", key, {.rule = "login"})->allowed();
  }

  // A look or a charge, as each door has them.
  bool pay_by_http(const std::string& key, int units) {
    const std::string fields = R"({"rule":"login","key":")" + key + R"(","cost":)";
    const auto reply = converse(
        http_,
        units == 0 ? post("/v1/look", fields + "0}")
                   : post("/check", fields + std::to_string(units) + R"(,"charge":"always"})"),
        clock.at);
    return reply.find(R"("allowed":true)") != std::string::npos;
  }
  bool pay_by_resp(const std::string& key, int units) {
    const std::string name = units == 0 ? "WEIR.LOOK" : "WEIR.CHARGE";
    return converse(resp_, command({name, "login", key, std::to_string(units)}), clock.at)
        .starts_with("*5\r\n:0\r\n");
  }
  bool pay_by_grpc(const std::string& key, int units) {
    rls::Request request = request_about("remote_address", key);
    request.mutable_descriptors(0)->mutable_hits_addend()->set_value(
        static_cast<std::uint64_t>(units));
    Http2Peer peer(http2_, clock.at);
    const auto stream = peer.ask({.path = "/envoy.service.ratelimit.v3.RateLimitService/"
                                          "ShouldRateLimit",
                                  .fields = kGrpcFields,
                                  .body = framed(request)});
    peer.talk(clock.at);
    rls::Response response;
    EXPECT_TRUE(response.ParseFromString(peer.reply(stream).body.substr(5)));
    return response.overall_code() == rls::Response::OK;
  }
  bool pay_by_library(const std::string& key, int units) {
    const HitOptions options{.cost = units, .rule = "login"};
    return (units == 0 ? limiter_.look("", key, options) : limiter_.charge("", key, options))
        ->allowed();
  }

  SetClock clock;

 private:
  const QuotaSpec spec_;
  const RuleSetPtr rules_;
  const HashSecret secret_{};
  std::unique_ptr<MemoryStore> store_ = make_memory_store({.max_keys = 1024}, clock.at);
  KeyHasher hasher_{secret_};
  Traffic traffic_;
  Engine engine_{*store_, hasher_, traffic_.add_core()};
  BlockList blocks_{hasher_};
  HttpNode http_node_{{.info = {}, .access = {}}, traffic_};
  HttpDoor http_{http_node_, engine_, blocks_, rules_};
  RespNode resp_node_{{}, traffic_};
  RespDoor resp_{resp_node_, engine_, blocks_, rules_};
  GrpcNode grpc_node_;
  GrpcDoor grpc_{grpc_node_, engine_, blocks_, rules_, {}};
  Http2Door http2_{grpc_};
  Limiter limiter_{*store_, clock, spec_, secret_};
};

using Door = bool (World::*)(const std::string&);
struct NamedDoor {
  const char* name;
  Door hit;
};
constexpr NamedDoor kDoors[] = {{"http", &World::by_http},
                                {"forward-auth", &World::by_forward_auth},
                                {"resp", &World::by_resp},
                                {"grpc", &World::by_grpc},
                                {"library", &World::by_library}};

TEST(Doors, ShareOneCounterForOneRuleAndKey) {
  for (const NamedDoor& last : kDoors) {
    World world({.algorithm = Algorithm::kSlidingWindow, .limit = 5, .window = 1min});
    for (const NamedDoor& door : kDoors) {
      EXPECT_TRUE((world.*door.hit)("192.0.2.1")) << door.name;
    }
    EXPECT_FALSE((world.*last.hit)("192.0.2.1")) << last.name;
    EXPECT_TRUE((world.*last.hit)("192.0.2.2")) << last.name;
  }
}

// The answers of one door to a thousand requests for three keys at random times.
std::string answers(const NamedDoor& door, const QuotaSpec& spec) {
  World world(spec);
  std::mt19937 random(42);
  std::string answers;
  for (int i = 0; i < 1'000; ++i) {
    world.clock.at += std::chrono::milliseconds(random() % 400);
    const std::string key = "192.0.2." + std::to_string(random() % 3);
    answers += (world.*door.hit)(key) ? '+' : '-';
  }
  return answers;
}

TEST(Doors, GiveTheSameAnswersWithEveryAlgorithm) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const QuotaSpec spec{.algorithm = algorithm, .limit = 10, .window = 10s};
    const std::string expected = answers(kDoors[0], spec);
    EXPECT_NE(expected.find('+'), std::string::npos);
    EXPECT_NE(expected.find('-'), std::string::npos);
    for (const NamedDoor& door : kDoors) {
      EXPECT_EQ(answers(door, spec), expected) << door.name << " " << algorithm_name(algorithm);
    }
  }
}

// Look, work, charge: what Envoy's apply_on_stream_done and gateways of language models do.
TEST(Doors, TenLooksAndChargesOfSevenAgainstTenADayLetTwoThrough) {
  using Pay = bool (World::*)(const std::string&, int);
  const std::pair<const char*, Pay> doors[] = {{"http", &World::pay_by_http},
                                               {"resp", &World::pay_by_resp},
                                               {"grpc", &World::pay_by_grpc},
                                               {"library", &World::pay_by_library}};
  for (int i = 0; i < kAlgorithmCount; ++i) {
    World world({.algorithm = static_cast<Algorithm>(i), .limit = 10, .window = 24h},
                Rule::Overdraft::kEnvoy);
    for (const auto& [name, pay] : doors) {
      int through = 0;
      for (int turn = 0; turn < 10; ++turn) {
        if (!(world.*pay)(name, 0)) continue;
        ++through;
        EXPECT_EQ((world.*pay)(name, 7), through == 1) << name;
      }
      EXPECT_EQ(through, 2) << name << " " << i;
      for (const auto& [other, looks] : doors) EXPECT_FALSE((world.*looks)(name, 0)) << other;
    }
  }
}

// Without a rule, the same numbers are the same counter: CL.THROTTLE is a token bucket of
// one unit more than its burst.
TEST(Doors, ShareOneCounterForOneInlineQuota) {
  SetClock clock;
  const HashSecret secret{};
  const auto store = make_memory_store({.max_keys = 1024}, clock.at);
  const KeyHasher hasher(secret);
  Traffic traffic;
  Engine engine(*store, hasher, traffic.add_core());
  BlockList blocks(hasher);
  const auto rules = std::make_shared<const RuleSet>();
  HttpNode http_node({.info = {}, .access = {}}, traffic);
  HttpDoor http(http_node, engine, blocks, rules);
  RespNode resp_node({}, traffic);
  RespDoor resp(resp_node, engine, blocks, rules);
  const Limiter limiter(
      *store, clock,
      {.algorithm = Algorithm::kTokenBucket, .limit = 30, .window = 1min, .burst = 3}, secret);
  const std::string throttle = command({"CL.THROTTLE", "user", "2", "30", "60"});

  EXPECT_EQ(converse(resp, throttle, clock.at), "*5\r\n:0\r\n:3\r\n:2\r\n:-1\r\n:2\r\n");
  EXPECT_EQ(limiter.hit("", "user")->remaining, 1);
  const auto reply = converse(http,
                              post("/check", R"({"key":"user","algorithm":"token_bucket",)"
                                             R"("limit":30,"window":60,"burst":3})"),
                              clock.at);
  EXPECT_NE(reply.find(R"("remaining":0)"), std::string::npos) << reply;
  EXPECT_EQ(converse(resp, throttle, clock.at), "*5\r\n:1\r\n:3\r\n:0\r\n:2\r\n:6\r\n");
}

}  // namespace
}  // namespace weir
