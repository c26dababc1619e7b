#include "scenarios/hosts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "base/decimal.h"
#include "engine/asks/asks.h"
#include "gate/header_settings.h"
#include "proto/http/rate_limit_headers.h"
#include "scenarios/holds.h"
#include "server/grpc/grpc_test_door.h"
#include "server/http/http_test_door.h"
#include "server/resp/resp_test_door.h"
#include "weir/limiter.h"
#include "weir/memory_store.h"

namespace weir::scenarios {
namespace {

using Way = Step::Way;
using std::chrono::seconds;

bool all_of(const Step& step, auto holds) { return std::ranges::all_of(step.questions, holds); }

bool is_described(const Rule& rule) {
  return rule.descriptor && rule.descriptor->domain == kDomain;
}

// Of what has a rule and a key.
bool asks_rules(const Step& step) { return step.way != Way::kRequest && step.way != Way::kHttp; }

bool is_block(const Step& step) { return step.way == Way::kBlock; }

bool is_plain(const Question& question) { return question.tier.empty() && question.client.empty(); }

class EngineHost final : public Host {
 public:
  EngineHost(Engine& engine, BlockList& blocks, const RuleSet& rules, Tokens& tokens)
      : Host("engine"), asks_(engine, blocks), rules_(rules), tokens_(tokens) {}

  bool can_say(const Step& step, const Scenario&) const override { return asks_rules(step); }

  std::vector<Outcome> ask(const Step& step, Instant now) override {
    const Question& first = step.questions[0];
    asks_.begin(operation_of(step));
    if (first.ends_hold()) return {end(first, now)};
    for (const Question& question : step.questions) EXPECT_TRUE(asks_.add(ask_of(question)));
    const bool reserves = first.is_of_holds();
    if (reserves) asks_.holding().reserve(first.hold);
    EXPECT_EQ(asks_.decide(now), Asks::Progress::kAnswered);
    if (reserves && asks_.answer(0).allowed()) tokens_[first.key] = asks_.holding().hold(now).token;
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < asks_.size(); ++i) outcomes.push_back(told(asks_.answer(i)));
    return outcomes;
  }

 private:
  Outcome end(const Question& question, Instant now) {
    const std::string& token = tokens_[question.key];
    const auto work = question.goes_on ? HoldingStore::Work::kGoesOn : HoldingStore::Work::kIsDone;
    const bool releases = question.verb == Verb::kRelease;
    Holding& holding = asks_.holding();
    releases ? holding.release(token) : holding.commit(token, question.cost, work);
    asks_.decide(now);
    return ended(question, holding.committed());
  }
  static Operation operation_of(const Step& step) {
    if (step.way == Way::kTogether) return Operation::kSpendAll;
    if (step.way == Way::kEach) return Operation::kSpendEach;
    switch (step.questions[0].verb) {
      case Verb::kLook: return Operation::kLook;
      case Verb::kReset: return Operation::kReset;
      default: return Operation::kSpendEach;
    }
  }
  weir::Ask ask_of(const Question& question) const {
    using Counting = weir::Ask::Counting;
    const auto counting = question.verb == Verb::kCharge  ? Counting::kAlways
                          : question.verb == Verb::kDrain ? Counting::kOrWhatIsLeft
                                                          : Counting::kAsTheRuleSays;
    return {.rule = rules_.find(question.rule),
            .key = question.key,
            .tier = question.tier,
            .client = IpAddress::parse(question.client),
            .cost = question.cost,
            .counting = counting};
  }
  static Outcome told(const Answer& answer) {
    constexpr std::string_view kCauses[] = {"counted", "not_counted", "deny_list",   "missing_key",
                                            "blocked", "under_way",   "store_failed"};
    return {.allowed = answer.allowed(),
            .left = answer.decision.remaining,
            .retry = wait_of(answer.decision),
            .never = answer.decision.verdict == Verdict::kNever,
            .because = std::string(kCauses[static_cast<std::size_t>(answer.cause)])};
  }

  Asks asks_;
  const RuleSet& rules_;
  Tokens& tokens_;
};

// POST /v1/check and its kin, and what a step says in the door's own words.
class HttpHost final : public Host {
 public:
  HttpHost(SessionFactory& door, Tokens& tokens) : Host("http"), door_(door), tokens_(tokens) {}

  bool can_say(const Step& step, const Scenario&) const override {
    if (step.way == Way::kHttp) return true;
    if (!asks_rules(step) || !all_of(step, [](auto& q) { return q.client.empty(); })) return false;
    return step.way == Way::kOne || all_of(step, [](const Question& question) {
             return question.verb != Verb::kLook && question.verb != Verb::kReset;
           });
  }

  std::vector<Outcome> ask(const Step& step, Instant now) override {
    namespace json = boost::json;
    if (step.way == Way::kHttp) return {literally(step, now)};
    if (step.questions[0].is_of_holds()) return {of_holds(step.questions[0], now)};
    json::array checks;
    for (const Question& question : step.questions) checks.push_back(check_of(question));
    if (step.way == Way::kOne) return {told(reply(path_of(step), checks[0], now))};
    const json::object body{{"checks", checks}, {"atomic", step.way == Way::kTogether}};
    std::vector<Outcome> outcomes;
    const json::value replied = reply("/v1/check", body, now);
    for (const json::value& result : replied.at("results").as_array()) {
      outcomes.push_back(told(result));
    }
    return outcomes;
  }

 private:
  Outcome of_holds(const Question& question, Instant now) {
    if (question.ends_hold()) return end_by_http(door_, question, tokens_, now);
    return told(boost::json::parse(hold_by_http(door_, question, tokens_, now)));
  }
  Outcome literally(const Step& step, Instant now) {
    const auto space = std::min(step.target.find(' '), step.target.size());
    const std::string body = step.target.substr(std::min(space + 1, step.target.size()));
    std::string said = step.method + " " + step.target.substr(0, space) +
                       " HTTP/1.1\r\nHost: " + step.host + "\r\n";
    for (const std::string& header : step.headers) said += header + "\r\n";
    said += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    const std::string bytes =
        converse(door_, said, now, {.address = IpAddress::parse(step.questions[0].client)});
    std::string_view rest = bytes;
    const TestReply reply = take_reply(rest, step.method != "HEAD");
    return {.status = reply.status, .body = reply.body, .has = {bytes}};
  }
  static const char* path_of(const Step& step) {
    switch (step.questions[0].verb) {
      case Verb::kLook: return "/v1/look";
      case Verb::kReset: return "/v1/reset";
      default: return "/check";
    }
  }
  static boost::json::object check_of(const Question& question) {
    boost::json::object check{{"rule", question.rule}, {"key", question.key}};
    if (question.cost != 1) check["cost"] = question.cost;
    if (!question.tier.empty()) check["tier"] = question.tier;
    if (question.verb == Verb::kCharge) check["charge"] = "always";
    if (question.verb == Verb::kDrain) check["charge"] = "drain";
    return check;
  }
  boost::json::value reply(std::string_view path, const boost::json::value& body, Instant now) {
    const std::string reply = converse(door_, post(path, boost::json::serialize(body)), now);
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 ")) << reply;
    const auto said = boost::json::parse(reply.substr(reply.find("\r\n\r\n") + 4));
    expect_one_wait(reply, said);
    return said;
  }
  // A denial says when to come back in a field and in the body: the same, but for whole seconds.
  static void expect_one_wait(const std::string& reply, const boost::json::value& said) {
    const auto field = reply.find("Retry-After: ");
    const auto* const retry = said.as_object().if_contains("retry_after");
    if (field == std::string::npos || retry == nullptr) return;
    EXPECT_EQ(std::stoll(reply.substr(field + 13)), std::ceil(retry->to_number<double>())) << reply;
  }
  static Outcome told(const boost::json::value& result) {
    const auto& retry = result.at("retry_after");
    Outcome outcome{.allowed = result.at("allowed").as_bool(),
                    .left = result.at("remaining").as_int64(),
                    .never = retry.is_null()};
    if (!outcome.never) {
      outcome.retry = Duration(std::llround(retry.to_number<double>() * 1e6));
    }
    return outcome;
  }

  SessionFactory& door_;
  Tokens& tokens_;
};

// GET /auth: what a proxy asks about a request that it holds.
class ForwardAuthHost final : public Host {
 public:
  explicit ForwardAuthHost(SessionFactory& door) : Host("forward_auth"), door_(door) {}

  bool can_say(const Step& step, const Scenario& scenario) const override {
    if (step.way == Way::kRequest) return true;
    if (!asks_rules(step)) return false;
    const Question& question = step.questions[0];
    const Rule& rule = scenario.rule(question.rule);
    return step.way == Way::kOne && question.verb == Verb::kHit && question.cost > 0 &&
           rule.group == rule.id;
  }

  std::vector<Outcome> ask(const Step& step, Instant now) override {
    const Question& question = step.questions[0];
    const bool is_request = step.way == Way::kRequest;
    std::string fields =
        "X-Forwarded-Method: " + (is_request ? step.method : "GET") +
        "\r\nX-Forwarded-Uri: " + (is_request ? step.target : "/" + question.rule) +
        "\r\nX-Forwarded-Host: " + (is_request ? step.host : "localhost") +
        "\r\nX-Forwarded-For: " + (question.client.empty() ? "192.0.2.1" : question.client) +
        "\r\n";
    for (const std::string& header : step.headers) fields += header + "\r\n";
    if (!is_request) {
      fields += "X-Key: " + question.key + "\r\nX-Tier: " + question.tier +
                "\r\nX-Cost: " + std::to_string(question.cost) + "\r\n";
    }
    const std::string bytes = converse(door_, get("/auth", fields), now);
    std::string_view rest = bytes;
    const TestReply reply = take_reply(rest);
    const auto number = [&](const char* name) {
      const auto found = reply.fields.find(name);
      return found == reply.fields.end() ? -1
                                         : read_decimal<std::int64_t>(found->second).value_or(-2);
    };
    const std::int64_t retry = number("retry-after");
    return {{.allowed = reply.status == 200,
             .left = number("x-ratelimit-remaining"),
             .retry = seconds(retry),
             .never = retry < 0,
             .status = reply.status,
             .body = reply.body,
             .has = {bytes}}};
  }

 private:
  SessionFactory& door_;
};

class RespHost final : public Host {
 public:
  RespHost(SessionFactory& door, Tokens& tokens) : Host("resp"), door_(door), tokens_(tokens) {}

  bool can_say(const Step& step, const Scenario&) const override {
    if (!asks_rules(step) || !all_of(step, is_plain)) return false;
    return step.way == Way::kOne || all_of(step, [&](const Question& question) {
             return question.verb == Verb::kHit ||
                    (step.way == Way::kTogether && question.verb != Verb::kLook &&
                     question.verb != Verb::kReset);
           });
  }

  std::vector<Outcome> ask(const Step& step, Instant now) override {
    constexpr const char* kCommands[] = {"WEIR.HIT", "WEIR.LOOK", "WEIR.CHARGE", "WEIR.DRAIN",
                                         "WEIR.RESET"};
    if (step.questions[0].is_of_holds()) return {of_holds(step.questions[0], now)};
    std::string said = step.way == Way::kTogether ? "MULTI\r\nWEIR.ATOMIC\r\n" : "";
    std::vector<std::string> many = {"WEIR.MHIT", "EACH"};
    for (const Question& question : step.questions) {
      std::vector<std::string> words = {question.rule, question.key, std::to_string(question.cost)};
      if (question.verb == Verb::kReset) words.pop_back();
      if (step.way == Way::kEach) {
        many.insert(many.end(), words.begin(), words.end());
        continue;
      }
      words.insert(words.begin(), kCommands[static_cast<std::size_t>(question.verb)]);
      said += command(words);
    }
    if (step.way == Way::kEach) said += command(many);
    if (step.way == Way::kTogether) said += "EXEC\r\n";
    return told(converse(door_, said, now));
  }

 private:
  Outcome of_holds(const Question& question, Instant now) {
    if (question.ends_hold()) return end_by_resp(door_, question, tokens_, now);
    return told(hold_by_resp(door_, question, tokens_, now)).at(0);
  }
  // Of each five numbers: denied, the limit, what is left, when to retry, when all is there.
  static std::vector<Outcome> told(const std::string& reply) {
    EXPECT_EQ(reply.find("-ERR"), std::string::npos) << reply;
    std::vector<std::int64_t> numbers;
    for (std::size_t at = 0; at < reply.size(); at = reply.find("\r\n", at) + 2) {
      if (reply[at] != ':') continue;
      numbers.push_back(0);
      std::from_chars(reply.data() + at + 1, reply.data() + reply.size(), numbers.back());
    }
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i + 4 < numbers.size(); i += 5) {
      outcomes.push_back({.allowed = numbers[i] == 0,
                          .left = numbers[i + 2],
                          .retry = seconds(numbers[i + 3]),
                          .never = numbers[i + 3] < 0});
    }
    return outcomes;
  }

  SessionFactory& door_;
  Tokens& tokens_;
};

class GrpcHost final : public Host {
 public:
  explicit GrpcHost(SessionFactory& door) : Host("grpc"), door_(door) {}

  // A look is a hit of 0 units, which is over the limit if one unit more would be.
  bool can_say(const Step& step, const Scenario& scenario) const override {
    return (step.way == Way::kOne || step.way == Way::kEach) &&
           all_of(step, [&](const Question& question) {
             const bool is_look = question.verb == Verb::kLook && question.cost == 1;
             return is_plain(question) && is_described(scenario.rule(question.rule)) &&
                    (is_look || (question.verb == Verb::kHit && question.cost != 0));
           });
  }

  std::vector<Outcome> ask(const Step& step, Instant now) override {
    rls::Request request;
    request.set_domain(std::string(kDomain));
    for (const Question& question : step.questions) {
      auto& descriptor = *request.add_descriptors();
      const std::int64_t hits = question.verb == Verb::kLook ? 0 : question.cost;
      descriptor.mutable_hits_addend()->set_value(static_cast<std::uint64_t>(std::abs(hits)));
      descriptor.set_is_negative_hits(hits < 0);
      auto& entry = *descriptor.add_entries();
      entry.set_key(question.rule);
      entry.set_value(question.key);
    }
    Http2Peer peer(door_, now);
    const auto stream =
        peer.ask({.path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                  .fields = kGrpcFields,
                  .body = framed(request)});
    peer.talk(now);
    rls::Response response;
    EXPECT_TRUE(response.ParseFromString(peer.reply(stream).body.substr(5)));
    std::vector<Outcome> outcomes;
    for (const auto& status : response.statuses()) {
      outcomes.push_back({.allowed = status.code() == rls::Response::OK});
      // As the reference does, a denial says that nothing is left.
      if (outcomes.back().allowed) outcomes.back().left = status.limit_remaining();
    }
    return outcomes;
  }

 private:
  SessionFactory& door_;
};

// A program that shares the server's store and secret.
class LibraryHost final : public Host {
 public:
  LibraryHost(Store& store, const RuleSet& rules) : Host("library"), store_(store), rules_(rules) {}

  bool can_say(const Step& step, const Scenario& scenario) const override {
    const Question& question = step.questions[0];
    if (step.way != Way::kOne || !is_plain(question) || question.is_of_holds()) return false;
    if (std::ranges::any_of(scenario.steps, is_block)) return false;
    const Rule& rule = scenario.rule(question.rule);
    return rule.limits.empty() && rule.holds_max == 0 && rule.overrides.empty() &&
           rule.allow.empty() && rule.deny.empty() && rule.denial.blocks.empty() && rule.enabled &&
           !rule.shadow && rule.effect == Rule::Effect::kLimit &&
           rule.overdraft == Rule::Overdraft::kNone &&
           rule.quota.algorithm() != Algorithm::kAdaptive;
  }

  std::vector<Outcome> ask(const Step& step, Instant now) override {
    const Question& question = step.questions[0];
    const Quota& quota = rules_.find(question.rule)->quota;
    const bool has_burst = quota.algorithm() == Algorithm::kTokenBucket;
    const Limiter limiter(store_, clock_,
                          {.algorithm = quota.algorithm(),
                           .limit = quota.limit(),
                           .window = quota.window(),
                           .burst = has_burst ? quota.capacity() : 0},
                          HashSecret{});
    clock_.at = now;
    const HitOptions options{.cost = question.cost, .rule = question.rule};
    const Decision decision = *decide(limiter, question, options);
    return {{.allowed = decision.allowed(),
             .left = decision.remaining,
             .retry = wait_of(decision),
             .never = decision.verdict == Verdict::kNever}};
  }

 private:
  static Result<Decision> decide(const Limiter& limiter, const Question& question,
                                 const HitOptions& options) {
    switch (question.verb) {
      case Verb::kLook: return limiter.look("", question.key, options);
      case Verb::kCharge: return limiter.charge("", question.key, options);
      case Verb::kDrain: return limiter.drain("", question.key, options);
      case Verb::kReset: return limiter.reset("", question.key, options);
      default: return limiter.hit("", question.key, options);
    }
  }

  Store& store_;
  const RuleSet& rules_;
  SetClock clock_;
};

// Asks another host each time: all have one counter for one rule and key.
class TurnsHost final : public Host {
 public:
  TurnsHost(const std::vector<std::unique_ptr<Host>>& hosts, const Scenario& scenario)
      : Host("by_turns"), hosts_(hosts), scenario_(scenario) {}

  bool can_say(const Step& step, const Scenario& scenario) const override {
    return std::ranges::any_of(others(),
                               [&](const auto& host) { return host->can_say(step, scenario); });
  }

  std::vector<Outcome> ask(const Step& step, Instant now) override {
    for (;;) {
      Host& host = *others()[next_++ % others().size()];
      if (host.can_say(step, scenario_)) return host.ask(step, now);
    }
  }

 private:
  std::span<const std::unique_ptr<Host>> others() const {
    return std::span(hosts_).first(hosts_.size() - 1);
  }

  const std::vector<std::unique_ptr<Host>>& hosts_;
  const Scenario& scenario_;
  std::size_t next_ = 0;
};

}  // namespace

std::string converse(SessionFactory& door, std::string_view bytes, Instant now, const Peer& peer) {
  const auto session = door.make_session(peer, now);
  feed(*session, bytes, now);
  return drink(*session, now);
}

struct World::Parts {
  Parts(const Scenario& scenario, Instant now)
      : store(make_memory_store({.max_keys = 1024}, now)),
        http({.rules = scenario.rules,
              .sources = scenario.sources,
              .access = {.exposure =
                             scenario.is_on_the_network ? Exposure::kNetwork : Exposure::kLoopback,
                         .admin_token = scenario.token},
              .console = {.use = scenario.settings->console},
              .key_texts = scenario.settings->show_keys ? KeyTexts::kShown : KeyTexts::kHidden,
              .headers = header_settings(*scenario.settings),
              .store = store.get()}) {}

  std::unique_ptr<MemoryStore> store;
  Tokens tokens;
  TestDoor http;
  RespNode resp_node{{}, http.traffic};
  RespDoor resp{resp_node, http.engine, http.blocks, http.rules};
  GrpcNode grpc_node;
  GrpcDoor grpc{grpc_node, http.engine, http.blocks, http.rules, {}};
  Http2Door http2{grpc};
};

World::World(const Scenario& scenario, Instant now)
    : parts_(std::make_unique<Parts>(scenario, now)) {
  TestDoor& http = parts_->http;
  hosts_.push_back(
      std::make_unique<EngineHost>(http.engine, http.blocks, *http.rules, parts_->tokens));
  hosts_.push_back(std::make_unique<HttpHost>(http.door, parts_->tokens));
  hosts_.push_back(std::make_unique<ForwardAuthHost>(http.door));
  hosts_.push_back(std::make_unique<RespHost>(parts_->resp, parts_->tokens));
  hosts_.push_back(std::make_unique<GrpcHost>(parts_->http2));
  hosts_.push_back(std::make_unique<LibraryHost>(*parts_->store, *http.rules));
  hosts_.push_back(std::make_unique<TurnsHost>(hosts_, scenario));
}

World::~World() = default;

SessionFactory& World::http() { return parts_->http.door; }
SessionFactory& World::resp() { return parts_->resp; }
Store& World::store() { return *parts_->store; }

void World::block(const Step& step, Instant now) {
  const Question& blocked = step.questions[0];
  parts_->http.blocks.add({.rule = blocked.rule,
                           .key = blocked.key,
                           .since = now,
                           .until = now + step.block,
                           .reason = BlockReason::kManual},
                          now);
}

}  // namespace weir::scenarios
