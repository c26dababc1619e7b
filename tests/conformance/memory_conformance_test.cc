#include "conformance/store_conformance.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

struct MemoryStores {
  static std::unique_ptr<Store> make() {
    return make_memory_store({.max_keys = 4096}, kConformanceStart);
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreConformance, ::testing::Types<MemoryStores>);

}  // namespace
}  // namespace weir
