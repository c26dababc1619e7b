// OutputBuffer: bytes that wait to be written, in one piece. Constant texts between them are not
// copied, but written from where they are.
//
// Grows as needed and keeps its memory, up to kKept. The session bounds how much may wait.
//
// Thread rule: one thread. Tested by output_buffer_test.cc.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

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
  void append(const OutputBuffer& other);
  // `text` must outlive the buffer. It is not copied, and has no position.
  void append_constant(std::string_view text);

  // The next piece to write.
  std::string_view view() const {
    if (constants_.empty()) [[likely]]
      return ByteQueue::view();
    const Constant& next = constants_.front();
    return next.position == consumed_ ? next.text
                                      : ByteQueue::view().substr(0, next.position - consumed_);
  }
  std::size_t size() const { return ByteQueue::size() + constant_bytes_; }
  bool empty() const { return ByteQueue::empty() && constants_.empty(); }

  // Where the byte is that was appended `position` bytes after the first one ever.
  // REQUIRES: it has been appended, and is not consumed
  char* at(std::size_t position) { return bytes_.get() + (position - consumed_ + begin_); }
  // The positions of the first byte in the buffer, and of the next byte to append.
  std::size_t begin_position() const { return consumed_; }
  std::size_t position() const { return consumed_ + ByteQueue::size(); }

  // Drops bytes from the front.
  void consume(std::size_t size);

 private:
  struct Constant {
    std::size_t position;  // of the byte after it
    std::string_view text;
  };

  void make_room(std::size_t size);
  void consume_copied(std::size_t size);

  std::size_t consumed_ = 0;         // bytes since the start, without constants
  std::vector<Constant> constants_;  // in order
  std::size_t constant_bytes_ = 0;
};

}  // namespace weir
