#include "rls/rate_limit_service.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/late_store.h"
#include "weir/memory_store.h"

namespace weir::rls {
namespace {

using namespace std::chrono_literals;
using Descriptors = std::vector<RequestDescriptor>;
using Entries = std::vector<std::pair<std::string, std::string>>;

RequestDescriptor of(const Entries& entries) {
  RequestDescriptor descriptor;
  for (const auto& [key, value] : entries) {
    auto& entry = *descriptor.add_entries();
    entry.set_key(key);
    entry.set_value(value);
  }
  return descriptor;
}

RequestDescriptor with_hits(RequestDescriptor descriptor, std::uint64_t hits) {
  descriptor.mutable_hits_addend()->set_value(hits);
  return descriptor;
}

RequestDescriptor with_limit(RequestDescriptor descriptor, std::uint32_t limit,
                             envoy::type::v3::RateLimitUnit unit = envoy::type::v3::MINUTE) {
  descriptor.mutable_limit()->set_requests_per_unit(limit);
  descriptor.mutable_limit()->set_unit(unit);
  return descriptor;
}

// "key" alone, or "key=value".
Rule rule(std::string id, std::int64_t limit, const std::vector<std::string>& entries,
          Duration window = 1min) {
  DescriptorMatch match{.domain = "edge"};
  for (const std::string& entry : entries) {
    const auto equals = entry.find('=');
    DescriptorEntry made{.key = entry.substr(0, equals)};
    if (equals != std::string::npos) made.value = TextPattern(entry.substr(equals + 1));
    match.entries.push_back(std::move(made));
  }
  return {.id = std::move(id),
          .quota = *Quota::make(
              {.algorithm = Algorithm::kFixedWindow, .limit = limit, .window = window}),
          .descriptor = std::move(match)};
}

Rule named(Rule rule, std::string name, std::vector<std::string> replaces = {}) {
  rule.policy.name = std::move(name);
  rule.policy.replaces = std::move(replaces);
  return rule;
}

Rule with_effect(Rule rule, Rule::Effect effect) {
  rule.effect = effect;
  return rule;
}

Rule shadow(Rule rule) {
  rule.shadow = true;
  return rule;
}

Rule quota_mode(Rule rule) {
  rule.policy.quota_mode = true;
  return rule;
}

class World {
 public:
  // 23 s into a minute.
  static constexpr Instant kStart = instant_from_epoch_us(1'600'000'043'000'000);

  explicit World(std::vector<Rule> rules, const RlsOptions& options = {})
      : store_(make_memory_store({.max_keys = 1024}, kStart)),
        engine_(*store_, hasher_, traffic_.add_core()),
        blocks_(hasher_),
        service_(engine_, blocks_, std::make_shared<const RuleSet>(std::move(rules)), options) {}

  void lose_the_shared_store() {
    shared_.break_down();
    engine_.join(fleet_, [] {});
  }

  const Response& ask(const Descriptors& descriptors, std::uint32_t hits = 0,
                      const std::string& domain = "edge") {
    const auto call = service_.new_call();
    Request& request = call->request;
    request.Clear();
    request.set_domain(domain);
    request.set_hits_addend(hits);
    for (const auto& descriptor : descriptors) *request.add_descriptors() = descriptor;
    EXPECT_EQ(call->decide(now), Asks::Progress::kAnswered);
    error_ = call->error();
    response_ = call->response;
    return response_;
  }

  // "ok 4" or "over 0" for the whole, and the remaining of each descriptor: "OK: 4 over:0 -"
  // where '-' is a descriptor without a limit and "inf" an unlimited one.
  std::string told(const Descriptors& descriptors, std::uint32_t hits = 0,
                   const std::string& domain = "edge") {
    const Response& response = ask(descriptors, hits, domain);
    if (error_) return std::string(error_->message);
    std::string text = response.overall_code() == Response::OVER_LIMIT ? "OVER" : "OK";
    for (const auto& status : response.statuses()) {
      text += status.code() == Response::OVER_LIMIT ? " over:" : " ";
      if (status.limit_remaining() == UINT32_MAX) {
        text += "inf";
      } else {
        text += status.has_current_limit() ? std::to_string(status.limit_remaining()) : "-";
      }
    }
    return text;
  }

  RateLimitService& service() { return service_; }
  std::uint64_t denied() const { return traffic_.summary(now).total_denied(); }

  Instant now = kStart;

 private:
  std::unique_ptr<MemoryStore> store_;
  KeyHasher hasher_{HashSecret{}};
  Traffic traffic_;
  Engine engine_;
  LateStore shared_{*store_};
  TestFleet fleet_{shared_};
  BlockList blocks_;
  RateLimitService service_;
  Response response_;
  std::optional<ServiceError> error_;
};

TEST(RateLimitService, FillsLimitAndReset) {
  World world({named(rule("r", 2, {"user"}), "per user")});
  for (int i = 0; i < 3; ++i) {
    const auto& status = world.ask({of({{"user", "a"}})}).statuses(0);
    EXPECT_EQ(status.current_limit().requests_per_unit(), 2u);
    EXPECT_EQ(status.current_limit().unit(), Response::RateLimit::MINUTE);
    EXPECT_EQ(status.current_limit().name(), "per user");
    EXPECT_EQ(status.duration_until_reset().seconds(), 37);
    EXPECT_EQ(status.duration_until_reset().nanos(), 0);
  }
}

TEST(RateLimitService, WithoutDomainOrDescriptorsThereIsNoAnswer) {
  World world({rule("r", 2, {"user"})});
  EXPECT_EQ(world.told({of({{"user", "a"}})}, 0, ""), "rate limit domain must not be empty");
  EXPECT_EQ(world.told({}), "rate limit descriptor list must not be empty");
}

TEST(RateLimitService, WhatIsUnknownIsAllowedAndHasNoLimit) {
  World world({rule("r", 0, {"user"}), with_effect(rule("x", 0, {"free"}), Rule::Effect::kExempt)});
  EXPECT_EQ(world.told({of({{"user", "a"}})}, 0, "other"), "OK -");
  EXPECT_EQ(world.told({of({{"ip", "a"}})}), "OK -");
  EXPECT_EQ(world.told({of({{"user", "a"}, {"ip", "b"}})}), "OK -");
  EXPECT_EQ(world.told({of({})}), "OK -");
  EXPECT_EQ(world.told({of({{"free", "a"}})}), "OK -");
}

TEST(RateLimitService, HitsAreTheDescriptorsElseTheRequestsElseOne) {
  World world({rule("r", 10, {"user"})});
  const auto user = of({{"user", "a"}});
  EXPECT_EQ(world.told({user}), "OK 9");
  EXPECT_EQ(world.told({user}, 3), "OK 6");
  EXPECT_EQ(world.told({with_hits(user, 2)}, 3), "OK 4");
  EXPECT_EQ(world.told({with_hits(user, 0)}, 3), "OK 4");
  EXPECT_EQ(world.told({with_hits(user, 5)}), "OVER over:0");
  EXPECT_EQ(world.told({user}), "OK 3") << "what was denied is not charged";
  EXPECT_EQ(world.told({with_hits(user, UINT64_MAX)}), "OVER over:0");
  EXPECT_EQ(world.told({user}, UINT32_MAX), "OVER over:0");
}

Rule as_read(Rule rule) {
  rule.overdraft = Rule::Overdraft::kEnvoy;
  return rule;
}

// The reference's integration-test/scripts/token-quota.sh and multiservice-tokenquota.sh expect
// this of limits of 2 and 1 a minute.
TEST(RateLimitService, LooksThenChargesOfOneAreAsInTheReferencesScripts) {
  for (const std::int64_t limit : {2, 1}) {
    World world({as_read(rule("r", limit, {"service"}))});
    const auto service = of({{"service", "1"}});
    for (std::int64_t request = 0; request <= limit; ++request) {
      EXPECT_TRUE(world.told({with_hits(service, 0)}).starts_with("OK ")) << request;
      world.told({with_hits(service, 1)});
    }
    EXPECT_EQ(world.told({with_hits(service, 0)}), "OVER over:0");
    world.now += 37s;  // the next minute
    EXPECT_TRUE(world.told({with_hits(service, 0)}).starts_with("OK "));
  }
}

TEST(RateLimitService, TenLooksAndChargesOfSevenAgainstTenLetTwoThrough) {
  World world({as_read(rule("r", 10, {"user"})), rule("plain", 10, {"plain"}),
               as_read(rule("zero", 0, {"zero"}))});
  const auto through = [&](const RequestDescriptor& descriptor) {
    int looks = 0;
    for (int i = 0; i < 10; ++i) {
      if (world.told({with_hits(descriptor, 0)}).starts_with("OVER")) continue;
      ++looks;
      world.told({with_hits(descriptor, 7)});
    }
    return looks;
  };
  EXPECT_EQ(through(of({{"user", "a"}})), 2);
  EXPECT_EQ(through(with_limit(of({{"user", "a"}}), 10)), 2) << "an inline limit";
  EXPECT_EQ(through(of({{"zero", ""}})), 0);
  EXPECT_EQ(through(of({{"plain", ""}})), 10) << "a rule of Weir's own says when it is to";
}

TEST(RateLimitService, AllOrNothingChargesNothingUnlessTheRuleSaysSo) {
  Rule always = rule("always", 10, {"always"});
  always.overdraft = Rule::Overdraft::kAll;
  World world({as_read(rule("r", 10, {"user"})), always}, {.envoy = {.all_or_nothing = true}});
  EXPECT_EQ(world.told({with_hits(of({{"user", "a"}}), 12)}), "OVER over:0");
  EXPECT_EQ(world.told({of({{"user", "a"}})}), "OK 9");
  EXPECT_EQ(world.told({with_hits(of({{"always", ""}}), 12)}), "OVER over:0");
  EXPECT_EQ(world.told({with_hits(of({{"always", ""}}), 0)}), "OVER over:0");
}

TEST(RateLimitService, AllOrNothingByOption) {
  World world(
      {rule("one", 1, {"one"}), rule("many", 9, {"many"}), shadow(rule("quiet", 9, {"quiet"}))},
      {.envoy = {.all_or_nothing = true}});
  const Descriptors all = {of({{"one", ""}}), of({{"many", ""}}), of({{"quiet", ""}})};
  EXPECT_EQ(world.told(all), "OK 0 8 8");
  EXPECT_EQ(world.told(all), "OVER over:0 8 8");
  EXPECT_EQ(world.told({of({{"many", ""}}), of({{"quiet", ""}})}), "OK 7 7");
  EXPECT_EQ(world.told(Descriptors(17, of({{"many", ""}}))),
            "16 descriptors at most can be charged all or nothing");
}

TEST(RateLimitService, ManyDescriptorsAreSeveralBatches) {
  World world({rule("r", 1000, {"n"})});
  Descriptors descriptors;
  for (int i = 0; i < 256; ++i) descriptors.push_back(of({{"n", std::to_string(i % 200)}}));
  const Response& response = world.ask(descriptors);
  ASSERT_EQ(response.statuses_size(), 256);
  EXPECT_EQ(response.statuses(199).limit_remaining(), 999u);
  EXPECT_EQ(response.statuses(200).limit_remaining(), 998u);
  descriptors.push_back(of({{"n", "0"}}));
  EXPECT_EQ(world.told(descriptors), "a request may have 256 descriptors at most");
}

TEST(RateLimitService, ADescriptorHasAtMost32Entries) {
  World world({rule("r", 1000, {"n"})});
  EXPECT_EQ(world.told({of(Entries(33, {"n", "1"}))}), "a descriptor may have 32 entries at most");
  EXPECT_EQ(world.told({of(Entries(32, {"n", "1"}))}), "OK -");
}

TEST(RateLimitService, AnInlineLimitWinsOverTheRule) {
  World world({rule("r", 100, {"user"})});
  const auto user = of({{"user", "a"}});
  EXPECT_EQ(world.told({with_limit(user, 2)}), "OK 1");
  EXPECT_EQ(world.told({user}), "OK 99") << "counters are apart";
  EXPECT_EQ(world.told({with_limit(of({{"any", "thing"}}), 2)}), "OK 1");
  EXPECT_EQ(world.told({with_limit(user, 2)}), "OK 0");
  EXPECT_EQ(world.told({with_limit(user, 2)}), "OVER over:0");
  EXPECT_EQ(world.told({with_limit(user, 2)}, 0, "other"), "OK -") << "the domain must exist";
  EXPECT_EQ(world.told({with_limit(user, 2, envoy::type::v3::UNKNOWN)}),
            "an inline limit needs a unit");
}

TEST(RateLimitService, InlineCountersAreUnambiguous) {
  World world({rule("r", 100, {"user"})});
  EXPECT_EQ(world.told({with_limit(of({{"a", "b"}, {"c", "d"}}), 1)}), "OK 0");
  EXPECT_EQ(world.told({with_limit(of({{"a", "b_c_d"}}), 1)}), "OK 0");
  EXPECT_EQ(world.told({with_limit(of({{"a", "b1:c1:d"}}), 1)}), "OK 0");
  EXPECT_EQ(world.told({with_limit(of({{"a", ""}, {"", "b"}}), 1)}), "OK 0");
}

TEST(RateLimitService, UnlimitedSaysSoAndCountsNothing) {
  World world({with_effect(rule("r", 0, {"user"}), Rule::Effect::kUnlimited)});
  EXPECT_EQ(world.told({of({{"user", "a"}})}), "OK inf");
  EXPECT_FALSE(world.ask({of({{"user", "a"}})}).statuses(0).has_current_limit());
}

TEST(RateLimitService, InShadowModeOnlyTheWholeIsOk) {
  World world({rule("r", 0, {"user"})}, {.envoy = {.shadow_mode = true}});
  EXPECT_EQ(world.told({of({{"user", "a"}})}), "OK over:0");
  EXPECT_EQ(world.denied(), 0u);
}

TEST(RateLimitService, InQuotaModeAllMustBeOver) {
  World world(
      {quota_mode(rule("a", 0, {"a"})), quota_mode(rule("b", 1, {"b"})), rule("c", 1, {"c"})});
  const Descriptors quotas = {of({{"a", ""}}), of({{"b", ""}})};
  EXPECT_EQ(world.told(quotas), "OK over:0 0");
  EXPECT_EQ(world.told(quotas), "OVER over:0 over:0");
  EXPECT_EQ(world.told({of({{"a", ""}}), of({{"c", ""}})}), "OVER over:0 0")
      << "what has another mode does not help";
}

TEST(RateLimitService, ALimitReplacesOthersByName) {
  World world({named(rule("all", 1, {"all"}), "all"),
               named(rule("vip", 100, {"vip"}), "vip", {"all", "other"})});
  EXPECT_EQ(world.told({of({{"all", ""}}), of({{"vip", "x"}})}), "OK - 99");
  EXPECT_EQ(world.told({of({{"vip", "x"}}), of({{"all", ""}})}), "OK 98 -");
  EXPECT_EQ(world.told({of({{"all", ""}})}), "OK 0") << "it was not charged before";
}

TEST(RateLimitService, RulesThatReplaceEachOtherAreBothDropped) {
  World world({named(rule("a", 0, {"a"}), "a", {"b"}), named(rule("b", 0, {"b"}), "b", {"a"})});
  EXPECT_EQ(world.told({of({{"a", ""}}), of({{"b", ""}})}), "OK - -");
}

TEST(RateLimitService, HeadersTellOfTheTightestLimit) {
  World world(
      {rule("wide", 100, {"wide"}), rule("tight", 2, {"tight"}, 1h), rule("none", 0, {"none"})},
      {.envoy = {.response_headers = true}});
  const auto headers = [&](const Descriptors& descriptors) {
    std::string text;
    for (const auto& header : world.ask(descriptors).response_headers_to_add()) {
      text += header.key() + "=" + header.value() + " ";
    }
    return text;
  };
  EXPECT_EQ(headers({of({{"wide", ""}}), of({{"tight", ""}})}),
            "RateLimit-Limit=2 RateLimit-Remaining=1 RateLimit-Reset=1957 ");
  EXPECT_EQ(headers({of({{"none", ""}}), of({{"wide", ""}})}),
            "RateLimit-Limit=0 RateLimit-Remaining=0 RateLimit-Reset=37 ");
  EXPECT_EQ(headers({of({{"unknown", ""}})}), "");
}

TEST(RateLimitService, HeadersSayThatANodeDecidedAlone) {
  World world({rule("a", 2, {"a"})}, {.envoy = {.response_headers = true}});
  const auto last_header = [&] {
    const auto& headers = world.ask({of({{"a", ""}})}).response_headers_to_add();
    return headers.empty() ? std::string() : headers[headers.size() - 1].key();
  };
  EXPECT_EQ(last_header(), "RateLimit-Reset");
  world.lose_the_shared_store();
  EXPECT_EQ(last_header(), "X-Weir-Mode");
}

TEST(RateLimitService, CountsByValuesWhereARuleWantsIt) {
  Rule all = rule("all", 1, {"a"});
  all.policy.detailed_metric = true;
  Rule last = rule("last", 5, {"b"});
  last.policy.value_to_metric = true;
  DetailedCounts counts;
  World world({all, last, rule("none", 5, {"c"})}, {.detailed_counts = &counts});
  for (int i = 0; i < 3; ++i) {
    world.ask({of({{"a", "x"}}), of({{"b", "y"}}), of({{"c", "z"}})});
  }
  const auto series = counts.all();
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].values, "a=x");
  EXPECT_EQ(series[0].within_limit, 1u);
  EXPECT_EQ(series[0].over_limit, 2u);
  EXPECT_EQ(series[1].values, "y");
  EXPECT_EQ(series[1].within_limit, 3u);
}

TEST(RateLimitService, MetadataOfWhatPassed) {
  Rule passes = rule("passes", 10, {"a"});
  passes.policy.metadata_json = R"({"plan":"gold"})";
  Rule denied = rule("denied", 0, {"b"});
  denied.policy.metadata_json = R"({"never":true})";
  World world({passes, denied}, {.envoy = {.response_metadata = true}});
  const auto& metadata = world.ask({of({{"a", ""}}), of({{"b", ""}})}).dynamic_metadata();
  ASSERT_EQ(metadata.fields_size(), 1);
  EXPECT_EQ(metadata.fields().at("plan").string_value(), "gold");
}

// Two bytes of a message may ask for an object of 80.
TEST(RateLimitService, ALongMessageOfManyDescriptorsBecomesNoObjects) {
  World world({});
  std::string many;
  for (int i = 0; i < 2'000'000; ++i) many += {'\x12', '\0'};
  std::string entries = "\x12\xff\xff\x7f";  // one descriptor of 2 MiB - 1
  for (int i = 0; i < (1 << 20) - 1; ++i) entries += {'\x0a', '\0'};
  entries += "\x18";
  for (const std::string& message : {many, entries}) {
    const auto call = world.service().new_call();
    const auto error = call->read(message);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind, ServiceError::Kind::kInvalidArgument) << error->message;
    EXPECT_LT(call->request.SpaceUsedLong(), 64u << 10);
  }
}

TEST(RateLimitService, WhatALongRequestTookIsNotKept) {
  World world({});
  Request request;
  request.set_domain("edge");
  for (int i = 0; i < 256; ++i) *request.add_descriptors() = of({{"k", std::string(8'000, 'v')}});
  {
    const auto call = world.service().new_call();
    EXPECT_FALSE(call->read(request.SerializeAsString()).has_value());
    EXPECT_GT(call->request.SpaceUsedLong(), std::size_t{256} * 8'000);
  }
  EXPECT_LT(world.service().new_call()->request.SpaceUsedLong(), 64u << 10);
}

}  // namespace
}  // namespace weir::rls
