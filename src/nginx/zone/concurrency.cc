#include "nginx/zone/concurrency.h"

#include <algorithm>
#include <mutex>

#include "base/assert.h"

namespace weir::nginx {

void Concurrency::format(std::span<std::byte> memory) {
  WEIR_ASSERT(memory.size() >= kBytesMin);
  for (Owner& owner : head_of(memory).owners) owner.life.share();
  for (ShardMutex& lock : head_of(memory).locks) lock.share();
}

Concurrency::Concurrency(std::span<std::byte> memory)
    : head_(head_of(memory)),
      sets_(reinterpret_cast<Set*>(memory.data() + sizeof(Head)),
            (memory.size() - sizeof(Head)) / sizeof(Set)),
      place_(take_place()),
      term_(place_ ? head_.owners[*place_].term.load(std::memory_order_relaxed) : 0) {
  static_assert(sizeof(Head) % alignof(Set) == 0 && sizeof(Head) + 8 * sizeof(Set) <= kBytesMin);
}

Concurrency::~Concurrency() {
  if (!place_) return;
  Owner& owner = head_.owners[*place_];
  owner.term.fetch_add(1, std::memory_order_relaxed);
  owner.life.unlock();
}

std::optional<std::uint32_t> Concurrency::take_place() {
  for (std::uint32_t place = 0; place < kOwnersMax; ++place) {
    Owner& owner = head_.owners[place];
    if (!owner.life.try_lock()) continue;
    owner.term.fetch_add(1, std::memory_order_relaxed);
    return place;
  }
  return std::nullopt;
}

Concurrency::Set& Concurrency::set_of(KeyHash key) const { return sets_[key.high % sets_.size()]; }

// A killed worker leaves a whole entry behind, so there is nothing to repair.
ShardMutex& Concurrency::lock_of(KeyHash key) const {
  return head_.locks[key.high % sets_.size() % kLocks];
}

bool Concurrency::is_own(const Entry& entry) const {
  return entry.owner == place_ && entry.term == term_;
}

bool Concurrency::is_valid(const Entry& entry) const {
  return entry.count.load(std::memory_order_relaxed) > 0 &&
         head_.owners[entry.owner].term.load(std::memory_order_relaxed) == entry.term;
}

bool Concurrency::is_orphan(const Entry& entry) const {
  if (is_own(entry)) return false;
  Owner& owner = head_.owners[entry.owner];
  if (!owner.life.try_lock()) return false;
  owner.term.fetch_add(1, std::memory_order_relaxed);
  owner.life.unlock();
  return true;
}

std::int64_t Concurrency::count_all(Set& set, std::uint64_t key) const {
  std::int64_t sum = 0;
  for (const Entry& entry : set) {
    if (entry.key == key && is_valid(entry)) sum += entry.count.load(std::memory_order_relaxed);
  }
  return sum;
}

std::int64_t Concurrency::count_living(Set& set, std::uint64_t key) const {
  for (const Entry& entry : set) {
    if (entry.key == key && is_valid(entry)) is_orphan(entry);
  }
  return count_all(set, key);
}

// This worker's entry for the key, else a free one; null: there is none.
Concurrency::Entry* Concurrency::place_for(Set& set, std::uint64_t key) const {
  const auto own = std::ranges::find_if(set, [&](const Entry& entry) {
    return entry.key == key && is_own(entry) && is_valid(entry);
  });
  if (own != set.end()) return &*own;
  auto free = std::ranges::find_if_not(set, [&](const Entry& entry) { return is_valid(entry); });
  if (free == set.end()) {
    free = std::ranges::find_if(set, [&](const Entry& entry) { return is_orphan(entry); });
  }
  if (free == set.end()) return nullptr;
  free->count.store(0, std::memory_order_relaxed);
  free->key = key;
  free->owner = *place_;
  free->term = term_;
  return &*free;
}

Concurrency::Entrance Concurrency::enter(KeyHash key, std::int64_t limit, Count count,
                                         std::int64_t units) {
  Set& set = set_of(key);
  const std::lock_guard lock(lock_of(key));
  std::int64_t others = count_all(set, key.low);
  const auto is_over = [&] { return units > limit - others; };
  if (is_over() || count == Count::kLiving) others = count_living(set, key.low);
  if (is_over()) return {Entrance::Kind::kOver, others};
  Entry* const entry = place_ ? place_for(set, key.low) : nullptr;
  if (entry == nullptr) return {Entrance::Kind::kNoPlace, others};
  // Written last, for the worker that comes after this one is killed here.
  entry->count.store(entry->count.load(std::memory_order_relaxed) + units,
                     std::memory_order_release);
  return {Entrance::Kind::kEntered, others + units, others == 0};
}

void Concurrency::leave(KeyHash key, std::int64_t units) {
  Set& set = set_of(key);
  const std::lock_guard lock(lock_of(key));
  for (Entry& entry : set) {
    if (entry.key != key.low || !is_own(entry) || !is_valid(entry)) continue;
    entry.count.store(entry.count.load(std::memory_order_relaxed) - units,
                      std::memory_order_release);
    return;
  }
  WEIR_ASSERT(false);
}

}  // namespace weir::nginx
