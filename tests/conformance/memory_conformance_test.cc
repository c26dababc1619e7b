#include "conformance/store_conformance.h"
#include "weir/holding_store.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

struct MemoryStores {
  static std::unique_ptr<Store> make() {
    return make_memory_store({.max_keys = 4096}, kConformanceStart);
  }
};

// While nothing is held, it is the store beneath.
struct HoldingStores {
  struct Both final : Store {
    std::unique_ptr<Store> memory = MemoryStores::make();
    HoldingStore holding{*memory};

    void decide(Batch& batch, Instant now) noexcept override { holding.decide(batch, now); }
  };
  static std::unique_ptr<Store> make() { return std::make_unique<Both>(); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreConformance, ::testing::Types<MemoryStores>);
INSTANTIATE_TYPED_TEST_SUITE_P(Holding, StoreConformance, ::testing::Types<HoldingStores>);

}  // namespace
}  // namespace weir
