// Random commands for a Redis, from a seed: charges of all algorithms in all operations, beats, and
// plain commands, also wrong ones.
//
// Thread rule: one thread. Tested by redis_model_equality_test.cc, which uses it.

#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "store/redis/script/charge_script.h"
#include "weir/quota.h"

namespace weir::testing {

class RandomCalls {
 public:
  using Words = std::vector<std::string>;

  // `beat`: the text of beat.lua and beat_fields.lua.
  RandomCalls(std::uint64_t seed, std::string beat) : chance_(seed), beat_(std::move(beat)) {
    for (std::size_t i = 0; i < kKeys; ++i) keys_.push_back({any_quota()});
  }

  // The next command, at this time.
  Words next(Instant now) {
    const std::uint32_t kind = chance_.below(20);
    if (kind < 13) return charges(now);
    if (kind < 15) return beat(now);
    return plain();
  }

  // How long until the next commands, and now and then the clock steps back.
  Duration step() {
    using namespace std::chrono_literals;
    const std::array<Duration, 7> most{1us, 1ms, 20ms, 1s, 20s, 3min, 2h};
    const Duration step{
        static_cast<std::int64_t>(chance_.unit() * static_cast<double>(any_of(most).count() + 1))};
    return one_in(20) ? -step / 2 : step;
  }

 private:
  static constexpr std::size_t kKeys = 24;

  struct Key {
    Quota quota;
    std::uint64_t tag = 0;
  };

  template <typename List>
  typename List::value_type any_of(const List& list) {
    return *(std::begin(list) + chance_.below(static_cast<std::uint32_t>(std::size(list))));
  }
  std::string any_word(std::initializer_list<std::string_view> words) {
    return std::string(any_of(words));
  }
  bool one_in(std::uint32_t many) { return chance_.below(many) == 0; }

  Quota any_quota() {
    using namespace std::chrono_literals;
    QuotaSpec spec;
    spec.algorithm = static_cast<Algorithm>(chance_.below(kAlgorithmCount));
    spec.limit = any_of(std::array<std::int64_t, 8>{0, 1, 3, 10, 100, 999, 1'000'003, kLimitMax});
    spec.window =
        any_of(std::array<Duration, 8>{1ms, 100ms, 1s, 7s, 1min, 1h, 24h, Duration{123'456'789}});
    if (spec.algorithm == Algorithm::kTokenBucket && one_in(2)) {
      spec.burst = std::max<std::int64_t>(1, spec.limit / 2);
    }
    const auto quota = Quota::make(spec);
    return quota ? *quota : Quota();
  }

  std::int64_t any_cost(const Quota& quota) {
    const std::int64_t capacity = quota.capacity();
    switch (chance_.below(8)) {
      case 0: return 0;
      case 1: return std::min(kCostMax, capacity + 1);
      case 2: return std::min(kCostMax, std::max<std::int64_t>(1, capacity / 3));
      case 3: return std::max<std::int64_t>(1, capacity);
      case 4: return -std::max<std::int64_t>(1, capacity / 4);
      default: return 1;
    }
  }

  // The key's quota; now and then another one: its limit has been changed, it has switched, or
  // another algorithm asks for it.
  Quota quota_of(Key& key) {
    if (one_in(60)) return any_quota();
    if (one_in(200)) key.quota = any_quota();
    if (key.quota.switches() && one_in(4)) {
      const auto active = any_of(std::array{Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                            Algorithm::kExponentialBackoff});
      const std::uint32_t number = key.quota.switch_number() + chance_.below(3);
      const Quota later = key.quota.following({active, number});
      if (one_in(3)) return later;
      key.quota = later;
    }
    return key.quota;
  }

  void add_batch(Instant now) {
    const std::size_t first = quotas_.size();
    const auto operation = any_of(std::array{
        ScriptOperation::kSpendEach, ScriptOperation::kSpendEach, ScriptOperation::kSpendAll,
        ScriptOperation::kSpendAll, ScriptOperation::kLook, ScriptOperation::kReset,
        ScriptOperation::kCharge, ScriptOperation::kDrain, ScriptOperation::kLease,
        ScriptOperation::kLease, ScriptOperation::kSync, ScriptOperation::kReturn});
    const bool is_single =
        operation == ScriptOperation::kLease || operation == ScriptOperation::kReturn;
    const std::uint32_t count = is_single ? 1 : 1 + chance_.below(3);
    std::vector<Charge> charges;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t number = chance_.below(kKeys);
      quotas_.push_back(quota_of(keys_[number]));
      const std::int64_t cost = any_cost(quotas_.back());
      charges.push_back({{number, 42}, nullptr, cost, number % 3 == 0 ? 7U : 0U});
    }
    for (std::size_t i = 0; i < charges.size(); ++i) charges[i].quota = &quotas_[first + i];
    Charge& one = charges.front();
    using namespace std::chrono_literals;
    if (operation == ScriptOperation::kLease) {
      one.cost = std::max<std::int64_t>(1, std::abs(one.cost));
      call_.add_lease(one, {.share = 1 + chance_.below(4),
                            .needed = chance_.below(3),
                            .length = any_of(std::array<Duration, 3>{20ms, 1s, 10s}),
                            .long_length = any_of(std::array<Duration, 3>{0ms, 30s, 2min}),
                            .settled = chance_.below(3),
                            .settled_until = now + Duration{chance_.below(20'000'000)}});
    } else if (operation == ScriptOperation::kReturn) {
      one.cost = -std::max<std::int64_t>(1, std::abs(one.cost));
      call_.add_return(one, now + Duration{chance_.below(20'000'000)} - 5s, chance_.below(3));
    } else {
      call_.add(operation, charges);
    }
  }

  Words charges(Instant now) {
    quotas_.clear();
    quotas_.reserve(ChargeCall::kChargesMax);
    call_.clear();
    for (std::uint32_t batches = 1 + chance_.below(3); batches > 0; --batches) add_batch(now);
    const auto words = call_.words();
    Words copy(words.begin(), words.end());
    if (one_in(10)) {
      copy[0] = "EVAL";
      copy[1] = ChargeCall::text();
    }
    if (one_in(10)) copy[copy.size() - 2] = std::to_string(epoch_us(now));
    if (one_in(200)) copy.back().resize(copy.back().size() - 1);  // too short: the script fails
    return copy;
  }

  // ---- beats ----

  std::string node() { return "node" + std::to_string(chance_.below(6)); }
  std::string bytes(std::uint32_t most) {
    std::string bytes(chance_.below(most + 1), '\0');
    for (char& byte : bytes) byte = static_cast<char>(chance_.below(256));
    return bytes;
  }

  Words words_of_field(std::string_view name, Instant now) {
    const std::int64_t us = epoch_us(now);
    const auto second = [&] { return std::to_string(us / 1'000'000 - chance_.below(20)); };
    if (name == "nodes") {
      return {node(), "5", "60", any_word({"beats", "beats", "beats", "keeps", "leaves"})};
    }
    if (name == "secret") return {bytes(16), one_in(2) ? "" : std::to_string(us)};
    if (name == "news") return {one_in(2) ? "" : std::to_string(us)};
    if (name == "blocks") {
      const std::string id = one_in(2) ? "0-0" : std::to_string(us / 1000 - 5) + "-0";
      Words words = {node(), id + (one_in(2) ? " " + std::to_string(us - 7) : "")};
      for (std::uint32_t acts = chance_.below(3); acts > 0; --acts) {
        words.insert(words.end(), {bytes(40), std::to_string(chance_.below(90'000)),
                                   std::to_string(1 + chance_.below(90'000))});
      }
      return words;
    }
    if (name == "traffic") return {node(), one_in(3) ? "" : bytes(300), second(), "3"};
    if (name == "switches") {
      Words words = {one_in(2) ? "" : std::to_string(us), std::to_string(us - 1'000'000)};
      for (std::uint32_t count = chance_.below(3); count > 0; --count) {
        words.insert(words.end(), {"rule" + std::to_string(chance_.below(5)),
                                   std::to_string(chance_.below(9)), second(), bytes(30)});
      }
      return words;
    }
    if (name == "rules") {
      Words words = {node(), bytes(20), one_in(2) ? "" : "3 77", any_word({"0", "1"})};
      const std::string number = std::to_string(chance_.below(20));
      if (one_in(3)) words.insert(words.end(), {number, number + " 77", bytes(100)});
      return words;
    }
    return {node(), "10", "4", "200", bytes(220)};  // busiest, about
  }

  Words beat(Instant now) {
    Words names = {"nodes"};
    for (const std::string_view name :
         {"traffic", "busiest", "news", "secret", "blocks", "switches", "about", "rules"}) {
      if (one_in(2)) names.emplace_back(name);
    }
    Words words = {"EVAL", beat_, std::to_string(names.size())};
    for (const auto& name : names) words.push_back("weir:{fleet}:" + name);
    for (const auto& name : names) {
      const Words said = words_of_field(name, now);
      words.push_back(name);
      words.push_back(std::to_string(said.size()));
      words.insert(words.end(), said.begin(), said.end());
    }
    return words;
  }

  // ---- plain commands ----

  std::string key() {
    const std::uint32_t kind = chance_.below(12);
    if (kind == 0) return call_name();
    if (kind == 1) return "weir:{fleet}:" + any_word({"nodes", "blocks", "about", "rules"});
    return std::string(1, static_cast<char>('a' + chance_.below(6)));
  }
  // A key that charges have, too.
  std::string call_name() {
    const Quota quota;
    const Charge charge{{chance_.below(kKeys), 42}, &quota, 1, 0};
    ChargeCall call("weir:");
    call.add(ScriptOperation::kLook, {&charge, 1});
    return std::string(call.words()[3]);
  }
  std::string number() {
    return any_word({"0", "1", "-1", "2", "5", "100", "-3", "1.5", "x", "", "9223372036854775807",
                     "-9223372036854775808", "007", "+1", "1000", "60000"});
  }
  std::string id() { return any_word({"1-1", "5-3", "(", "x", "1700000040000-0", "-1-2"}); }
  std::string score() {
    return any_word({"1", "2.5", "-inf", "+inf", "(1", "inf", "nan", "x", "", " 1", "1e3", "0x10"});
  }
  std::string value() { return one_in(3) ? bytes(90) : number(); }
  std::string field() { return "f" + std::to_string(chance_.below(5)); }

  // The model knows one form of HSCAN and of EXPIRE.
  Words plain() {
    Words words = sensible();
    if (words[0] == "HSCAN" || words[0].find("EXPIRE") != std::string::npos) return words;
    if (one_in(15)) words.push_back(number());
    if (one_in(15) && words.size() > 1) words.pop_back();
    if (one_in(15)) words[0] = any_word({"GET", "HGETALL", "PTTL"});
    return words;
  }

  Words sensible() {
    switch (chance_.below(30)) {
      case 0: return {"GET", key()};
      case 1: return {"SET", key(), value()};
      case 2: return {"SET", key(), value(), any_word({"EX", "PX", "PXAT"}), number()};
      case 3: return {"SET", key(), value(), "NX", any_word({"EX", "PX"}), "50"};
      case 4: return {"MGET", key(), key(), key()};
      case 5: return {"STRLEN", key()};
      case 6: return {"GETRANGE", key(), number(), number()};
      case 7: return {"DEL", key(), key()};
      case 8: return {"EXISTS", key(), key()};
      case 9: return {"EXPIRE", key(), number()};
      case 10: return {"PEXPIRE", key(), number()};
      case 11: return {"PEXPIREAT", key(), any_word({"1700000050000", "1", "x"})};
      case 12: return {"PTTL", key()};
      case 13: return {"HGET", key(), field()};
      case 14: return {"HMGET", key(), field(), field()};
      case 15: return {"HGETALL", key()};
      case 16: return {"HLEN", key()};
      case 17: return {"HSCAN", key(), any_word({"0", "0", "x"}), "COUNT", number()};
      case 18: return {"HSET", key(), field(), value(), field(), value()};
      case 19: return {"HSETNX", key(), field(), value()};
      case 20: return {"HDEL", key(), field(), field()};
      case 21: return {"ZADD", key(), score(), field()};
      case 22: return {"ZCARD", key()};
      case 23: return {"ZRANGE", key(), number(), number()};
      case 24: return {"ZREMRANGEBYSCORE", key(), score(), score()};
      case 25:
        return {"XADD", key(), "MAXLEN", "~", any_word({"1", "5", "x"}), one_in(2) ? "*" : id(),
                "f",    "v"};
      case 26:
        return {"XRANGE", key(), one_in(3) ? "0-0" : id(), "+", "COUNT", any_word({"1", "5", "x"})};
      case 27: return {"ZRANGE", key(), score(), score(), "BYSCORE"};
      case 28: return {"ZRANGE", key(), score(), score(), "BYSCORE", "WITHSCORES"};
      default: return {"ZRANGE", key(), number(), number(), "WITHSCORES"};
    }
  }

  Prng chance_;
  const std::string beat_;
  std::vector<Key> keys_;
  std::vector<Quota> quotas_;  // of the call that is made
  ChargeCall call_{"weir:"};
};

}  // namespace weir::testing
