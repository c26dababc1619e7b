// HugeArray: a large array of zeros, which takes memory from the system page by page as it is used.
// Or an array in given memory, such as pages that several processes map.
//
// It asks for huge pages, for tables much larger than a processor's caches. With 4 KiB pages, a
// random access to hundreds of megabytes misses the TLB as well as the cache (measured at 10 M
// keys: docs/internals/memory_store.md).
//
// T must be valid when all its bytes are zero, and need no destructor.
// Thread rule: immutable after construction; its elements have their own rule.
// Tested by huge_array_test.cc.

#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace weir {

// Zeroed, page-aligned memory. Throws std::bad_alloc. 0 bytes gives null.
void* allocate_pages(std::size_t bytes);
void free_pages(void* pages, std::size_t bytes) noexcept;

template <typename T>
class HugeArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit HugeArray(std::size_t size)
      : data_(static_cast<T*>(allocate_pages(size * sizeof(T)))), size_(size) {}
  // `given` outlives this.
  explicit HugeArray(std::span<T> given)
      : data_(given.data()), size_(given.size()), is_given_(true) {}
  ~HugeArray() {
    if (!is_given_) free_pages(data_, bytes());
  }
  HugeArray(const HugeArray&) = delete;
  HugeArray& operator=(const HugeArray&) = delete;

  T& operator[](std::size_t index) noexcept { return data_[index]; }
  const T& operator[](std::size_t index) const noexcept { return data_[index]; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }

 private:
  T* data_;
  std::size_t size_;
  bool is_given_ = false;
};

}  // namespace weir
