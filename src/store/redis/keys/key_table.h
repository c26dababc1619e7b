// KeyTable: one core's values for keys, of so many keys at most.
//
// A key is found by its hash and its tag, as in Redis. Its number and references to its value stay
// valid until the key is removed. Memory is reserved at once and used as needed: nothing is
// allocated later. The key and the first 96 bytes of its value come from memory together;
// huge_array.h says why it is an array of that kind.
//
// Thread rule: one core. Tested by key_table_test.cc.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/huge_array.h"
#include "weir/key.h"
#include "weir/store.h"

namespace weir {

template <typename Value>
class KeyTable {
 public:
  using Number = std::uint32_t;
  static constexpr Number kNone = UINT32_MAX;

  // REQUIRES: 0 < keys < kNone
  explicit KeyTable(std::size_t keys) : heads_(2 * std::bit_ceil(keys)), slots_(keys) {
    std::ranges::fill(heads_, kNone);
  }

  std::size_t size() const { return size_; }
  bool is_full() const { return size_ == slots_.size(); }

  // Fetches what find() and its caller will read, of several keys at once. Always inlined,
  // as GCC 12 drops calls of functions that only prefetch.
  [[gnu::always_inline]] void prefetch(std::span<const Charge> charges) const {
    for (const Charge& charge : charges) __builtin_prefetch(&heads_[chain_of(charge.key)]);
    for (const Charge& charge : charges) {
      const Number number = heads_[chain_of(charge.key)];
      if (number == kNone) continue;
      const auto* slot = reinterpret_cast<const char*>(&slots_[number]);
      __builtin_prefetch(slot, 1);
      __builtin_prefetch(slot + kLine, 1);
    }
  }

  Number find(const KeyHash& key, std::uint64_t tag) const {
    Number number = heads_[chain_of(key)];
    while (number != kNone && !(slots_[number].key == key && slots_[number].tag == tag)) {
      number = slots_[number].next;
    }
    return number;
  }

  // REQUIRES: the key is not there; not is_full()
  Number add(const KeyHash& key, std::uint64_t tag) {
    WEIR_ASSERT(!is_full());
    Number number = free_;
    if (number == kNone) {
      number = given_++;
    } else {
      free_ = slots_[number].next;
    }
    Number& head = heads_[chain_of(key)];
    slots_[number] = {.key = key, .tag = tag, .next = head, .is_used = true, .value = {}};
    head = number;
    ++size_;
    return number;
  }

  void remove(Number number) {
    Slot& slot = slots_[number];
    WEIR_ASSERT(slot.is_used);
    Number* link = &heads_[chain_of(slot.key)];
    while (*link != number) link = &slots_[*link].next;
    *link = slot.next;
    slot.is_used = false;
    slot.next = free_;
    free_ = number;
    --size_;
  }

  // Whether a key may leave to make room for another.
  enum class MayLeave : std::uint8_t { kNo, kIfNoOtherDoes, kYes };
  // Asks about a few keys in turn. kNone: none of them may. REQUIRES: size() > 0
  template <typename Judge>
  Number one_to_leave(Judge&& judge) {
    constexpr int kCandidates = 16;
    Number leaves = kNone;
    for (int i = 0; i < kCandidates; ++i) {
      const Number number = next_in_turn();
      const MayLeave may = judge(number);
      if (may != MayLeave::kNo) leaves = number;
      if (may == MayLeave::kYes) break;
    }
    return leaves;
  }

  // The next key in turn, over and over. REQUIRES: size() > 0
  Number next_in_turn() {
    do {
      hand_ = hand_ + 1 < given_ ? hand_ + 1 : 0;
    } while (!slots_[hand_].is_used);
    return hand_;
  }

  // REQUIRES, for all three: a key has the number
  Value& operator[](Number number) { return slots_[number].value; }
  const KeyHash& key_of(Number number) const { return slots_[number].key; }
  // Without a quota it only says which key it is.
  Charge charge_of(Number number, const Quota* quota = nullptr, std::int64_t cost = 0) const {
    const Slot& slot = slots_[number];
    return {.key = slot.key, .quota = quota, .cost = cost, .tag = slot.tag};
  }

 private:
  static constexpr std::size_t kLine = 64;  // bytes, of the cache

  struct alignas(2 * kLine) Slot {
    KeyHash key;
    std::uint64_t tag = 0;
    Number next = kNone;  // of its chain, or of the free slots
    bool is_used = false;
    Value value{};
  };

  std::size_t chain_of(const KeyHash& key) const { return key.low & (heads_.size() - 1); }

  HugeArray<Number> heads_;  // of chains
  HugeArray<Slot> slots_;
  Number given_ = 0;  // slots that keys have ever had
  std::size_t size_ = 0;
  Number free_ = kNone;
  Number hand_ = 0;
};

}  // namespace weir
