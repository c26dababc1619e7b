#include <mutex>
#include <type_traits>

#include "conformance/store_conformance.h"
#include "proto/reactor_testing.h"
#include "redis/blocking_client.h"
#include "redis/redis_server.h"
#include "store/redis/async/async_store.h"
#include "store/redis/leased/leased_store.h"
#include "store/redis/strict/redis_holds.h"
#include "store/redis/strict/redis_store.h"

namespace weir {
namespace {

using testing::BlockingClient;
using testing::RedisConnection;
using testing::RedisServer;

RedisServer& server() {
  static RedisServer only;
  return only;
}

struct Failures final : RedisListener {
  void redis_failed(RedisFailure failure, std::string_view detail, Instant) override {
    ADD_FAILURE() << failure_name(failure) << ": " << detail;
  }
  void breaker_changed(Instant) override { ADD_FAILURE() << "the breaker"; }
};

// The store of one core, which any thread may call and which answers before it returns. It decides
// next to what is held, or not.
enum class Next : std::uint8_t { kToNothing, kToHolds };
template <Next next>
class WaitingStore final : public Store {
 public:
  WaitingStore() { RedisConnection(server()).call({"FLUSHALL"}); }

  void decide(Batch& batch, Instant now) noexcept override {
    const std::lock_guard lock(mutex_);
    (next == Next::kToHolds ? holds_.store() : store_).decide(batch, now);
    reactor_.run(now);
    client_.run(now);
  }

 private:
  std::mutex mutex_;
  ManualReactor reactor_;
  BlockingClient client_{server()};
  Failures failures_;
  RedisSender sender_{{.time = TimeSource::kCaller}, client_, reactor_, failures_};
  RedisStore store_{{}, sender_};
  RedisHolds holds_{{}, sender_, reactor_};
};

struct RedisStores {
  static std::unique_ptr<Store> make() {
    return std::make_unique<WaitingStore<Next::kToNothing>>();
  }
};
struct HoldingStores {
  static std::unique_ptr<Store> make() { return std::make_unique<WaitingStore<Next::kToHolds>>(); }
};

// The stores of one core that decide in memory, on top of it.
template <typename ModeStore>
class WaitingNode final : public Store {
 public:
  WaitingNode() { RedisConnection(server()).call({"FLUSHALL"}); }

  void decide(Batch& batch, Instant now) noexcept override {
    const std::lock_guard lock(mutex_);
    store_.decide(batch, now);
    do {
      reactor_.run(now);
      client_.run(now);
    } while (reactor_.next() <= now);
  }

 private:
  std::mutex mutex_;
  ManualReactor reactor_;
  BlockingClient client_{server()};
  Failures failures_;
  RedisSender sender_{{.time = TimeSource::kCaller}, client_, reactor_, failures_};
  RedisStore strict_{{}, sender_};
  ModeStore store_{options(std::type_identity<ModeStore>{}), strict_, sender_, reactor_};

  static LeasedStoreOptions options(std::type_identity<LeasedStore>) {
    return {.share = [] { return 2; }};
  }
  static AsyncStoreOptions options(std::type_identity<AsyncStore>) { return {}; }
};

struct LeasedStores {
  static std::unique_ptr<Store> make() { return std::make_unique<WaitingNode<LeasedStore>>(); }
};
struct AsyncStores {
  static std::unique_ptr<Store> make() { return std::make_unique<WaitingNode<AsyncStore>>(); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Leased, StoreConformance, ::testing::Types<LeasedStores>);
INSTANTIATE_TYPED_TEST_SUITE_P(Async, StoreConformance, ::testing::Types<AsyncStores>);
INSTANTIATE_TYPED_TEST_SUITE_P(Holding, StoreConformance, ::testing::Types<HoldingStores>);
INSTANTIATE_TYPED_TEST_SUITE_P(Redis, StoreConformance, ::testing::Types<RedisStores>);

}  // namespace
}  // namespace weir
