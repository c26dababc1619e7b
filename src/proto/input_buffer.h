// InputBuffer: what has arrived on a connection and is not handled yet, in one piece.
//
// Bytes are parsed where they were received. They move only between reads, when the
// space behind them gets short.
//
// It starts small, so that idle connections cost little; grows while reads fill it, up
// to kComfortable, and beyond only by doubling what has arrived, never by what a peer
// announces; and is given back when a large body has been handled.
//
// kPadding bytes behind the end may be read (they hold anything): simdjson does.
//
// Thread rule: one thread. Tested by input_buffer_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace weir {

class InputBuffer {
 public:
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kInitial = 4 << 10;
  static constexpr std::size_t kComfortable = 64 << 10;

  // Where to receive; at least kSpaceMin bytes. Moves what is there, so that data()
  // has to be asked for again.
  static constexpr std::size_t kSpaceMin = 1 << 10;
  std::span<char> space();

  // `size` bytes have been put at the front of space().
  void received(std::size_t size);

  std::span<char> data() { return {bytes_.get() + begin_, end_ - begin_}; }
  std::string_view text() const { return {bytes_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  // Drops bytes from the front.
  void consume(std::size_t size);

  // Drops bytes from the end: `size` remain.
  void truncate(std::size_t size) { end_ = begin_ + size; }

  // Gives the memory back, if nothing is in it; the next space() takes some.
  void release();
  bool holds_memory() const { return capacity_ > 0; }

 private:
  void move_to_front();
  void reallocate(std::size_t capacity);

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;  // without the padding
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool was_filled_ = false;  // by the last read: there was probably more
};

}  // namespace weir
