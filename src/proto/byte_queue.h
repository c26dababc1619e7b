// ByteQueue: bytes in one piece, new ones behind, the oldest in front: what an input and an
// output buffer have in common.
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

  // Bytes of memory that it has taken.
  std::size_t capacity() const { return capacity_; }

  // Gives the memory back, if nothing is in it.
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

  // Room for `capacity` bytes, and for `padding` zeros behind them. The bytes are not zeroed:
  // memory that none has arrived in costs none of the machine's.
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
