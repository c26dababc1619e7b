#include "proto/input_buffer.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace weir {

std::span<char> InputBuffer::space() {
  if (empty()) {
    begin_ = end_ = 0;
    if (capacity_ > kComfortable) capacity_ = 0;  // a large body came and went
  }
  if (capacity_ == 0) {
    reallocate(kInitial);
  } else if (was_filled_ && capacity_ < kComfortable) {
    reallocate(2 * capacity_);
  }
  was_filled_ = false;
  // What is there is mostly the beginning of one request: moving it costs less than the
  // additional read that little space would bring.
  if (capacity_ - end_ < capacity_ / 2) move_to_front();
  if (capacity_ - end_ < kSpaceMin) reallocate(2 * capacity_);
  return {bytes_.get() + end_, capacity_ - end_};
}

void InputBuffer::received(std::size_t size) {
  WEIR_ASSERT(size <= capacity_ - end_);
  end_ += size;
  was_filled_ = end_ == capacity_;
}

void InputBuffer::consume(std::size_t size) {
  WEIR_ASSERT(size <= end_ - begin_);
  begin_ += size;
}

void InputBuffer::release() {
  if (!empty()) return;
  bytes_.reset();
  capacity_ = begin_ = end_ = 0;
}

void InputBuffer::move_to_front() {
  if (begin_ == 0) return;
  std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
}

void InputBuffer::reallocate(std::size_t capacity) {
  // Not zeroed: memory that no byte has arrived in costs none of the machine's.
  auto bytes = std::make_unique_for_overwrite<char[]>(capacity + kPadding);
  std::memset(bytes.get() + capacity, 0, kPadding);
  if (!empty()) std::memcpy(bytes.get(), bytes_.get() + begin_, end_ - begin_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
  end_ -= begin_;
  begin_ = 0;
}

}  // namespace weir
