// ConnectionBudget: how many connections the process may have, how many bytes these may hold, and
// counts of both.
//
// One for all cores: the kernel chooses the core of a connection, so a share for each core would
// refuse clients while another core has room. Cores touch it when a connection comes or goes, or
// takes or gives back memory: most requests do not.
//
// It adds up bytes by the size that one connection holds, in powers of two. So when all hold too
// much, each core knows from which size on its connections have to go: the largest first, on
// whatever core.
//
// Thread rule: any thread. All counters are relaxed: no other memory depends on them.
// Tested by server_test.cc and fairness_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "proto/session.h"

namespace weir {

class ConnectionBudget {
 public:
  explicit ConnectionBudget(std::uint64_t max, std::uint64_t buffered_max = UINT64_MAX)
      : max_(max), buffered_max_(buffered_max) {}

  // For a new connection. True if there is room, which give_back() returns.
  bool take() {
    if (open_.fetch_add(1, kRelaxed) < max_) {
      accepted_.fetch_add(1, kRelaxed);
      return true;
    }
    open_.fetch_sub(1, kRelaxed);
    refused_.fetch_add(1, kRelaxed);
    return false;
  }
  void give_back() { open_.fetch_sub(1, kRelaxed); }
  void count_stalled() { stalled_.fetch_add(1, kRelaxed); }
  void count_failed_handshake() { failed_handshakes_.fetch_add(1, kRelaxed); }
  void count_refused_header() { refused_headers_.fetch_add(1, kRelaxed); }
  void count_shed() { shed_.fetch_add(1, kRelaxed); }
  void count_flooded() { flooded_.fetch_add(1, kRelaxed); }

  // A connection that held `before` bytes holds `after`.
  void change(std::size_t before, std::size_t after) {
    by_size_[size_class(before)].fetch_sub(before, kRelaxed);
    by_size_[size_class(after)].fetch_add(after, kRelaxed);
    const std::uint64_t held = buffered_.fetch_add(after - before, kRelaxed) + after - before;
    if (after > before && held > peak_.load(kRelaxed)) peak_.store(held, kRelaxed);
  }
  bool is_over() const { return buffered_.load(kRelaxed) > buffered_max_; }
  // More has to go: to an eighth below the bound, so that the next byte does not shed again.
  bool is_to_shed() const { return buffered_.load(kRelaxed) > buffered_max_ - buffered_max_ / 8; }
  // The size from which on connections go.
  std::size_t shed_from() const {
    const std::uint64_t may_stay = buffered_max_ - buffered_max_ / 8;
    std::uint64_t stays = buffered_.load(kRelaxed);
    std::size_t size = by_size_.size() - 1;
    for (; size > 1 && stays > may_stay; --size) {
      stays -= std::min(stays, by_size_[size].load(kRelaxed));
    }
    return std::size_t{1} << size;
  }
  // True once after connections gave back much memory, and little came or went between two calls:
  // cores wait while the system takes some of it.
  bool take_back() {
    const std::uint64_t held = buffered_.load(kRelaxed);
    const std::uint64_t seen = seen_.exchange(held, kRelaxed);
    if (std::max(seen, held) - std::min(seen, held) > kTakenBackMin / 16) return false;
    std::uint64_t peak = peak_.load(kRelaxed);
    return peak > held + kTakenBackMin && peak_.compare_exchange_strong(peak, held, kRelaxed);
  }

  ConnectionFigures figures() const {
    return {.open = open_.load(kRelaxed),
            .max = max_,
            .accepted = accepted_.load(kRelaxed),
            .refused = refused_.load(kRelaxed),
            .stalled = stalled_.load(kRelaxed),
            .failed_handshakes = failed_handshakes_.load(kRelaxed),
            .refused_headers = refused_headers_.load(kRelaxed),
            .buffered = buffered_.load(kRelaxed),
            .buffered_max = buffered_max_,
            .shed = shed_.load(kRelaxed),
            .flooded = flooded_.load(kRelaxed)};
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  // Less is not worth the system's time.
  static constexpr std::uint64_t kTakenBackMin = std::uint64_t{4} << 20;

  static constexpr std::size_t kClasses = 64;
  // Class n holds from 2^(n-1) bytes to 2^n - 1.
  static std::size_t size_class(std::size_t bytes) {
    return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), kClasses - 1);
  }

  const std::uint64_t max_;
  const std::uint64_t buffered_max_;
  std::atomic<std::uint64_t> open_{0};
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> stalled_{0};
  std::atomic<std::uint64_t> failed_handshakes_{0};
  std::atomic<std::uint64_t> refused_headers_{0};
  std::atomic<std::uint64_t> shed_{0};
  std::atomic<std::uint64_t> flooded_{0};
  std::atomic<std::uint64_t> buffered_{0};
  std::atomic<std::uint64_t> peak_{0};
  std::atomic<std::uint64_t> seen_{0};  // as take_back() saw it last
  std::array<std::atomic<std::uint64_t>, kClasses> by_size_{};
};

}  // namespace weir
