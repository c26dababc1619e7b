// Strict as it is in a server: the event loop, a socket, the client, the store, and a Redis.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/loop/event_loop.h"
#include "net/socket_dialer.h"
#include "redis/redis_server.h"
#include "store/redis/client/redis_client.h"
#include "store/redis/client/redis_url.h"
#include "store/redis/strict/redis_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::RedisServer;

// Asks again as soon as it is answered, as long as the test wants.
struct Asker {
  Charge charge;
  Decision decision;
  Batch batch;
  std::function<void(Asker&)> answered;
};

class RedisLoop : public ::testing::Test, public RedisListener {
 protected:
  static constexpr std::size_t kAskers = 64;

  // Until `is_done` says so at an answer; all askers have an answer when this returns. Once.
  void run(std::function<bool()> is_done) {
    std::size_t open = kAskers;
    for (Asker& asker : askers_) {
      asker.answered = [&, is_done](Asker& which) {
        ++(which.batch.error == StoreError::kNone ? decided_ : failed_);
        if (which.batch.error == StoreError::kNone && which.decision.allowed()) ++admitted_;
        if (!is_done()) return ask_soon(which);
        if (--open == 0) loop_.stop();
      };
      ask_soon(asker);
    }
    loop_.run();
  }
  void start(Duration deadline) {
    const RedisStoreOptions options{.deadline = deadline, .denied_keys = 1};
    sender_.emplace(options, *client_, loop_, *this);
    store_.emplace(options, *sender_);
  }
  void ask_soon(Asker& asker) {
    loop_.post([this, &asker] { store_->decide(asker.batch, loop_.now()); });
  }
  void charge_all(const Quota& quota, std::uint64_t key) {
    for (Asker& asker : askers_) {
      asker.charge = {{key, key}, &quota, 1};
      asker.batch.charges = {&asker.charge, 1};
      asker.batch.decisions = {&asker.decision, 1};
      asker.batch.context = &asker;
      asker.batch.on_done = [](Batch& done) noexcept {
        auto& which = *static_cast<Asker*>(done.context);
        which.answered(which);
      };
    }
  }

  RedisServer server_;
  const SystemClock clock_;
  EventLoop loop_{clock_};
  SocketDialer dialer_{loop_};
  const RedisUrl url_ = *RedisUrl::parse("unix://" + server_.socket_path());
  std::unique_ptr<RedisClient> client_ =
      make_redis_client(url_, {.reactor = loop_, .dialer = dialer_, .seed = 7}, *this, loop_.now());
  std::optional<RedisSender> sender_;
  std::optional<RedisStore> store_;
  std::array<Asker, kAskers> askers_;
  std::uint64_t decided_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t admitted_ = 0;
};

TEST_F(RedisLoop, AdmitsExactlyTheLimitInFewCalls) {
  const Quota quota = *Quota::make({Algorithm::kSlidingLog, 1000, 1h});
  charge_all(quota, 1);
  start(10s);  // as the machine that runs tests may be busy
  run([&] { return decided_ >= 3000; });
  EXPECT_EQ(admitted_, 1000u);
  const CallCounts& counts = sender_->counts();
  EXPECT_EQ(counts.charges + store_->remembered(), decided_);
  EXPECT_LT(counts.calls * 4, counts.charges);
}

TEST_F(RedisLoop, ARedisThatHangsFailsEverybodyAndComesBackByItself) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, kLimitMax, 1h});
  charge_all(quota, 2);
  start(100ms);
  enum class Phase { kHealthy, kHanging, kBack } phase = Phase::kHealthy;
  std::uint64_t decided_before = 0;
  run([&] {
    if (phase == Phase::kHealthy && decided_ >= 200) {
      server_.pause();
      phase = Phase::kHanging;
    } else if (phase == Phase::kHanging && !sender_->breaker().closed()) {
      server_.resume();
      phase = Phase::kBack;
      decided_before = decided_;
    }
    return phase == Phase::kBack && decided_ >= decided_before + 200;
  });
  EXPECT_TRUE(sender_->breaker().closed());
  EXPECT_GT(sender_->counts().failures[static_cast<std::size_t>(RedisFailure::kTimedOut)], 0u);
  EXPECT_GT(sender_->counts().failures[static_cast<std::size_t>(RedisFailure::kNotAsked)], 0u);
}

}  // namespace
}  // namespace weir
