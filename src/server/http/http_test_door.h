// For tests: an HTTP door with a store that adds up, and a peer that hands it bytes.
//
//   TestDoor door;
//   EXPECT_EQ(door.ask(post("/check", R"({"key":"a","limit":2,"window":60})")).status, 200);
//
// Thread rule: one thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "observe/keys/fleet_keys.h"
#include "observe/traffic.h"
#include "rulebook/rule_desk.h"
#include "rulebook/tenants/tenant_desk.h"
#include "rules/rule_set.h"
#include "server/http/console/console_routes.h"
#include "server/http/http_door.h"
#include "server/http/http_node.h"
#include "server/http/node_view.h"
#include "weir/holding_store.h"
#include "weir/store.h"

namespace weir {

namespace rls {
class RateLimitService;
}

// Adds up each key's costs and never forgets; the whole window is always ahead.
class SummingStore : public Store {
 public:
  void decide(Batch& batch, Instant now) noexcept override;
  bool answers_at_once() const noexcept override { return !broken; }
  Decision decide_one(Operation operation, Charge charge, Instant now) noexcept override;

  bool broken = false;
  int batches = 0;

 private:
  Decision decide_charge(const Charge& charge, Operation operation);
  bool all_fit(const Batch& batch);

  std::unordered_map<std::uint64_t, std::int64_t> spent_;  // by the low half of the hash
};

struct TestReply {
  int status = 0;
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;
};

// A response at the front of `bytes`, which is removed from it; status 0 if there is
// none, or it is not well-formed. `expects_body` is false for the reply to HEAD.
TestReply take_reply(std::string_view& bytes, bool expects_body = true);

std::string get(std::string_view path, std::string_view fields = {});
std::string request(std::string_view method, std::string_view path, std::string_view body,
                    std::string_view fields = {});
std::string post(std::string_view path, std::string_view body, std::string_view fields = {});

// Has one rule, "login", and answers changes as the test says.
class FakeDesk final : public RuleDesk {
 public:
  std::shared_ptr<const RulesView> view() const override {
    return std::make_shared<const RulesView>(RulesView{
        .version = 7, .rules = {{.id = "login", .json = R"({"id":"login"})"}}, .removed = {"old"}});
  }
  RuleHistory history() const override {
    const auto older = RuleVersion{.version = 6,
                                   .when = instant_from_epoch_us(0),
                                   .rules = {{.id = "old", .json = R"({"id":"old"})"}}};
    const auto newer = RuleVersion{.version = 7,
                                   .when = instant_from_epoch_us(784'111'877'000'000 - 1'500'000),
                                   .origin = RuleOrigin::kRequest,
                                   .author = {.who = "192.0.2.1", .by = "carol", .why = "bots"},
                                   .changes = {"added login: x", "removed old"},
                                   .rules = {{.id = "login", .json = R"({"id":"login"})"}}};
    return {std::make_shared<const RuleVersion>(older), std::make_shared<const RuleVersion>(newer)};
  }
  std::optional<RuleHold> hold() const override { return holds; }
  void change(RuleChange change, Done done, Instant) override {
    last = std::move(change);
    done(outcome);
  }

  void judge(RuleTrial trial, Judged done, Instant) override {
    last_trial = std::move(trial);
    done(verdict);
  }

  RuleTrial last_trial;
  RuleVerdict verdict;
  RuleChange last;
  RuleReply outcome{.version = 8};
  std::optional<RuleHold> holds;
};

// Has one tenant, "ann", with a limit of 7, and answers changes as the test says.
class FakeTenants final : public TenantDesk {
 public:
  FakeTenants() {
    const TenantTable none{HashSecret{}};
    view_.table = none.edited({.rows = {{.key = none.hash("ann"), .limit = 7}}}).table;
    outcome.view = view_;
  }
  TenantView view() const override { return view_; }
  void change(TenantChange change, Done done) override {
    last = std::move(change);
    done(outcome);
  }

  TenantChange last;
  TenantReply outcome;

 private:
  TenantView view_{.version = 3};
};

class TestDoor {
 public:
  struct Options {
    std::vector<Rule> rules;
    RequestSources sources{};
    HttpAccess access;
    TrustedProxies trusted_proxies{};
    ConsoleOptions console{.use = ConsoleOptions::Use::kOn};
    const RuleSwitches* switches = nullptr;
    KeyTexts key_texts = KeyTexts::kHidden;
    RateLimitStyle headers{};
    Store* store = nullptr;  // in place of the one that adds up
  };
  TestDoor();
  explicit TestDoor(Options options);
  ~TestDoor();

  // The answer of a new connection to `request`.
  std::string converse(std::string_view request);
  // The same answer, as one reply.
  TestReply ask(std::string_view request);
  void use_rules(const RuleSetPtr& others);

  static constexpr Instant kStart = instant_from_epoch_us(784'111'777'000'000);  // in 1994

  SummingStore store;
  Traffic traffic;
  FleetKeys fleet_keys;
  KeyHasher hasher;
  Engine engine;
  HoldingStore holds{engine.local()};
  BlockList blocks;
  LoginGuard logins{hasher};
  FakeDesk desk;
  FakeTenants tenants;
  TrafficEvents events;
  UnusualRules unusual;
  Reloads reloads{kStart};
  ErrorBar error_bar{store, Instant{}};  // its logs add up, too
  const NodeView view;
  LiveFeed live{view, events, desk, blocks};
  LiveConsoles consoles;
  HttpNode node;
  RuleSetPtr rules;  // at first
  const std::unique_ptr<rls::RateLimitService> rls;
  HttpDoor door;
  Peer peer;  // of new connections; a Unix socket, so nobody in particular
  Instant now = kStart + std::chrono::seconds(100);
};

// Takes all output there is, as a loop would.
std::string drink(Session& session, Instant now);

}  // namespace weir
