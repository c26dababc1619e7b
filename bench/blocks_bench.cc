// A request of a blocked key against one that is allowed: nanoseconds, by door.
//
//   DOOR/allowed  DOOR/blocked   asks (engine/asks/asks.h alone), check (POST /check by rule),
//                                auth (forward-auth), resp (WEIR.HIT), grpc (one descriptor,
//                                from the bytes of the message to those of the answer)
//
// One rule with a sliding window, 50,000 keys that are blocked and as many that are not. A session
// reads one request at a time, about each key in turn, and decides; its output is taken. No
// sockets. The rule's figures check the outcome of all requests. By hand:
// build/release/bench/blocks_bench

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/asks/asks.h"
#include "rls/rate_limit_service.h"
#include "server/http/check/check_routes.h"
#include "server/http/http_door.h"
#include "server/resp/resp_door.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'000'000'000'000);
constexpr std::size_t kKeys = 50'000;

enum class Whom { kAllowed, kBlocked };

// Addresses, so that they can be clients; of 32 networks, as the list keeps a bound of each.
std::vector<std::string> keys_of(Whom whom) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::size_t network = i % 32, host = i / 32;
    keys.push_back((whom == Whom::kBlocked ? "10." : "11.") + std::to_string(network) + "." +
                   std::to_string(host / 256) + "." + std::to_string(host % 256));
  }
  return keys;
}

std::vector<Rule> the_rule() {
  std::vector<Rule> rules(1);
  Rule& rule = rules.front();
  rule.id = "api";
  rule.quota = *Quota::make({.limit = 1'000'000'000, .window = 1min});
  rule.denial.blocks = {5min};
  rule.match.emplace();
  rule.key_parts = {{.property = KeyPart::Property::kClient}};
  rule.descriptor = DescriptorMatch{.domain = "edge", .entries = {{.key = "remote_address"}}};
  return rules;
}

// Everything behind a door.
struct World {
  World() {
    auto numbered = the_rule();
    number_rules(numbered, traffic.rules());
    rules = std::make_shared<const RuleSet>(std::move(numbered));
    for (const std::string& key : keys_of(Whom::kBlocked)) {
      blocks.add({.rule = "api", .key = key, .since = kNow, .until = kNow + 1h}, kNow);
    }
  }

  const Rule& rule() const { return rules->rules().front(); }
  std::uint64_t figure(RuleOutcome outcome) const {
    return traffic.rules().figures(rule().number)[static_cast<std::size_t>(outcome)];
  }

  std::unique_ptr<Store> store = make_memory_store({.max_keys = 4 * kKeys}, kNow);
  Traffic traffic;
  KeyHasher hasher{HashSecret{}};
  Engine engine{*store, hasher, traffic.add_core()};
  BlockList blocks{hasher};
  RuleSetPtr rules;
};

// Calls `ask(i)` for each of the keys in turn, which all have been asked about before.
void measure(benchmark::State& state, World& world, Whom whom, auto ask) {
  for (std::size_t i = 0; i < kKeys; ++i) ask(i);
  std::size_t next = 0;
  for (auto _ : state) {
    ask(next);
    next = next + 1 == kKeys ? 0 : next + 1;
  }
  const auto expected = whom == Whom::kBlocked ? RuleOutcome::kBlocked : RuleOutcome::kAllowed;
  if (world.figure(expected) != static_cast<std::uint64_t>(state.iterations()) + kKeys) {
    state.SkipWithError("not all requests came to what was expected");
  }
}

void asks(benchmark::State& state, Whom whom) {
  World world;
  Asks asks(world.engine, world.blocks);
  const auto keys = keys_of(whom);
  measure(state, world, whom, [&](std::size_t i) {
    asks.begin(Operation::kSpendEach);
    asks.add({.rule = &world.rule(), .key = keys[i]});
    asks.decide(kNow);
    benchmark::DoNotOptimize(asks.answer(0).decision);
  });
}

// A connection that says `text_of(key)` for each key.
void session(benchmark::State& state, World& world, SessionFactory& door, Whom whom, auto text_of) {
  std::vector<std::string> requests;
  for (const std::string& key : keys_of(whom)) requests.push_back(text_of(key));
  const auto session = door.make_session({}, kNow);
  measure(state, world, whom, [&](std::size_t i) {
    const std::string& request = requests[i];
    const auto space = session->input_space();
    std::memcpy(space.data(), request.data(), std::min(space.size(), request.size()));
    session->received(request.size(), kNow);
    session->stamp(1us);
    session->sent(session->output().size(), kNow);
  });
}

void http(benchmark::State& state, Whom whom, auto text_of) {
  World world;
  HttpNode node{HttpNode::Options()};
  HttpDoor door(node, world.engine, world.blocks, world.rules);
  add_check_routes(door.core(), CheckRoutes::kAll);
  add_auth_route(door.core());
  session(state, world, door, whom, text_of);
}

void check(benchmark::State& state, Whom whom) {
  http(state, whom, [](const std::string& key) {
    const std::string body = R"({"rule":"api","key":")" + key + "\"}";
    return "POST /check HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  });
}

void auth(benchmark::State& state, Whom whom) {
  http(state, whom, [](const std::string& key) {
    return "GET /auth HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Method: GET\r\n"
           "X-Forwarded-Host: a\r\nX-Forwarded-Uri: /\r\nX-Forwarded-For: " +
           key + "\r\n\r\n";
  });
}

void resp(benchmark::State& state, Whom whom) {
  World world;
  RespNode node({}, world.traffic);
  RespDoor door(node, world.engine, world.blocks, world.rules);
  session(state, world, door, whom, [](const std::string& key) {
    return "*3\r\n$8\r\nWEIR.HIT\r\n$3\r\napi\r\n$" + std::to_string(key.size()) + "\r\n" + key +
           "\r\n";
  });
}

void grpc(benchmark::State& state, Whom whom) {
  World world;
  rls::RateLimitService service(world.engine, world.blocks, world.rules, {});
  const auto call = service.new_call();
  rls::Request& request = call->request;
  std::vector<std::string> messages;
  for (const std::string& key : keys_of(whom)) {
    request.Clear();
    request.set_domain("edge");
    auto* const entry = request.add_descriptors()->add_entries();
    entry->set_key("remote_address");
    entry->set_value(key);
    messages.push_back(request.SerializeAsString());
  }
  std::string answer;
  measure(state, world, whom, [&](std::size_t i) {
    request.ParseFromString(messages[i]);
    call->decide(kNow);
    call->response.SerializeToString(&answer);
  });
}

BENCHMARK_CAPTURE(asks, allowed, Whom::kAllowed);
BENCHMARK_CAPTURE(asks, blocked, Whom::kBlocked);
BENCHMARK_CAPTURE(check, allowed, Whom::kAllowed);
BENCHMARK_CAPTURE(check, blocked, Whom::kBlocked);
BENCHMARK_CAPTURE(auth, allowed, Whom::kAllowed);
BENCHMARK_CAPTURE(auth, blocked, Whom::kBlocked);
BENCHMARK_CAPTURE(resp, allowed, Whom::kAllowed);
BENCHMARK_CAPTURE(resp, blocked, Whom::kBlocked);
BENCHMARK_CAPTURE(grpc, allowed, Whom::kAllowed);
BENCHMARK_CAPTURE(grpc, blocked, Whom::kBlocked);

}  // namespace
}  // namespace weir
