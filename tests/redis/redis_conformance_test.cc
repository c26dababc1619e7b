#include <memory>
#include <mutex>
#include <utility>

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

struct Core {
  Core() { RedisConnection(server()).call({"FLUSHALL"}); }

  ManualReactor reactor;
  BlockingClient client{server()};
  Failures failures;
  RedisSender sender{{.time = TimeSource::kCaller}, client, reactor, failures};
  RedisStore strict{{}, sender};
};

// The store of one core, which any thread may call and which answers before it returns.
class WaitingStore final : public Store {
 public:
  using Make = std::shared_ptr<Store> (*)(Core& core);
  explicit WaitingStore(Make make) : store_(make(core_)) {}

  void decide(Batch& batch, Instant now) noexcept override {
    const std::lock_guard lock(mutex_);
    store_->decide(batch, now);
    do {
      core_.reactor.run(now);
      core_.client.run(now);
    } while (core_.reactor.next() <= now);
  }

 private:
  std::mutex mutex_;
  Core core_;
  std::shared_ptr<Store> store_;
};

template <WaitingStore::Make kMake>
struct Stores {
  static std::unique_ptr<Store> make() { return std::make_unique<WaitingStore>(kMake); }
};
using RedisStores = Stores<[](Core& core) -> std::shared_ptr<Store> {
  return std::make_shared<RedisStore>(RedisStoreOptions{}, core.sender);
}>;
using HoldingStores = Stores<[](Core& core) -> std::shared_ptr<Store> {
  const auto holds = std::make_shared<RedisHolds>(RedisStoreOptions{}, core.sender, core.reactor);
  return {holds, &holds->store()};  // it decides next to what is held
}>;
using LeasedStores = Stores<[](Core& core) -> std::shared_ptr<Store> {
  LeasedStoreOptions options{.share = [] { return 2; }};
  return std::make_shared<LeasedStore>(std::move(options), core.strict, core.sender, core.reactor);
}>;
using AsyncStores = Stores<[](Core& core) -> std::shared_ptr<Store> {
  return std::make_shared<AsyncStore>(AsyncStoreOptions{}, core.strict, core.sender, core.reactor);
}>;

INSTANTIATE_TYPED_TEST_SUITE_P(Leased, StoreConformance, ::testing::Types<LeasedStores>);
INSTANTIATE_TYPED_TEST_SUITE_P(Async, StoreConformance, ::testing::Types<AsyncStores>);
INSTANTIATE_TYPED_TEST_SUITE_P(Holding, StoreConformance, ::testing::Types<HoldingStores>);
INSTANTIATE_TYPED_TEST_SUITE_P(Redis, StoreConformance, ::testing::Types<RedisStores>);

}  // namespace
}  // namespace weir
