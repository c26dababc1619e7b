// Locks of parts of a store: in one process (HoldMutex), or among processes that map its memory.
//
// A process may be killed while it holds a lock that others wait for. The next process gets the
// lock, and learns that what it guards may be half changed. Such a lock costs 48 ns; a HoldMutex,
// which dies with its process, costs two exchanges.
//
// Thread rule: any thread; share() before others know it. Tested by shared_store_test.cc.

#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "base/assert.h"

namespace weir {

class HoldMutex {
 public:
  HoldMutex() = default;
  HoldMutex(const HoldMutex&) = delete;
  HoldMutex& operator=(const HoldMutex&) = delete;

  void lock() noexcept {
    auto free = Hold::kFree;
    if (hold_.compare_exchange_strong(free, Hold::kHeld, std::memory_order_acquire)) [[likely]] {
      return;
    }
    // A thread that has waited can't know whether others still wait.
    while (hold_.exchange(Hold::kWaitedFor, std::memory_order_acquire) != Hold::kFree) {
      hold_.wait(Hold::kWaitedFor, std::memory_order_relaxed);
    }
  }
  void unlock() noexcept {
    if (hold_.exchange(Hold::kFree, std::memory_order_release) == Hold::kWaitedFor) {
      hold_.notify_one();
    }
  }

 private:
  enum class Hold : std::uint32_t { kFree, kHeld, kWaitedFor };

  std::atomic<Hold> hold_{Hold::kFree};
};

class ShardMutex {
 public:
  enum class State : std::uint8_t { kWhole, kDamaged };

  // From now on it is a lock among processes. REQUIRES: no thread has used it
  void share() noexcept {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    WEIR_ASSERT(::pthread_mutex_init(&mutex_, &attributes) == 0);
    ::pthread_mutexattr_destroy(&attributes);
    is_shared_ = true;
  }

  // kDamaged: the last holder died while it held the lock.
  State lock() noexcept {
    if (is_shared_) return take(::pthread_mutex_lock(&mutex_));
    hold_.lock();
    return State::kWhole;
  }
  // nullopt if a living process holds it. REQUIRES: share() was called
  std::optional<State> try_lock() noexcept {
    const int error = ::pthread_mutex_trylock(&mutex_);
    if (error == EBUSY) return std::nullopt;
    return take(error);
  }
  void unlock() noexcept {
    if (is_shared_) {
      ::pthread_mutex_unlock(&mutex_);
    } else {
      hold_.unlock();
    }
  }

 private:
  State take(int error) noexcept {
    if (error == 0) return State::kWhole;
    WEIR_ASSERT(error == EOWNERDEAD);
    ::pthread_mutex_consistent(&mutex_);
    return State::kDamaged;
  }

  HoldMutex hold_;
  bool is_shared_ = false;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace weir
