// The store and a real Redis that loses its scripts, takes no writes, or does not let it in.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "redis/blocking_client.h"
#include "redis/redis_server.h"
#include "store/redis/client/reactor_testing.h"
#include "store/redis/strict/redis_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::BlockingClient;
using testing::RedisConnection;
using testing::RedisServer;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);

struct Journal final : RedisListener {
  void redis_failed(RedisFailure failure, std::string_view, Instant) override {
    text += std::string(failure_name(failure)) + " ";
  }
  void breaker_changed(Instant) override { text += "breaker "; }
  std::string text;
};

class RedisStoreFaults : public ::testing::Test {
 protected:
  // A charge of one unit; nothing if there was no answer.
  std::optional<Decision> spend(std::uint64_t key) {
    const Charge charge{{key, key}, &quota_, 1};
    std::optional<Decision> decided(std::in_place);
    Batch batch;
    batch.charges = {&charge, 1};
    batch.decisions = {&*decided, 1};
    batch.context = &decided;
    batch.on_done = [](Batch& done) noexcept {
      auto& answer = *static_cast<std::optional<Decision>*>(done.context);
      if (done.error != StoreError::kNone) answer.reset();
    };
    store_.decide(batch, now_);
    reactor_.run(now_);
    client_.run(now_);
    return decided;
  }
  std::string admin(const std::vector<std::string_view>& words) {
    return std::string(admin_.call(words).text());
  }
  // As time goes on, the store tries again by itself.
  void let_it_probe() {
    for (int probe = 0; probe < 8 && !sender_.breaker().closed(); ++probe) {
      now_ = sender_.breaker().probe_at();
      reactor_.run(now_);
      client_.run(now_);
    }
  }

  RedisServer server_;
  RedisConnection admin_{server_};
  const Quota quota_ = *Quota::make({Algorithm::kSlidingLog, 100, 1h});
  Instant now_ = kStart;
  ManualReactor reactor_;
  BlockingClient client_{server_};
  Journal journal_;
  RedisSender sender_{{}, client_, reactor_, journal_};
  RedisStore store_{{}, sender_};
};

TEST_F(RedisStoreFaults, ALostScriptIsLoadedAndNothingIsChargedTwice) {
  for (std::int64_t spent = 1; spent <= 20; ++spent) {
    if (spent % 3 == 0) {
      EXPECT_EQ(admin({"SCRIPT", "FLUSH"}), "OK");
    }
    const auto decision = spend(1);
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->remaining, 100 - spent);
  }
  EXPECT_EQ(sender_.counts().reloads, 7u);
  EXPECT_EQ(journal_.text, "");
}

struct Fault {
  const char* name;
  std::vector<std::string_view> begin;
  std::vector<std::string_view> end;
};

TEST_F(RedisStoreFaults, ARedisThatTakesNoChargesIsNamedAndComesBack) {
  const std::vector<Fault> faults = {
      {"out_of_memory", {"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}},
      {"read_only", {"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}},
      {"no_permission",
       {"ACL", "SETUSER", "default", "-evalsha"},
       {"ACL", "SETUSER", "default", "+evalsha"}},
  };
  std::int64_t spent = 0;
  for (const Fault& fault : faults) {
    ASSERT_TRUE(spend(1)) << fault.name;
    ++spent;
    EXPECT_EQ(admin(fault.begin), "OK");
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(spend(1)) << fault.name;
    EXPECT_EQ(journal_.text, std::string(fault.name) + " breaker ");
    EXPECT_FALSE(sender_.breaker().closed());
    EXPECT_EQ(admin(fault.end), "OK");
    let_it_probe();
    EXPECT_TRUE(sender_.breaker().closed()) << fault.name;
    const auto decision = spend(1);
    ASSERT_TRUE(decision) << fault.name;
    EXPECT_EQ(decision->remaining, 100 - ++spent) << fault.name;
    journal_.text.clear();
  }
}

}  // namespace
}  // namespace weir
