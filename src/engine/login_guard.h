// LoginGuard: how often clients may guess passwords and tokens.
//
// Each wrong guess counts against the network that it came from: an IPv4 address, the /64 of an
// IPv6 address, or all Unix sockets together. A network may make kBurst wrong guesses at once and
// one more each kPause; then the doors refuse it before they compare anything, until it has
// waited. So a guesser gains nothing by opening connections.
//
// The memory is fixed: networks share kCounters counters by a hash under a secret. Nobody is
// forgotten, nobody can aim at another's counter, and guessers with any number of addresses make
// kCounters guesses each kPause, 682 a second, together.
//
// A right secret clears nothing: who knows one could clear the guesses at the other.
//
// Thread rule: any thread. Tested by login_guard_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ip_address.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

class LoginGuard {
 public:
  static constexpr int kBurst = 10;
  static constexpr Duration kPause = std::chrono::seconds(6);
  static constexpr std::size_t kCounters = 4096;

  // `hasher` must outlive the guard.
  explicit LoginGuard(const KeyHasher& hasher) : hasher_(hasher) {}

  // How long a client must wait before the door may compare what it sends; 0: now. Counts those
  // that must wait.
  Duration wait(const std::optional<IpAddress>& client, Instant now) noexcept {
    const Instant paid = instant_from_epoch_us(paid_at(client).load(std::memory_order_relaxed));
    const Duration wait = paid - now - (kBurst - 1) * kPause;
    if (wait <= Duration::zero()) return Duration::zero();
    refused_.fetch_add(1, std::memory_order_relaxed);
    return wait;
  }

  // What the client sent was wrong.
  void failed(const std::optional<IpAddress>& client, Instant now) noexcept {
    failed_.fetch_add(1, std::memory_order_relaxed);
    std::atomic<std::int64_t>& counter = paid_at(client);
    std::int64_t paid = counter.load(std::memory_order_relaxed);
    std::int64_t next = 0;
    do {
      next = std::max(paid, epoch_us(now)) + kPause.count();
    } while (!counter.compare_exchange_weak(paid, next, std::memory_order_relaxed));
  }

  struct Figures {
    std::uint64_t failed = 0;   // compared, and wrong
    std::uint64_t refused = 0;  // not compared
  };
  Figures figures() const noexcept {
    return {.failed = failed_.load(std::memory_order_relaxed),
            .refused = refused_.load(std::memory_order_relaxed)};
  }

 private:
  static constexpr unsigned kNetworkBits = 64;  // of IPv6: what one subscriber has

  std::atomic<std::int64_t>& paid_at(const std::optional<IpAddress>& client) noexcept {
    IpAddress network = client.value_or(IpAddress());
    if (!network.is_v4()) network = network.network(kNetworkBits);
    const std::string_view bytes(reinterpret_cast<const char*>(network.bytes().data()),
                                 network.bytes().size());
    const KeyHash hash =
        hasher_.hash({.rule = {}, .bucket = "failed logins", .key = bytes}, Quota());
    return paid_at_[hash.low % kCounters];
  }

  const KeyHasher& hasher_;
  // When all guesses of the networks of a counter are paid for, each by kPause; since 1970, in
  // microseconds. Relaxed: a counter orders nothing else.
  std::array<std::atomic<std::int64_t>, kCounters> paid_at_{};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace weir
