// NodeMemory: memory for nodes of maps and sets that come and go all the time, without a call of
// the heap for each. It keeps a few freed nodes of each size for the next.
//
//   NodeMemory memory;
//   std::set<int, std::less<>, NodeAllocator<int>> set{NodeAllocator<int>(memory)};
//
// Thread rule: one thread at a time; it outlives its containers. Tested by
// src/engine/holds/holding_store_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace weir {

class NodeMemory {
 public:
  NodeMemory() = default;
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory() {
    for (Spare& spare : spares_) {
      while (spare.count > 0) ::operator delete(pop(spare));
    }
  }

  void* take(std::size_t bytes) {
    const std::size_t place = place_of(bytes);
    if (place >= spares_.size()) return ::operator new(bytes);
    if (spares_[place].count > 0) return pop(spares_[place]);
    return ::operator new((place + 1) * kGrain);
  }
  void give(void* node, std::size_t bytes) noexcept {
    const std::size_t place = place_of(bytes);
    const bool stays = place < spares_.size() && spares_[place].count < kSparesMax;
    if (!stays) return ::operator delete(node);
    spares_[place].first = new (node) Node{spares_[place].first};
    spares_[place].count += 1;
  }

 private:
  static constexpr std::size_t kGrain = 16;
  static constexpr std::size_t kSparesMax = 256;  // of one size
  struct Node {
    Node* next;
  };
  struct Spare {
    Node* first = nullptr;
    std::size_t count = 0;
  };

  static std::size_t place_of(std::size_t bytes) { return (bytes - 1) / kGrain; }
  static void* pop(Spare& spare) {
    spare.count -= 1;
    return std::exchange(spare.first, spare.first->next);
  }

  std::array<Spare, 16> spares_;
};

template <typename T>
struct NodeAllocator {
  using value_type = T;
  explicit NodeAllocator(NodeMemory& from) : memory(&from) {}
  template <typename Other>
  NodeAllocator(const NodeAllocator<Other>& other) : memory(other.memory) {}  // NOLINT: of one kind

  T* allocate(std::size_t count) { return static_cast<T*>(memory->take(count * sizeof(T))); }
  void deallocate(T* nodes, std::size_t count) { memory->give(nodes, count * sizeof(T)); }
  friend bool operator==(const NodeAllocator&, const NodeAllocator&) = default;

  NodeMemory* memory;
};

}  // namespace weir
