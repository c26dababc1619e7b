// Pool: objects that are used again after their first use, with the memory that they have taken.
//
//   Pool<Request> pool;
//   Pool<Request>::Ptr request = pool.take();    goes back when it is destroyed
//
// An object frees in retire() what it may hold only while it is used.
//
// Thread rule: one thread; the pool outlives the objects taken from it. Tested by pool_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace weir {

template <typename Object, std::size_t kSpares = 64>
class Pool {
 public:
  struct Return {
    Pool* pool = nullptr;
    void operator()(Object* object) const noexcept { pool->give_back(object); }
  };
  using Ptr = std::unique_ptr<Object, Return>;

  static constexpr std::size_t kSpareMax = kSpares;

  // Takes an object: as its last user left it, or new.
  Ptr take() {
    if (spare_.empty()) {
      spare_.reserve(kSpareMax);  // so that giving back cannot fail
      spare_.push_back(std::make_unique<Object>());
    }
    std::unique_ptr<Object> object = std::move(spare_.back());
    spare_.pop_back();
    return Ptr(object.release(), Return{this});
  }

  // Ptr calls this when it is destroyed.
  void give_back(Object* object) noexcept {
    std::unique_ptr<Object> owned(object);
    if constexpr (requires { object->retire(); }) object->retire();
    if (spare_.size() < kSpareMax) spare_.push_back(std::move(owned));
  }

 private:
  std::vector<std::unique_ptr<Object>> spare_;
};

}  // namespace weir
