#include "proto/output_buffer.h"

#include <algorithm>
#include <cstring>

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
  drop(size);
  consumed_ += size;
  if (!empty()) return;
  begin_ = end_ = 0;
  if (capacity_ > kKept) release();
}

void OutputBuffer::make_room(std::size_t size) {
  const std::size_t needed = this->size() + size;
  // Room by moving only if that frees half: else a trickle would move the rest each time.
  if (needed <= capacity_ / 2) {
    move_to_front();
  } else {
    reallocate(std::max({kInitial, 2 * capacity_, needed}), 0);
  }
}

}  // namespace weir
