// ByteQueue: bytes in one piece. New bytes go behind, the oldest leave in front. InputBuffer and
// OutputBuffer are built on it.
//
// Thread rule: one thread. Tested by input_buffer_test.cc and output_buffer_test.cc.

#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace weir {

class ByteQueue {
 public:
  std::string_view view() const { return {bytes_.get() + begin_, size()}; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

  // The size of its memory, in bytes.
  std::size_t capacity() const { return capacity_; }

  // Gives the memory back if the queue is empty.
  void release() {
    if (!empty()) return;
    bytes_.reset();
    capacity_ = begin_ = end_ = 0;
  }

 protected:
  // Drops bytes from the front.
  void drop(std::size_t size) {
    WEIR_ASSERT(size <= end_ - begin_);
    begin_ += size;
  }

  void move_to_front() {
    if (begin_ > 0) std::memmove(bytes_.get(), bytes_.get() + begin_, size());
    end_ -= std::exchange(begin_, 0);
  }

  // Makes room for `capacity` bytes, with `padding` zeros behind. The room is not zeroed: memory
  // that no byte has reached costs none of the machine's.
  void reallocate(std::size_t capacity, std::size_t padding) {
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity + padding);
    if (padding > 0) std::memset(bytes.get() + capacity, 0, padding);
    if (!empty()) std::memcpy(bytes.get(), bytes_.get() + begin_, size());
    bytes_ = std::move(bytes);
    capacity_ = capacity;
    end_ -= std::exchange(begin_, 0);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;  // without the padding
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace weir
