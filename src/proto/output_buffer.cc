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

void OutputBuffer::append(const OutputBuffer& other) {
  auto rest = other.ByteQueue::view();
  std::size_t from = other.consumed_;
  for (const Constant& constant : other.constants_) {
    append(rest.substr(0, constant.position - from));
    rest.remove_prefix(constant.position - from);
    from = constant.position;
    append_constant(constant.text);
  }
  append(rest);
}

void OutputBuffer::append_constant(std::string_view text) {
  if (text.empty()) return;
  constants_.push_back({.position = position(), .text = text});
  constant_bytes_ += text.size();
}

void OutputBuffer::consume(std::size_t size) {
  while (!constants_.empty() && size > 0) {
    const std::size_t part = std::min(size, view().size());
    size -= part;
    Constant& next = constants_.front();
    if (next.position > consumed_) {
      consume_copied(part);
      continue;
    }
    constant_bytes_ -= part;
    next.text.remove_prefix(part);
    if (next.text.empty()) constants_.erase(constants_.begin());
  }
  consume_copied(size);
}

void OutputBuffer::consume_copied(std::size_t size) {
  drop(size);
  consumed_ += size;
  if (!ByteQueue::empty()) return;
  begin_ = end_ = 0;
  if (capacity_ > kKept) release();
}

void OutputBuffer::make_room(std::size_t size) {
  const std::size_t needed = ByteQueue::size() + size;
  // Moves bytes only if that frees half: else a trickle would move the rest each time.
  if (needed <= capacity_ / 2) {
    move_to_front();
  } else {
    reallocate(std::max({kInitial, 2 * capacity_, needed}), 0);
  }
}

}  // namespace weir
