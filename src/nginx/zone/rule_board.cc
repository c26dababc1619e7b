#include "nginx/zone/rule_board.h"

#include <algorithm>
#include <new>

#include "base/assert.h"

namespace weir::nginx {

void RuleBoard::format(std::span<std::byte> memory) {
  WEIR_ASSERT(memory.size() >= kBytesMin);
  auto& head = *reinterpret_cast<Head*>(memory.data());
  ::new (&head.mutex) ShardMutex();
  head.mutex.share();
}

RuleBoard::RuleBoard(std::span<std::byte> memory, std::uint64_t generation)
    : head_(*reinterpret_cast<Head*>(memory.data())),
      bytes_(memory.subspan(sizeof(Head))),
      generation_(generation) {
  const Hold hold(*this);
  const std::uint64_t version = head_.version.load(std::memory_order_relaxed);
  if (head_.texts[version % 2].generation < generation_) publish(version + 1, {});
}

std::span<std::byte> RuleBoard::half(std::uint64_t version) const {
  const std::size_t size = bytes_.size() / 2;
  return bytes_.subspan(version % 2 * size, size);
}

std::uint64_t RuleBoard::version_of_file() {
  const Hold hold(*this);
  const std::uint64_t version = head_.version.load(std::memory_order_relaxed);
  return head_.texts[version % 2].size > 0 ? version - 1 : version;
}

// REQUIRES: a Hold, and room
void RuleBoard::publish(std::uint64_t version, std::string_view rules) {
  std::ranges::copy(std::as_bytes(std::span(rules)), half(version).begin());
  head_.texts[version % 2] = {.generation = generation_, .size = rules.size()};
  head_.version.store(version, std::memory_order_release);
}

// Nobody reads the unfinished text of the last holder.
RuleBoard::Hold::Hold(RuleBoard& board) : board_(board) {
  static_cast<void>(board_.head_.mutex.lock());
}

RuleBoard::Hold::~Hold() { board_.head_.mutex.unlock(); }

std::optional<RuleBoard::Version> RuleBoard::Hold::read() {
  const std::uint64_t version = board_.head_.version.load(std::memory_order_relaxed);
  const Text& text = board_.head_.texts[version % 2];
  board_.seen_ = version;
  if (text.generation != board_.generation_) return std::nullopt;
  const auto* const begin = reinterpret_cast<const char*>(board_.half(version).data());
  return Version{.number = version, .rules = std::string(begin, text.size)};
}

bool RuleBoard::Hold::write(std::string_view rules) {
  const std::uint64_t next = board_.head_.version.load(std::memory_order_relaxed) + 1;
  if (rules.size() > board_.half(next).size()) return false;
  board_.publish(next, rules);
  board_.seen_ = next;
  return true;
}

}  // namespace weir::nginx
