#include "proto/input_buffer.h"

namespace weir {

std::span<char> InputBuffer::space() {
  if (empty()) {
    begin_ = end_ = 0;
    if (capacity_ > kComfortable) capacity_ = 0;  // a large body was handled
  }
  if (capacity_ == 0) {
    reallocate(kInitial, kPadding);
  } else if (was_filled_ && capacity_ < kComfortable) {
    reallocate(2 * capacity_, kPadding);
  }
  was_filled_ = false;
  // The rest is usually the beginning of one request. Moving it costs less than the additional read
  // that little space would need.
  if (capacity_ - end_ < capacity_ / 2) move_to_front();
  if (capacity_ - end_ < kSpaceMin) reallocate(2 * capacity_, kPadding);
  return {bytes_.get() + end_, capacity_ - end_};
}

void InputBuffer::received(std::size_t size) {
  WEIR_ASSERT(size <= capacity_ - end_);
  end_ += size;
  was_filled_ = end_ == capacity_;
}

}  // namespace weir
