// InputBuffer: bytes that have arrived on a connection and are not handled yet, in one piece.
//
// Bytes are parsed where they were received. They move only between reads, if the space behind them
// gets short.
//
// It starts small, so that idle connections cost little. It grows while reads fill it, up to
// kComfortable. Beyond that it grows only by doubling the arrived bytes, never by what a peer
// announces. It shrinks after a large body was handled.
//
// kPadding bytes behind the end may be read (they hold anything): simdjson does.
//
// Thread rule: one thread. Tested by input_buffer_test.cc.

#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "proto/byte_queue.h"

namespace weir {

class InputBuffer : public ByteQueue {
 public:
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kInitial = 4 << 10;
  static constexpr std::size_t kComfortable = 64 << 10;

  // Where to receive the next bytes; at least kSpaceMin. Moves the bytes that are there, so that
  // data() must be called again.
  static constexpr std::size_t kSpaceMin = 1 << 10;
  std::span<char> space();

  // `size` bytes were put at the front of space().
  void received(std::size_t size);

  std::span<char> data() { return {bytes_.get() + begin_, size()}; }
  std::string_view text() const { return view(); }

  // Drops bytes from the front.
  void consume(std::size_t size) { drop(size); }

  // Drops bytes from the end: `size` remain.
  void truncate(std::size_t size) { end_ = begin_ + size; }

 private:
  bool was_filled_ = false;  // by the last read: more bytes are likely
};

}  // namespace weir
