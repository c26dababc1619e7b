#include <mutex>

#include "conformance/store_conformance.h"
#include "redis/blocking_client.h"
#include "redis/redis_server.h"
#include "store/redis/manual_reactor.h"
#include "store/redis/redis_store.h"

namespace weir {
namespace {

using testing::BlockingClient;
using testing::RedisConnection;
using testing::RedisServer;

RedisServer& server() {
  static RedisServer only;
  return only;
}

struct Failures final : RedisStoreListener {
  void redis_failed(RedisFailure failure, std::string_view detail, Instant) override {
    ADD_FAILURE() << failure_name(failure) << ": " << detail;
  }
  void breaker_changed(Instant) override { ADD_FAILURE() << "the breaker"; }
};

// The store of one core, asked by any thread and answering before it returns.
class WaitingStore final : public Store {
 public:
  WaitingStore() { RedisConnection(server()).call({"FLUSHALL"}); }

  void decide(Batch& batch, Instant now) noexcept override {
    const std::lock_guard lock(mutex_);
    store_.decide(batch, now);
    reactor_.run(now);
    client_.run(now);
  }

 private:
  std::mutex mutex_;
  ManualReactor reactor_;
  BlockingClient client_{server()};
  Failures failures_;
  RedisStore store_{{.time = TimeSource::kCaller}, client_, reactor_, failures_};
};

struct RedisStores {
  static std::unique_ptr<Store> make() { return std::make_unique<WaitingStore>(); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, StoreConformance, ::testing::Types<RedisStores>);

}  // namespace
}  // namespace weir
