// The script decides as src/algo does, step by step, in every field, within a real Redis. It gets
// random quotas, costs, groups, clocks that step back and forth, switches, and nodes that have
// missed some. Of an adaptive key, which its switches carry from one form to the next, every byte
// is compared.
//
// The seed is fixed, so a run repeats. RC_PARAMS="seed=7 max_success=10000" tries others,
// and more.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "algo/testing/any_key.h"
#include "algo/testing/random_life.h"
#include "redis/script_redis.h"
#include "store/redis/script/charge_script.h"

namespace weir {

std::ostream& operator<<(std::ostream& out, const Decision& decision) {
  return out << "verdict " << static_cast<int>(decision.verdict) << " limit " << decision.limit
             << " left " << decision.remaining << " retry " << decision.retry_after.count()
             << " reset " << decision.reset_after.count() << " more " << decision.more_after.count()
             << " level " << int{decision.backoff_level};
}

namespace {

using algo::AdaptiveState;
using algo::testing::any_active;
using algo::testing::any_move;
using algo::testing::AnyKey;
using algo::testing::kAllKinds;
using algo::testing::within;
using testing::script;

[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=400", 0);

constexpr Instant kTimeMax = instant_from_epoch_us(4'000'000'000'000'000);
constexpr std::size_t kKeys = 3;
constexpr std::uint64_t kTag = 77;

// ---- what the C++ makes of a key -------------------------------------------------------

std::string bytes_of(std::uint64_t number, std::size_t size) {
  std::string bytes(size, '\0');
  std::memcpy(bytes.data(), &number, size);  // the machine is little-endian, as states are
  return bytes;
}

struct Key {
  Quota quota;
  AnyKey state{quota.algorithm()};
  KeyHash hash = script().fresh_key();
  std::string name = script().name_of(hash, kTag);
  std::optional<ActiveAlgorithm> followed{};  // of an adaptive one, while it holds anything

  bool is_adaptive() const { return quota.algorithm() == Algorithm::kAdaptive; }
  bool is_news(const Quota& caller) const {
    return !followed || caller.switch_number() > followed->number;
  }
  ActiveAlgorithm active_for(const Quota& caller) const {
    return is_news(caller) ? ActiveAlgorithm{caller.active(), caller.switch_number()} : *followed;
  }
  void keep(ActiveAlgorithm active) {
    if (is_adaptive()) followed = active;
  }
  // A call writes what it has decided when it ends.
  void end_call() {
    if (followed && state.expiry(quota) == Instant{}) forget();
  }
  void forget() {
    state = AnyKey(quota.algorithm());
    followed.reset();
  }
  Decision spend(const Quota& caller, std::int64_t cost, Instant now) {
    const ActiveAlgorithm active = active_for(caller);
    const bool is_first = is_news(caller);
    const Decision decision = state.decide(caller.following(active), cost, now);
    const bool is_denial = cost > 0 && decision.verdict == Verdict::kDenied;
    if (state.has_changed() || (is_denial && followed && is_first)) keep(active);
    return decision;
  }
  Decision charge(const Quota& caller, std::int64_t cost, Instant now) {
    if (cost <= 0 || caller.limit() == 0) return spend(caller, cost, now);
    const ActiveAlgorithm active = active_for(caller);
    const bool is_first = is_news(caller);
    const Decision decision = state.charge(caller.following(active), cost, now);
    if (state.has_changed() || is_first) keep(active);
    return decision;
  }
  Decision look(const Quota& caller, std::int64_t cost, Instant now) const {
    const Quota follows = caller.following(active_for(caller));
    const Decision before = state.look(follows, 0, now);
    Decision decision = state.look(follows, std::max<std::int64_t>(0, cost), now);
    decision.remaining = before.remaining;
    decision.reset_after = before.reset_after;
    decision.more_after = before.more_after;
    return decision;
  }
  void count_denial(const Quota& caller, Instant now) {
    const ActiveAlgorithm active = active_for(caller);
    const Quota follows = caller.following(active);
    if (follows.active() != Algorithm::kExponentialBackoff || caller.limit() == 0) return;
    state.record_denial(follows, now);
    if (state.has_changed()) keep(active);
  }
  Decision drain(const Quota& caller, std::int64_t cost, Instant now) {
    const Decision seen = look(caller, cost, now);
    if (!seen.allowed() && seen.remaining > 0) spend(caller, seen.remaining, now);
    return spend(caller, cost, now);
  }
  // The adaptive state under its name.
  std::string bytes() {
    if (!followed) return "";
    const auto& held = state.state<AdaptiveState>();
    const auto numbers = [](std::initializer_list<std::int64_t> all) {
      std::string bytes;
      for (const std::int64_t one : all) bytes += bytes_of(static_cast<std::uint64_t>(one), 8);
      return bytes;
    };
    const std::string head = bytes_of(followed->number, 4) + numbers({0});
    if (held.is_bucket()) return "t" + head + numbers({held.time_us, held.previous});
    const std::string counts = numbers({held.time_us, held.previous, held.current});
    if (followed->algorithm == Algorithm::kSlidingWindow) return "s" + head + counts;
    const std::int64_t cooldown = held.cooldown_until_us / algo::kCooldownGrainUs;
    return "b" + head + counts +
           numbers({held.deny_run + 16 * held.level + (held.denied_in_window ? 256 : 0) +
                    512 * cooldown});
  }
};

// ---- lives of keys ---------------------------------------------------------------------

struct Spend {
  std::size_t key;
  std::int64_t cost;
};

// A step of a life, decided by the C++ and sent to Redis, which has not answered yet.
struct Asked {
  std::vector<Quota> quotas{};  // of each key, as the node that asks follows it
  std::vector<Charge> charges{};
  std::vector<Decision> expected{};
  std::vector<std::string> bytes{};  // of each key that is adaptive, afterwards
};

// Empty, or how Redis's answer differs.
std::string difference(const Asked& asked, const resp::Reply& reply) {
  std::vector<Decision> decisions(asked.charges.size());
  ChargeReplies replies(reply);
  const ChargeFailure failure = replies.read(asked.charges, decisions);
  if (failure == ChargeFailure::kNone && decisions == asked.expected) return {};
  std::ostringstream text;
  text << "failure " << static_cast<int>(failure) << " " << reply.text() << "\n";
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    text << "cost " << asked.charges[i].cost << "\n  is        " << decisions[i] << "\n  should be "
         << asked.expected[i] << "\n";
  }
  return text.str();
}

class Lives {
 public:
  explicit Lives(const std::vector<Algorithm>& algorithms) {
    for (const Algorithm algorithm : algorithms) {
      keys_.push_back({algo::testing::any_quota(algorithm)});
    }
  }

  void step() {
    if (within(0, 5) == 0) switches_.push_back(any_active());
    if (within(0, 20) == 0) change_limit();
    now_ = std::clamp(now_ + step_of(any_key().quota, *any_move(kAllKinds)), Instant{}, kTimeMax);
    if (within(0, 15) == 0) return hammer();
    const auto operation = *rc::gen::weightedElement<Operation>({{6, Operation::kSpendEach},
                                                                 {4, Operation::kSpendAll},
                                                                 {2, Operation::kLook},
                                                                 {1, Operation::kReset},
                                                                 {3, Operation::kCharge},
                                                                 {2, Operation::kDrain}});
    std::vector<Spend> spends;
    for (std::int64_t size = within(1, 3); size > 0; --size) {
      const Key& key = any_key();
      spends.push_back({static_cast<std::size_t>(&key - keys_.data()),
                        cost_of(key.quota, *any_move(kAllKinds))});
    }
    ask(operation, spends);
  }

  // Redis gets all of it at once; a call takes one time.
  void compare() {
    script().redis.flush();
    std::string wrong;
    for (const Asked& asked : asked_) {
      const std::string differs = difference(asked, script().redis.read());
      if (wrong.empty()) wrong = differs;
      for (const std::string& bytes : asked.bytes) {
        const bool is_same = script().redis.read().text() == bytes;
        if (wrong.empty() && !is_same) wrong = "the bytes of a key";
      }
    }
    RC_ASSERT(wrong == "");
  }

 private:
  Key& any_key() { return keys_[static_cast<std::size_t>(within(0, std::ssize(keys_) - 1))]; }

  // As somebody follows it who may have missed a switch or two.
  Quota as_of_a_switch(const Quota& quota) const {
    const std::int64_t last = std::ssize(switches_) - 1;
    const auto number =
        static_cast<std::uint32_t>(within(std::max<std::int64_t>(0, last - 2), last));
    return quota.following({.algorithm = switches_[number], .number = number});
  }

  // Limits may change while a key lives.
  void change_limit() {
    Quota& quota = any_key().quota;
    const bool is_bucket = quota.algorithm() == Algorithm::kTokenBucket;
    const std::int64_t burst = is_bucket ? std::max<std::int64_t>(1, quota.capacity()) : 0;
    const std::int64_t limit =
        algo::testing::part(quota.limit(), static_cast<int>(within(0, 1000)));
    const auto changed = Quota::make({quota.algorithm(), limit, quota.window(), burst});
    if (changed) quota = *changed;
  }

  // Until backoff has gone up a level or more.
  void hammer() {
    std::vector<Spend> spends;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      spends.push_back({i, std::max<std::int64_t>(1, keys_[i].quota.limit())});
    }
    for (std::int64_t times = within(5, 30); times > 0; --times) {
      ask(Operation::kSpendEach, spends);
    }
  }

  void ask(Operation operation, const std::vector<Spend>& spends) {
    Asked& asked = asked_.emplace_back();
    for (const Key& key : keys_) asked.quotas.push_back(as_of_a_switch(key.quota));
    for (const Spend& spend : spends) {
      asked.charges.push_back({keys_[spend.key].hash, &asked.quotas[spend.key], spend.cost, kTag});
    }
    asked.expected = decide(operation, spends, asked.quotas);
    for (Key& key : keys_) key.end_call();
    script().call.clear();
    script().call.set_time(now_);
    script().call.add(static_cast<ScriptOperation>(operation), asked.charges);
    script().redis.put(script().call.words());
    for (Key& key : keys_) {
      if (!key.is_adaptive()) continue;
      asked.bytes.push_back(key.bytes());
      const std::vector<std::string_view> words = {"GET", key.name};
      script().redis.put(words);
    }
  }

  std::vector<Decision> decide(Operation operation, const std::vector<Spend>& spends,
                               const std::vector<Quota>& quotas) {
    if (operation == Operation::kSpendAll && spends.size() > 1) return spend_all(spends, quotas);
    std::vector<Decision> decisions;
    for (const Spend& spend : spends) {
      decisions.push_back(decide(operation, keys_[spend.key], quotas[spend.key], spend.cost));
    }
    return decisions;
  }
  Decision decide(Operation operation, Key& key, const Quota& quota, std::int64_t cost) {
    switch (operation) {
      case Operation::kLook: return key.look(quota, cost, now_);
      case Operation::kCharge: return key.charge(quota, cost, now_);
      case Operation::kDrain: return key.drain(quota, cost, now_);
      case Operation::kReset: key.forget(); return key.look(quota, cost, now_);
      default: return key.spend(quota, cost, now_);
    }
  }

  // All would be allowed, unless one key's charges are too much together. Then the first that does
  // not fit is denied, the others get what a look says, and nothing is charged.
  std::vector<Decision> spend_all(const std::vector<Spend>& spends,
                                  const std::vector<Quota>& quotas) {
    std::vector<Decision> decisions;
    for (const Spend& spend : spends) {
      decisions.push_back(keys_[spend.key].look(quotas[spend.key], spend.cost, now_));
    }
    if (std::ranges::all_of(decisions, &Decision::allowed)) {
      const std::vector<Key> before = keys_;
      std::vector<Decision> spent;
      for (const Spend& spend : spends) {
        spent.push_back(keys_[spend.key].spend(quotas[spend.key], spend.cost, now_));
        if (spent.back().allowed()) continue;
        decisions[spent.size() - 1] = spent.back();
        break;
      }
      if (spent.back().allowed()) return spent;
      keys_ = before;
    }
    for (std::size_t i = 0; i < spends.size(); ++i) {
      if (decisions[i].verdict != Verdict::kDenied) continue;
      keys_[spends[i].key].count_denial(quotas[spends[i].key], now_);
    }
    return decisions;
  }

  std::vector<Key> keys_;
  std::vector<Algorithm> switches_{Algorithm::kSlidingWindow};
  std::vector<Asked> asked_;
  Instant now_ = algo::testing::kStart;
};

void live(const std::vector<Algorithm>& algorithms) {
  Lives lives(algorithms);
  for (std::int64_t steps = within(1, 60); steps > 0; --steps) lives.step();
  lives.compare();
}

TEST(DecideScript, DecidesAsTheAlgorithmDoes) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_TRUE(rc::check("as in C++", [=] { live(std::vector<Algorithm>(kKeys, algorithm)); }))
        << algorithm_name(algorithm);
  }
}

TEST(DecideScript, DecidesGroupsOfAllAlgorithmsAlike) {
  EXPECT_TRUE(rc::check("as in C++", [] {
    std::vector<Algorithm> algorithms;
    for (std::size_t i = 0; i < kKeys; ++i) {
      algorithms.push_back(static_cast<Algorithm>(within(0, kAlgorithmCount - 1)));
    }
    live(algorithms);
  }));
}

}  // namespace
}  // namespace weir
