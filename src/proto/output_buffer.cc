#include "proto/output_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace weir {
namespace {

constexpr std::size_t kInitial = 4 << 10;

}  // namespace

void OutputBuffer::append(std::string_view text) {
  if (text.empty()) return;
  char* const to = reserve(text.size());
  std::memcpy(to, text.data(), text.size());
  commit(to + text.size());
}

void OutputBuffer::consume(std::size_t size) {
  WEIR_ASSERT(size <= end_ - begin_);
  begin_ += size;
  consumed_ += size;
  if (begin_ != end_) return;
  begin_ = end_ = 0;
  if (capacity_ > kKept) release();
}

void OutputBuffer::release() {
  if (!empty()) return;
  bytes_.reset();
  capacity_ = begin_ = end_ = 0;
}

void OutputBuffer::make_room(std::size_t size) {
  const std::size_t waiting = end_ - begin_;
  // Room by moving only if that frees half: else a trickle would move the rest each time.
  if (waiting + size <= capacity_ / 2) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, waiting);
  } else {
    const std::size_t capacity = std::max({kInitial, 2 * capacity_, waiting + size});
    // Not zeroed: all of it is written before it is read.
    std::unique_ptr<char[]> bytes(new char[capacity]);
    if (waiting > 0) std::memcpy(bytes.get(), bytes_.get() + begin_, waiting);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }
  begin_ = 0;
  end_ = waiting;
}

}  // namespace weir
