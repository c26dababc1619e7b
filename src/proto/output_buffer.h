// OutputBuffer: bytes that wait to be written, in one piece.
//
// Grows as needed and keeps what it has taken, up to kKept; how much may wait is the
// session's business.
//
// Thread rule: one thread. Tested by output_buffer_test.cc.

#pragma once

#include <cstddef>
#include <string_view>

#include "proto/byte_queue.h"

namespace weir {

class OutputBuffer : public ByteQueue {
 public:
  static constexpr std::size_t kKept = 64 << 10;

  // Room for `size` bytes behind the last ones; commit() says where they end.
  char* reserve(std::size_t size) {
    if (capacity_ - end_ < size) [[unlikely]]
      make_room(size);
    return bytes_.get() + end_;
  }
  void commit(const char* end) { end_ = static_cast<std::size_t>(end - bytes_.get()); }

  void append(std::string_view text);
  void append(const OutputBuffer& other) { append(other.view()); }

  // Where the byte `position` bytes behind the first one ever appended is now.
  // REQUIRES: it has been appended and not yet consumed.
  char* at(std::size_t position) { return bytes_.get() + (position - consumed_ + begin_); }
  // The position of the next byte to be appended.
  std::size_t position() const { return consumed_ + size(); }

  // Drops bytes from the front.
  void consume(std::size_t size);

 private:
  void make_room(std::size_t size);

  std::size_t consumed_ = 0;  // bytes, ever
};

}  // namespace weir
