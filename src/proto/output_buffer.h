// OutputBuffer: bytes that wait to be written, in one piece.
//
// Grows as needed and keeps what it has taken, up to kKept; how much may wait is the
// session's business.
//
// Thread rule: one thread. Tested by output_buffer_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace weir {

class OutputBuffer {
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

  std::string_view view() const { return {bytes_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

  // Where the byte `position` bytes behind the first one ever appended is now.
  // REQUIRES: it has been appended and not yet consumed.
  char* at(std::size_t position) { return bytes_.get() + (position - consumed_ + begin_); }
  // The position of the next byte to be appended.
  std::size_t position() const { return consumed_ + size(); }

  // Gives the memory back, if nothing is in it.
  void release();
  bool holds_memory() const { return capacity_ > 0; }

  // Drops bytes from the front.
  void consume(std::size_t size);

 private:
  void make_room(std::size_t size);

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t consumed_ = 0;  // bytes, ever
};

}  // namespace weir
